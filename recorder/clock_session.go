package recorder

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
)

// clockPatience is how long a recording waits for a clock before a warning, as stock does.
const clockPatience = 2 * time.Second

// awaitClock finds out whether the graph has a clock of its own, and waits for its
// first time. Topics that were named are linked to meanwhile, so that nothing that is
// published after that is missed. It returns false if ctx ends before.
func (r *session) awaitClock(ctx context.Context) (bool, error) {
	value, _, err := r.Node.Master().Param(ctx, "/use_sim_time")
	if err != nil {
		r.late = true // the master is away, and with it all publishers
		return true, nil
	}
	if value != true {
		return true, nil
	}
	sim, err := simtime.Subscribe(r.Node)
	if err != nil {
		return false, err
	}
	r.sim = sim
	r.Tap.Follow(sim)
	for _, name := range r.Select.literal {
		if resolved, err := r.Node.Resolve(name); err != nil || resolved == sim.Topic() {
			continue // checkNames has no doubt; the clock waits by itself
		}
		if err := r.subscribe(name, priorityNamed, time.Time{}); err != nil {
			return false, err
		}
	}
	r.logSubscribed()
	late := time.NewTimer(clockPatience)
	defer late.Stop()
	for {
		select {
		case <-r.sim.First():
			return true, nil
		case <-late.C:
			r.Log.Warn("/use_sim_time set to true and no clock published.  Still waiting for valid time...")
		case <-ctx.Done():
			return false, nil
		}
	}
}

// lookLate asks the master that was away at the start whether it has a clock of its
// own, as soon as it answers: by then it is too late to use it.
func (r *session) lookLate(ctx context.Context) {
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		value, _, err := r.Node.Master().Param(ctx, "/use_sim_time")
		if err != nil {
			continue
		}
		if value == true {
			r.Log.Error("the master came after the start and has /use_sim_time: messages are stamped with the wall clock; record again for stamps of /clock", zap.String("topic", simtime.Topic))
		}
		return
	}
}
