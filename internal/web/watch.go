package web

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

const (
	watchedEvery = 500 * time.Millisecond // while there are watchers
	aloneEvery   = time.Second            // without watchers: for the counts of the last minute
	soonest      = 250 * time.Millisecond // minimum time between two looks
	maxWatchers  = 16
	eventTime    = 5 * time.Second // to write one event; a slower client is disconnected
)

// watch polls the face once for all watchers.
type watch struct {
	server *Server
	poke   chan struct{}

	looking sync.Mutex // of one look at a time
	last    look       // the latest
	at      time.Time  // of it

	mu       sync.Mutex
	watchers map[chan []byte]bool
}

// look is a view as it is served.
type look struct {
	view
	json []byte
}

func (h *watch) init(s *Server) {
	h.server, h.poke, h.watchers = s, make(chan struct{}, 1), map[chan []byte]bool{}
}

// fresh collects the state now.
func (h *watch) fresh() look { return h.within(0) }

// within returns the last state if it is no older than age, and otherwise collects it.
func (h *watch) within(age time.Duration) look {
	h.looking.Lock()
	defer h.looking.Unlock()
	now := time.Now()
	if age > 0 && now.Sub(h.at) < age {
		return h.last
	}
	v := h.server.face.look(now)
	b, err := json.Marshal(envelope{
		Program: h.server.face.program(), Version: h.server.Version, Node: h.server.Node, Master: h.server.MasterUp(),
		Time: float64(now.UnixMilli()) / 1e3, Began: float64(h.server.began.UnixMilli()) / 1e3, State: v.state,
	})
	if err != nil {
		panic("web: " + err.Error()) // all that is marshaled is ours
	}
	h.last, h.at = look{v, b}, now
	return h.last
}

// envelope holds the fields that both programs have.
type envelope struct {
	Program string  `json:"program"`
	Version string  `json:"version"`
	Node    string  `json:"node"`
	Master  bool    `json:"master"` // it answers
	Time    float64 `json:"time"`   // seconds since 1970
	Began   float64 `json:"began"`  // when the server did
	State   any     `json:"state"`
}

// wake makes run poll soon.
func (h *watch) wake() {
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

// run polls until ctx ends.
func (h *watch) run(ctx context.Context) {
	for ctx.Err() == nil {
		changed := h.server.face.changed()
		began := time.Now()
		h.tell(h.fresh().json)
		pause := aloneEvery
		if h.watched() {
			pause = watchedEvery
		}
		rest(ctx, pause, changed, h.poke)
		rest(ctx, soonest-time.Since(began), nil, nil)
	}
}

// rest waits for the next poll, or for a change.
func rest(ctx context.Context, pause time.Duration, changed, poked <-chan struct{}) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-poked:
	case <-ctx.Done():
	}
}

func (h *watch) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}

// tell sends an event to all watchers that are ready. Others skip it.
func (h *watch) tell(event []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		select {
		case w <- event:
		default:
		}
	}
}

// join adds a watcher; nil if there are too many.
func (h *watch) join() chan []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) >= maxWatchers {
		return nil
	}
	w := make(chan []byte, 1)
	h.watchers[w] = true
	return w
}

func (h *watch) leave(w chan []byte) {
	h.mu.Lock()
	delete(h.watchers, w)
	h.mu.Unlock()
}

// serve sends events as long as the client reads them.
func (h *watch) serve(w http.ResponseWriter, r *http.Request) {
	events := h.join()
	if events == nil {
		w.Header().Set("Retry-After", "5")
		writeError(w, &statusError{http.StatusServiceUnavailable, "too many watch already"})
		return
	}
	defer h.leave(events)
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{}) //nolint:errcheck,gosec // the server's connections have deadlines
	event := h.fresh().json
	for {
		rc.SetWriteDeadline(time.Now().Add(eventTime)) //nolint:errcheck,gosec // as above
		for _, part := range [][]byte{[]byte("data: "), event, []byte("\n\n")} {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
		if rc.Flush() != nil {
			return
		}
		select {
		case event = <-events:
		case <-r.Context().Done():
			return
		}
	}
}
