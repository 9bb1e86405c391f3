package tcpros

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
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
	again := r.failures >= 3
	if !same {
		if err := r.greet(ctx); err != nil {
			return err
		}
		again, r.stolen = true, false
	} else if forgotten, err := r.forgotten(ctx); err != nil {
		return err
	} else if forgotten {
		again = true
	}
	r.pid, r.runID = pid, runID // not before: a greeting that failed is to be repeated
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
		err := r.master.SetParam(ctx, r.ns+"/"+p.Name, p.Value)
		unsendable := errors.Is(err, xmlrpc.ErrEncode) || errors.Is(err, ErrName)
		switch {
		case err == nil:
		case !unsendable && unreachable(ctx, err):
			return err
		default:
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

// forgotten reports whether the master does not know this node although it should,
// and notes whether another node has its name.
func (r *registrar) forgotten(ctx context.Context) (bool, error) {
	if !r.stolen && !r.anyRegistered() {
		return false, nil
	}
	uri, err := r.master.LookupNode(ctx, r.master.callerID)
	switch {
	case unreachable(ctx, err):
		return false, err
	case err != nil:
		// It may be another master that cannot be told from the last: as after a restart,
		// that it does not list a publisher means nothing.
		r.epoch++
		r.stolen = false
		r.log.Warn("the master has forgotten this node: registering everything again", zap.Error(err))
		return true, nil
	case uri != r.uri && !r.stolen:
		r.log.Warn("another node took this node's name", zap.String("name", r.master.callerID), zap.String("uri", uri))
	}
	r.stolen = uri != r.uri
	return false, nil
}

// reconcile compares what the master has registered with what it should have, and
// its publishers with those that are linked. One call asks for all topics: to repeat
// each registration would fill the master's log.
func (r *registrar) reconcile(ctx context.Context) error {
	// A name that was taken a moment ago must not be taken back.
	if err := r.identify(ctx); err != nil {
		return err
	}
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
		e.ask = e.ask || names != e.names || !e.sub.allUp()
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
