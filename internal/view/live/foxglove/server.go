// Package foxglove serves live messages to viewers such as Foxglove and Lichtblick, by the
// subprotocols foxglove.sdk.v1 and foxglove.websocket.v1 of WebSocket. Viewers see, and control
// playback where there is one; publishing, parameters, services and assets are refused.
//
// A Server owns the upgraded connections, and the description that each viewer was sent. The caller of
// ServeHTTP has authorized the request and checked its origin. Viewers see a live.Source, and no viewer,
// however slow or hostile, makes the source wait. The memory for each viewer is bounded: for frames by
// live.Limits, for requests by maxRequestBytes.
//
// Decisions: ADR 0112.
package foxglove

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/view/live"
)

// The subprotocols. Their messages are the same, but for playback control, which only sdkProtocol has.
const (
	sdkProtocol = "foxglove.sdk.v1"
	oldProtocol = "foxglove.websocket.v1"
)

var subprotocols = []string{sdkProtocol, oldProtocol}

// Server serves one source.
type Server struct {
	source live.Source
	log    *zap.Logger
	timing timing
	life   context.Context //nolint:containedctx // of the sessions, which outlive the requests that begin them
	end    context.CancelCauseFunc
	graph  graphCache
	seek   seekRequest

	mu       sync.Mutex
	closed   bool
	sessions map[*session]bool
	done     sync.WaitGroup // for the sessions
}

// timing has the intervals and timeouts of a viewer's connection. Tests shorten them.
type timing struct {
	// time without progress of a write, or without a pong, until the viewer is disconnected
	stalled time.Duration
	// time without a sent or received byte, until a ping is sent
	ping time.Duration
	// most time for the last status and the close handshake
	farewell time.Duration
	// interval at which the connection graph is read
	graph time.Duration
	// time without a skipped message, until the warning is removed
	skipping time.Duration
	// most time for the jump that a request causes
	seek time.Duration
}

func defaultTiming() timing {
	return timing{
		stalled: 3 * time.Minute, ping: 20 * time.Second, farewell: 500 * time.Millisecond,
		graph: 5 * time.Second, skipping: 10 * time.Second, seek: 2 * time.Second,
	}
}

// New returns a server of a source. The caller closes it.
func New(source live.Source, log *zap.Logger) *Server {
	life, end := context.WithCancelCause(context.Background())
	return &Server{
		source: source, log: log, timing: defaultTiming(), life: life, end: end,
		graph: newGraphCache(), sessions: map[*session]bool{},
	}
}

// ServeHTTP upgrades a request, and serves the viewer until it leaves.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protocol := offeredProtocol(r.Header)
	if protocol == "" {
		http.Error(w, "the viewer must offer the WebSocket subprotocol "+sdkProtocol+" or "+oldProtocol,
			http.StatusBadRequest)
		return
	}
	if !s.begin() {
		http.Error(w, "the server ends", http.StatusServiceUnavailable)
		return
	}
	defer s.done.Done()
	since := time.Now()
	up := &upgrade{ResponseWriter: w, stalled: s.timing.stalled}
	ws, err := websocket.Accept(up, r, &websocket.AcceptOptions{
		Subprotocols:       []string{protocol},
		InsecureSkipVerify: true, // the caller has checked the origin by rules of its own
	})
	if err != nil {
		s.log.Debug("no upgrade to WebSocket", loglimit.OnRequest(), zap.String("peer", r.RemoteAddr),
			zap.Error(err))
		return
	}
	c := newConn(ws, up.wire)
	session := &session{
		server: s, conn: c, peer: r.RemoteAddr, since: since,
		sdk:  strings.EqualFold(ws.Subprotocol(), sdkProtocol),
		subs: newSubscriptions(), control: make(chan []byte, maxControl), answers: newMailbox(),
	}
	session.serve(s.life) //nolint:contextcheck // an upgraded connection outlives its request
}

// begin counts a session, unless the server ends.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.done.Add(1)
	}
	return !s.closed
}

// offeredProtocol returns the first subprotocol that a request offers and the server knows; empty if
// there is none. A viewer lists what it prefers first: some offer sdkProtocol, too, without knowing all
// of it.
func offeredProtocol(h http.Header) string {
	for _, list := range h.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(list, ",") {
			if i := slices.IndexFunc(subprotocols,
				func(p string) bool { return strings.EqualFold(p, strings.TrimSpace(name)) }); i >= 0 {
				return subprotocols[i]
			}
		}
	}
	return ""
}

// Close ends all sessions, each with a status and a close frame. It returns within about half a
// second.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(errServerEnds)
	s.done.Wait()
	s.seek.end()
}

func (s *Server) add(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[session] = true
}

func (s *Server) remove(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session)
}

// all returns the sessions, the oldest first.
func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*session, 0, len(s.sessions))
	for one := range s.sessions {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *session) int { return a.since.Compare(b.since) })
	return all
}

// Controls reports whether viewers control a playback.
func (s *Server) Controls() bool { return s.source.Playback != nil }

// Viewers returns a report on each connected viewer, the oldest connection first.
func (s *Server) Viewers() []live.Report {
	all := s.all()
	reports := make([]live.Report, len(all))
	for i, one := range all {
		reports[i] = live.Report{Peer: one.peer, Since: one.since, ViewerStats: one.viewer.Stats()}
	}
	return reports
}

// Total returns the sums over all viewers, also those that have left.
func (s *Server) Total() live.Counts { return s.source.Store.Total() }
