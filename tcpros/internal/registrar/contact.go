package registrar

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

func (r *Registrar) failed(ctx context.Context, err error) {
	r.id.failures++
	r.up.Store(false)
	select {
	case <-ctx.Done():
		return
	case <-r.Ending:
		return
	default:
	}
	if !r.away.On() {
		r.book.forgetComparisons()
	}
	// The texts are roscpp's: people search logs for them. r.away limits how often this text and
	// that of succeeded are logged, since a master that answers nonsense fails and succeeds many
	// times a second, and the two texts have to alternate.
	if log, earlier := r.away.Begin(time.Now()); log {
		before, hint := zap.Skip(), zap.Skip()
		if !r.id.met {
			hint = zap.String("hint",
				"start roscore or gomaster, or name the machine where it runs in ROS_MASTER_URI; gorecord and goplay run one with --embedded-master")
		}
		if earlier > 0 {
			before = zap.Int("times before", earlier)
		}
		r.Log.Error("Failed to contact master at ["+r.Master.HostPort()+"].  Retrying...", loglimit.Each(),
			before, hint, zap.Error(err))
	}
}

func (r *Registrar) succeeded() {
	if log, _ := r.away.End(time.Now()); log {
		r.Log.Info("Connected to master at [" + r.Master.HostPort() + "]")
	}
	r.id.failures, r.id.met = 0, true
	r.up.Store(true)
}

// Up reports whether the master answered the last call; there is one every few seconds.
func (r *Registrar) Up() bool { return r.up.Load() }
