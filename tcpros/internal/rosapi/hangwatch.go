package rosapi

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// hangForgotten is how long a hang of a method is remembered while the method is not called again.
// A method that is called again, and still hangs, is noticed sooner.
const hangForgotten = 4 * callTimeout

// HangWatch logs that calls of the master hang: the first method that is not answered for long, and
// later that all methods are answered again. Calls are repeated, so most callers do not log a
// failed call. HangWatch is for concurrent use.
type HangWatch struct {
	log   *zap.Logger
	after time.Duration

	mu      sync.Mutex
	methods map[string]time.Time // methods whose last call hangs or was given up, and when the watch noticed
	episode loglimit.Episode
}

// NewHangWatch returns a watch that logs calls without a reply for the time of after.
func NewHangWatch(log *zap.Logger, after time.Duration) *HangWatch {
	return &HangWatch{log: log, after: after, methods: map[string]time.Time{}}
}

// watch records the start of a call of the master. The caller passes the result of the call to end.
func (w *HangWatch) watch(ctx context.Context, hostport, method string) (end func(error)) {
	timer := time.AfterFunc(w.after, func() {
		if ctx.Err() == nil {
			w.noteHang(hostport, method)
		}
	})
	return func(err error) {
		timer.Stop()
		// A call that ended without a reply does not end a hang.
		if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
			w.noteAnswer(hostport, method)
		}
	}
}

// noteHang records that a method has no reply yet, and logs it, once for each episode.
func (w *HangWatch) noteHang(hostport, method string) {
	now := time.Now()
	w.mu.Lock()
	w.methods[method] = now
	log, _ := w.episode.Begin(now)
	w.mu.Unlock()
	if log {
		w.log.Warn("the master does not answer a call", loglimit.Each(),
			zap.String("master", hostport), zap.String("method", method), zap.Duration("for", w.after))
	}
}

// noteAnswer records that a method has had a reply. The last one that was missing ends the episode.
func (w *HangWatch) noteAnswer(hostport, method string) {
	now := time.Now()
	w.mu.Lock()
	if len(w.methods) == 0 {
		w.mu.Unlock()
		return
	}
	delete(w.methods, method)
	for other, at := range w.methods {
		if now.Sub(at) > hangForgotten {
			delete(w.methods, other)
		}
	}
	log, lasted := false, time.Duration(0)
	if len(w.methods) == 0 {
		log, lasted = w.episode.End(now)
	}
	w.mu.Unlock()
	if log {
		w.log.Info("the master answers its calls again", zap.String("master", hostport),
			zap.String("method", method),
			zap.Duration("after", (w.after+lasted).Round(time.Millisecond)))
	}
}
