package tcpros

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// identify finds out whether this is still the master that knows us, and registers
// everything anew if not.
func (r *registrar) identify(ctx context.Context) error {
	pid, err := r.master.pid(ctx)
	if err != nil {
		return err
	}
	v, ok, err := r.master.Param(ctx, "/run_id")
	if err != nil {
		return err
	}
	runID := ""
	if ok {
		runID = fmt.Sprint(v)
	}
	// roscore sets /run_id a moment after it began to serve.
	same := r.identified && pid == r.pid && (runID == r.runID || r.runID == "")
	r.pid, r.runID = pid, runID
	if !same {
		if err := r.greet(ctx); err != nil {
			return err
		}
	}
	again := !same || r.failures >= 3
	if !again {
		if again, err = r.forgotten(ctx); err != nil {
			return err
		}
	}
	if again {
		r.registerAll()
	}
	r.succeeded()
	return nil
}

// greet is the first contact with a master.
func (r *registrar) greet(ctx context.Context) error {
	on, ok, err := r.master.Param(ctx, "/tcp_keepalive")
	if err != nil {
		return err
	}
	r.probe(!ok || on != false)
	for _, p := range r.params {
		if err := r.master.SetParam(ctx, r.ns+"/"+p.Name, p.Value); unreachable(ctx, err) {
			return err
		} else if err != nil {
			r.log.Warn("parameter not set", zap.String("name", p.Name), zap.Error(err))
		}
	}
	if r.identified {
		r.epoch++
		r.log.Info("the master was restarted: registering everything again", zap.String("master", r.master.hostport))
	}
	r.identified = true
	return nil
}

// forgotten reports whether the master does not know this node although it should.
func (r *registrar) forgotten(ctx context.Context) (bool, error) {
	if !r.anyRegistered() {
		return false, nil
	}
	uri, err := r.master.LookupNode(ctx, r.master.callerID)
	switch {
	case unreachable(ctx, err):
		return false, err
	case err != nil:
		r.log.Warn("the master has forgotten this node: registering everything again", zap.Error(err))
		return true, nil
	case uri != r.uri && !r.stolen:
		r.stolen = true
		r.log.Warn("another node took this node's name", zap.String("name", r.master.callerID), zap.String("uri", uri))
	}
	return false, nil
}

// reconcile compares what the master has registered with what it should have, and
// its publishers with those that are linked. One call asks for all topics: to repeat
// each registration would fill the master's log.
func (r *registrar) reconcile(ctx context.Context) error {
	if r.stolen || !r.anyRegistered() {
		return nil
	}
	pubs, subs, err := r.master.registrations(ctx)
	if err != nil {
		if unreachable(ctx, err) {
			return err
		}
		return nil // an answer beyond us: each registration stands as it was confirmed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, e := range r.entries {
		if e.gone || !e.registered {
			continue
		}
		mine := subs[k.topic]
		if k.pub {
			mine = pubs[k.topic]
		}
		if !slices.Contains(mine, r.master.callerID) {
			r.log.Warn("the master has lost a registration", zap.String("topic", k.topic), zap.Bool("publisher", k.pub))
			e.registered, e.due = false, time.Time{}
			continue
		}
		if k.pub {
			continue
		}
		// A publisher that is not reached may have restarted under another address.
		slices.Sort(pubs[k.topic])
		names := strings.Join(pubs[k.topic], " ")
		e.ask = names != e.names || !e.sub.allUp()
		e.names = names
	}
	return nil
}

func (r *registrar) anyRegistered() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if e.registered && !e.gone {
			return true
		}
	}
	return false
}

func (r *registrar) registerAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		e.registered, e.fresh, e.due = false, true, time.Time{}
	}
}
