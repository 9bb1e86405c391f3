package web

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/view/live"
)

// LiveView serves live messages to viewers over WebSocket.
type LiveView interface {
	// ServeHTTP upgrades a request, which is authorized, and returns when the viewer has left.
	http.Handler

	Viewers() []live.Report // the connected viewers
	Controls() bool         // whether viewers control what they see, such as a playback
	Total() live.Counts     // sums over all viewers, also those that have left
	// Close ends the connections. It returns within shutdownTimeout.
	Close()
}

// sendBuffer is the size in bytes of the kernel's send buffer for a viewer. With a larger buffer, a slow
// viewer would show old messages.
const sendBuffer = 256 << 10

// foxgloveApp is the origin of the web application of Foxglove.
const foxgloveApp = "https://app.foxglove.dev"

// upgrader serves requests for WebSocket, on any path.
type upgrader struct {
	view  LiveView // nil: there is none
	guard *guard
	conns *listener
	log   *zap.Logger
}

// wrap returns a handler that serves requests for WebSocket, and passes other requests on to next.
func (u *upgrader) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !wantsWebSocket(r) {
			next.ServeHTTP(w, r)
			return
		}
		switch {
		case u.view == nil:
			WriteError(w, &statusError{http.StatusNotFound, "there is no live view here"})
		case !u.guard.allowsOrigin(r):
			WriteError(w, &statusError{
				http.StatusForbidden,
				"a page of another site may not open the live view: allow it with --http-origin, if you trust it",
			})
			u.log.Info("live view refused to a page of another site", loglimit.OnRequest(),
				zap.String("origin", r.Header.Get("Origin")), zap.String("peer", r.RemoteAddr))
		case !u.guard.admitsViewer(r, u.view.Controls()):
			WriteError(w, refuseToken(r, r.URL.Query().Has("token"),
				"add ?token= and the token to the address"))
		case r.Body != http.NoBody || !u.conns.hold(r, viewing):
			WriteError(w, &statusError{http.StatusServiceUnavailable, "too many viewers are connected"})
		default:
			limitSendBuffer(r)
			u.view.ServeHTTP(w, r)
		}
	})
}

// wantsWebSocket reports whether a request is to become a WebSocket.
func wantsWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && headerHas(r.Header, "Connection", "upgrade") &&
		headerHas(r.Header, "Upgrade", "websocket")
}

// headerHas reports whether word is among the comma-separated words of a header.
func headerHas(h http.Header, name, word string) bool {
	return slices.ContainsFunc(h.Values(name), func(list string) bool {
		for one := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.TrimSpace(one), word) {
				return true
			}
		}
		return false
	})
}

// limitSendBuffer sets the size of the kernel's send buffer for the connection of a viewer.
func limitSendBuffer(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			tcp.SetWriteBuffer(sendBuffer) //nolint:errcheck,gosec // it works without
		}
	}
}

// allowsOrigin reports whether the page that opens a WebSocket may do so. A browser lets any page open
// one, and sends the origin of the page; other programs send no origin. Allowed are pages of this server,
// desktop applications, the application of Foxglove, and the origins of --http-origin. The origin null is
// refused: sandboxed frames of any site have that origin.
func (g *guard) allowsOrigin(r *http.Request) bool {
	given := r.Header.Values("Origin")
	if len(given) == 0 {
		return true
	}
	origin := strings.ToLower(given[0])
	switch {
	case len(given) > 1 || origin == "":
		return false
	case origin == "file://", origin == foxgloveApp, slices.Contains(g.origins, origin):
		return true
	}
	scheme, host, ok := strings.Cut(origin, "://")
	return ok && (scheme == "http" || scheme == "https") && host == strings.ToLower(r.Host)
}

// admitsViewer reports whether a request for WebSocket is authorized: like any other or, because a
// browser cannot send a header with it, by the parameter token of its address. The token that only shows
// is of no use if viewers control.
func (g *guard) admitsViewer(r *http.Request, controls bool) bool {
	if g.admits(r) || !controls && g.shows(r) {
		return true
	}
	given := r.URL.Query()["token"]
	return len(given) == 1 &&
		(equalSecrets(given[0], g.token) || !controls && g.viewToken != "" &&
			equalSecrets(given[0], g.viewToken))
}

// liveState is the live view in the state.
type liveState struct {
	Token   bool          `json:"token"` // viewers need it
	Viewers []viewerState `json:"viewers"`
	Skipped uint64        `json:"skipped"` // by all viewers that there were
	Apps    []viewerApp   `json:"apps"`
}

// viewerApp is an application that shows live messages.
type viewerApp struct {
	Name string `json:"name"`
	URL  string `json:"url"` // opens it, followed by the address of the live view
}

// viewerApps are the applications that have addresses for that, as their documentation says.
var viewerApps = []viewerApp{
	{"Foxglove", foxgloveApp + "/~/view?ds=foxglove-websocket&ds.url="},
	{"Foxglove (desktop)", foxgloveApp + "/~/view?openIn=desktop&ds=foxglove-websocket&ds.url="},
	{"Lichtblick (desktop)", "lichtblick://open?ds=foxglove-websocket&ds.url="},
}

// viewerState is a viewer in the state.
type viewerState struct {
	Peer     string  `json:"peer"`
	Since    float64 `json:"since"` // seconds since 1970
	Topics   int     `json:"topics"`
	Messages uint64  `json:"messages"`
	Bytes    uint64  `json:"bytes"`
	Skipped  uint64  `json:"skipped"` // messages that were not sent because the viewer is too slow
	Queued   int64   `json:"queued"`  // bytes
}

// stateOf returns a live view in the state; nil if there is none.
func stateOf(view LiveView, token bool) *liveState {
	if view == nil {
		return nil
	}
	state := &liveState{
		Token: token, Viewers: []viewerState{}, Skipped: view.Total().Skipped,
		Apps: viewerApps,
	}
	for _, r := range view.Viewers() {
		state.Viewers = append(state.Viewers, viewerState{
			Peer: r.Peer, Since: float64(r.Since.UnixMilli()) / 1e3, Topics: r.Channels, Messages: r.Messages,
			Bytes: r.Bytes, Skipped: r.Skipped, Queued: r.QueuedBytes,
		})
	}
	return state
}

// viewerMetrics are the metrics of a live view of a program; nil if there is none.
func viewerMetrics(view LiveView, program string) (all []prometheus.Collector) {
	if view == nil {
		return nil
	}
	name := program + "_viewer"
	counter := func(suffix, help string, value func(live.Counts) uint64) {
		all = append(all,
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name + suffix, Help: help},
				func() float64 { return float64(value(view.Total())) }))
	}
	counter("_messages_total", "Messages sent to viewers.", func(c live.Counts) uint64 { return c.Messages })
	counter("_bytes_total", "Payload bytes of the messages sent to viewers.",
		func(c live.Counts) uint64 { return c.Bytes })
	counter("_skipped_total", "Messages that viewers were too slow for.",
		func(c live.Counts) uint64 { return c.Skipped })
	return append(all,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name + "s", Help: "Viewers connected."},
			func() float64 { return float64(len(view.Viewers())) }))
}
