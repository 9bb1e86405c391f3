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
	if !r.stolen && !r.anyRegistered(false) {
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
	if r.stolen || !r.anyRegistered(true) {
		return nil
	}
	nodes, err := r.master.registrations(ctx)
	if err != nil {
		if unreachable(ctx, err) {
			return err
		}
		return nil // an answer beyond us: each registration stands as it was confirmed
	}
	if topic := r.compare(nodes); topic != "" && r.said.due("unheard") {
		r.log.Warn("the master does not get through to this node, so new publishers are noticed late: "+
			"set ROS_IP or ROS_HOSTNAME here to an address or name that the master's machine knows, or open the way",
			zap.String("advertised", r.uri), zap.Stringer("toward the master", r.toward(ctx)), zap.String("topic", topic))
	}
	return nil
}

// compare notes which registrations the master has lost and which topics have other
// publishers than before. It returns a topic of whose publishers the master did not tell
// us, although it should have, or nothing.
func (r *registrar) compare(nodes map[regKey][]string) (unheard string) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, e := range r.entries {
		if e.gone || !e.registered {
			continue
		}
		if k.kind == regService && len(nodes[k]) > 0 {
			r.provided(e, nodes[k][0], nodes[k][0] == r.master.callerID)
			continue
		}
		if !slices.Contains(nodes[k], r.master.callerID) {
			r.log.Warn("the master has lost a registration", zap.String("name", k.name), zap.Stringer("kind", k.kind))
			e.registered, e.due = false, time.Time{}
			continue
		}
		if k.kind != regSubscriber {
			continue
		}
		// A publisher that is not reached may have restarted under another address.
		pubs := nodes[regKey{regPublisher, k.name}]
		slices.Sort(pubs)
		names := strings.Join(pubs, " ")
		e.ask = e.ask || names != e.names || !e.sub.allUp()
		if e.unheard(names, now) {
			unheard = k.name
		}
	}
	return unheard
}

// registerService registers a service, at first in place of any other provider, as
// ROS does: the last one wins. A service that was taken from us is not taken back:
// that would be a quarrel without an end.
func (r *registrar) registerService(ctx context.Context, e *regEntry) error {
	r.mu.Lock()
	held := e.held
	r.mu.Unlock()
	if held {
		uri, err := r.master.LookupService(ctx, e.key.name)
		if unreachable(ctx, err) {
			return err
		}
		r.mu.Lock()
		r.provided(e, uri, err != nil || uri == r.rosrpc)
		taken := e.taken
		r.mu.Unlock()
		if taken {
			return nil
		}
	}
	return r.master.registerService(ctx, e.key.name, r.rosrpc, r.uri)
}

// provided notes whether we provide a service of ours. Called with r.mu held.
func (r *registrar) provided(e *regEntry, by string, mine bool) {
	if !mine && r.said.due("taken "+e.key.name) {
		r.log.Warn("another node provides this service now", zap.String("service", e.key.name), zap.String("by", by))
	}
	e.taken = !mine
}

// anyRegistered reports whether the master should know this node; taken counts
// services too that another node has taken over.
func (r *registrar) anyRegistered(taken bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if e.registered && !e.gone && (taken || !e.taken) {
			return true
		}
	}
	return false
}

func (r *registrar) registerAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		e.registered, e.fresh, e.due, e.compared = false, true, time.Time{}, false
	}
}
