package tcpros

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// unreachable reports whether err is one of contact: nothing sound was answered.
func unreachable(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	c := (*CallError)(nil)
	return ctx.Err() != nil || !errors.As(err, &c) || !c.answered
}

func (r *registrar) failed(ctx context.Context, err error) {
	r.failures++
	r.up.Store(false)
	if r.lost || ctx.Err() != nil {
		return
	}
	r.lost = true
	r.mu.Lock()
	for _, e := range r.entries { // what comes to light next it could not tell us
		e.compared, e.missed = false, time.Time{}
	}
	r.mu.Unlock()
	// The texts are roscpp's: people search logs for them.
	r.log.Error("Failed to contact master at ["+r.master.hostport+"].  Retrying...", zap.Error(err))
}

func (r *registrar) succeeded() {
	if r.lost {
		r.log.Info("Connected to master at [" + r.master.hostport + "]")
	}
	r.lost, r.failures = false, 0
	r.up.Store(true)
}

// MasterUp reports whether the master has answered when it was last asked, which is done
// every few seconds.
func (n *Node) MasterUp() bool { return n.reg.up.Load() }
