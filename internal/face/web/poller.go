package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/command"
)

const (
	watchedInterval   = 500 * time.Millisecond // with watchers
	unwatchedInterval = time.Second            // without watchers, for the counters of the last minute
	minPollInterval   = 250 * time.Millisecond // minimum time between two polls
	eventTimeout      = 5 * time.Second        // to write one event; a slower client is disconnected
)

// poller polls the backend once for all watchers.
type poller struct {
	changed func() <-chan struct{}      // closed at the next change of the state
	collect func(time.Time) encodedView // asks the program for its state
	wakeups chan struct{}

	collecting sync.Mutex  // held while the state is collected; guards last and at
	last       encodedView // the last state
	at         time.Time   // time of last

	mu       sync.Mutex
	watchers map[chan []byte]bool
}

func newPoller(changed func() <-chan struct{}, collect func(time.Time) encodedView) *poller {
	return &poller{
		changed: changed, collect: collect, wakeups: make(chan struct{}, 1),
		watchers: map[chan []byte]bool{},
	}
}

// current collects the state.
func (h *poller) current() encodedView { return h.cached(0) }

// cached returns the last state if it is younger than maxAge, and otherwise collects it.
func (h *poller) cached(maxAge time.Duration) encodedView {
	h.collecting.Lock()
	defer h.collecting.Unlock()
	now := time.Now()
	if maxAge > 0 && now.Sub(h.at) < maxAge {
		return h.last
	}
	h.last, h.at = h.collect(now), now
	return h.last
}

// wake makes run poll soon.
func (h *poller) wake() {
	select {
	case h.wakeups <- struct{}{}:
	default:
	}
}

// run polls until ctx ends.
func (h *poller) run(ctx context.Context) {
	for ctx.Err() == nil {
		changed := h.changed()
		began := time.Now()
		h.broadcast(h.current().json)
		pause := unwatchedInterval
		if h.hasWatchers() {
			pause = watchedInterval
		}
		rest(ctx, pause, changed, h.wakeups)
		rest(ctx, minPollInterval-time.Since(began), nil, nil)
	}
}

func (h *poller) hasWatchers() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}

// broadcast sends an event to all watchers that are ready; others miss it.
func (h *poller) broadcast(event []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		select {
		case w <- event:
		default:
		}
	}
}

// subscribe adds a watcher. It returns nil if there are too many.
func (h *poller) subscribe() chan []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) >= maxWatchers {
		return nil
	}
	w := make(chan []byte, 1)
	h.watchers[w] = true
	return w
}

func (h *poller) unsubscribe(w chan []byte) {
	h.mu.Lock()
	delete(h.watchers, w)
	h.mu.Unlock()
}

// serve sends events until the client disconnects or is too slow.
func (h *poller) serve(w http.ResponseWriter, r *http.Request) {
	events := h.subscribe()
	if events == nil {
		w.Header().Set("Retry-After", "5")
		WriteError(w, command.Refused(command.Unavailable, "too many event streams are open"))
		return
	}
	defer h.unsubscribe(events)
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{}) //nolint:errcheck,gosec // the server's connections have deadlines
	event := h.current().json
	for {
		rc.SetWriteDeadline(time.Now().Add(eventTimeout)) //nolint:errcheck,gosec // as above
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
