package tcpros

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

func (r *registrar) failed(ctx context.Context, err error) {
	r.failures++
	r.up.Store(false)
	if ctx.Err() != nil {
		return
	}
	if !r.away.On() {
		r.mu.Lock()
		for _, e := range r.entries { // the master could not notify us of changes in the meantime
			e.compared, e.changedAt = false, time.Time{}
		}
		r.mu.Unlock()
	}
	// The texts are roscpp's: people search logs for them. They come in pairs, so the limit is
	// here: a master that answers nonsense comes and goes many times a second.
	if log, earlier := r.away.Begin(time.Now()); log {
		before := zap.Skip()
		if earlier > 0 {
			before = zap.Int("times before", earlier)
		}
		r.log.Error("Failed to contact master at ["+r.master.HostPort()+"].  Retrying...", loglimit.Each(), before, zap.Error(err))
	}
}

func (r *registrar) succeeded() {
	if log, _ := r.away.End(time.Now()); log {
		r.log.Info("Connected to master at [" + r.master.HostPort() + "]")
	}
	r.failures = 0
	r.up.Store(true)
}

// isUp reports whether the master answered the last call; there is one every few seconds.
func (r *registrar) isUp() bool { return r.up.Load() }
