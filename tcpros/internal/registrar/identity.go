package registrar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// check notices a master that was restarted. While the connections to it last it is the same
// process, which costs one call to find out, or none if it has answered others since the last
// check: rosmaster takes half a millisecond for each. What hides behind a proxy, or happens
// within the master, reconcile finds out.
func (r *Registrar) check(ctx context.Context) error {
	now := r.Master.LastContact()
	if !r.identified || r.nameTaken || r.failures > 0 || now.Dials != r.contact.Dials {
		return r.identify(ctx, r.anyRegistered(false))
	}
	if now.Answers == r.contact.Answers {
		pid, err := r.Master.PID(ctx)
		if err != nil {
			return err
		}
		if pid != r.pid {
			return r.identify(ctx, r.anyRegistered(false))
		}
	}
	r.contact.Answers = r.Master.LastContact().Answers
	return nil
}

// identify checks whether the master is still the one that we registered with, and registers
// everything again if not. registered says whether it should know of this node.
func (r *Registrar) identify(ctx context.Context, registered bool) error {
	dials := r.Master.LastContact().Dials // before the calls: one of them may need a new connection
	pid, err := r.Master.PID(ctx)
	if err != nil {
		return err
	}
	v, ok, err := r.Master.Param(ctx, "/run_id")
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
		if err := r.initMaster(ctx); err != nil {
			return err
		}
		again = true
		r.setNameTaken(false)
	} else if forgotten, err := r.unknownToMaster(ctx, registered); err != nil {
		return err
	} else if forgotten {
		again = true
	}
	r.pid, r.runID, r.contact = pid, runID, rosapi.Contact{Dials: dials, Answers: r.Master.LastContact().Answers} // only now: a failed initMaster has to be repeated
	if again {
		r.registerAll()
	}
	r.succeeded()
	return nil
}

// initMaster exchanges parameters with a new master.
func (r *Registrar) initMaster(ctx context.Context) error {
	on, ok, err := r.Master.Param(ctx, "/tcp_keepalive")
	if err != nil {
		return err
	}
	r.SetKeepAlive(!ok || on != false)
	for _, p := range r.Params {
		err := r.Master.SetParam(ctx, r.Namespace+"/"+p.Name, p.Value)
		unsendable := errors.Is(err, xmlrpc.ErrEncode) || errors.Is(err, names.ErrName)
		switch {
		case err == nil:
		case !unsendable && rosapi.Unreachable(ctx, err):
			return err
		default:
			r.Log.Warn("parameter not set", zap.String("name", p.Name), zap.Error(err))
		}
	}
	if r.identified {
		r.epoch++
		r.Log.Warn("the master was restarted: registering everything again", zap.String("master", r.Master.HostPort()))
	}
	r.identified = true
	return nil
}

// unknownToMaster reports whether the master has lost this node, which it should know if
// registered is true, and records whether another node has taken its name.
func (r *Registrar) unknownToMaster(ctx context.Context, registered bool) (bool, error) {
	if !r.nameTaken && !registered {
		return false, nil
	}
	uri, err := r.Master.LookupNode(ctx, r.Master.CallerID())
	if errors.Is(err, xmlrpc.ErrLimit) {
		uri, err = "longer than can be read", nil // so it is not ours
	}
	switch {
	case rosapi.Unreachable(ctx, err):
		return false, err
	case err != nil:
		// It may be a restarted master that looks like the last one: that it does not list a
		// publisher does not mean that the publisher has ended.
		r.epoch++
		r.setNameTaken(false)
		r.Log.Warn("the master has forgotten this node: registering everything again", zap.Error(err))
		return true, nil
	case uri != r.URI && !r.nameTaken:
		r.Log.Warn("another node took this node's name", zap.String("name", r.Master.CallerID()), zap.String("uri", uri))
	}
	r.setNameTaken(uri != r.URI)
	return false, nil
}

// setNameTaken records whether another node has our name: registering would shut it down.
func (r *Registrar) setNameTaken(taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nameTaken = taken
	if r.agenda.onlyRemovals == taken {
		return
	}
	r.agenda.onlyRemovals = taken
	now := time.Now()
	for _, e := range r.entries {
		r.plan(e, now)
	}
}

// reconcile compares the registrations of the master with ours, and its publishers with our
// links. One call returns all topics; repeating each registration would fill the master's
// log.
func (r *Registrar) reconcile(ctx context.Context) error {
	// A name that was taken a moment ago must not be taken back.
	if err := r.identify(ctx, r.anyRegistered(false)); err != nil {
		return err
	}
	registered := r.anyRegistered(false)
	if r.nameTaken || !r.anyRegistered(true) {
		return nil
	}
	nodes, err := r.Master.Registrations(ctx)
	if err != nil {
		if rosapi.Unreachable(ctx, err) {
			return err
		}
		return nil // the answer is unusable: assume that the registrations are unchanged
	}
	topic, lost := r.compare(nodes)
	if lost { // in the meantime the master may have been replaced, or another node have taken the name
		if err := r.identify(ctx, registered); err != nil {
			return err
		}
	}
	if topic != "" {
		r.Log.Warn("the master does not get through to this node, so new publishers are noticed late: "+
			"set ROS_IP or ROS_HOSTNAME here to an address or name that the master's machine knows, or open the way",
			zap.String("master", r.Master.HostPort()), zap.String("advertised", r.URI), zap.Stringer("toward the master", r.SourceAddr(ctx)), zap.String("topic", topic))
	}
	return nil
}

// compare records which registrations the master has lost and which topics have new
// publishers. It returns a topic with a change of which the master did not notify us, or "",
// and whether a registration was lost.
func (r *Registrar) compare(nodes map[rosapi.Key][]string) (unreachedTopic string, lost bool) {
	now := time.Now()
	var waiting []*entry // for a publisher that is listed as before
	r.mu.Lock()
	defer r.mu.Unlock()
	round := max(r.Timing.ReconcileEvery, now.Sub(r.comparedAt)) // in which an update may have come
	r.comparedAt = now
	for k, e := range r.entries {
		if e.removed || !e.registered {
			continue
		}
		if k.Kind == rosapi.Service && len(nodes[k]) > 0 {
			r.setProvider(e, nodes[k][0], nodes[k][0] == r.Master.CallerID())
			continue
		}
		if !slices.Contains(nodes[k], r.Master.CallerID()) {
			r.Log.Warn("the master has lost a registration", zap.String("name", k.Name), zap.Stringer("kind", k.Kind))
			e.registered, e.notBefore = false, time.Time{}
			r.plan(e, now)
			lost = true
			continue
		}
		if k.Kind != rosapi.Subscriber {
			continue
		}
		pubs := nodes[rosapi.Key{Kind: rosapi.Publisher, Name: k.Name}]
		slices.Sort(pubs)
		names := strings.Join(pubs, " ")
		switch {
		case e.refresh:
		case names != e.nodeNames:
			e.refresh = true
			r.plan(e, now)
		case !e.sub.AllUp():
			waiting = append(waiting, e)
		}
		if e.updateMissed(names, now, round) {
			unreachedTopic = k.Name
		}
	}
	r.refreshOldest(waiting, now)
	return unreachedTopic, lost
}

// refreshOldest requests the lists of some topics whose publisher is not reached: it may have
// restarted with another address. It takes those whose list is the oldest. Nodes that have
// crashed stay listed for ever, and may have had many topics: asking for all would keep the
// master busy. Called with r.mu held.
func (r *Registrar) refreshOldest(waiting []*entry, now time.Time) {
	if len(waiting) > refreshMost {
		slices.SortFunc(waiting, func(a, b *entry) int { return a.answeredAt.Compare(b.answeredAt) })
		waiting = waiting[:refreshMost]
	}
	for _, e := range waiting {
		e.refresh = true
		r.plan(e, now)
	}
}

// RegisterService registers a service. The first registration replaces any other provider,
// as in ROS: the last one wins. It does not register a service again that another node has
// taken over: the two nodes would replace each other for ever.
func (r *Registrar) registerService(ctx context.Context, e *entry) error {
	r.mu.Lock()
	everRegistered := e.everRegistered
	r.mu.Unlock()
	if everRegistered {
		uri, err := r.Master.LookupService(ctx, e.key.Name)
		if rosapi.Unreachable(ctx, err) {
			return err
		}
		r.mu.Lock()
		r.setProvider(e, uri, err != nil || uri == r.RosRPC)
		taken := e.takenOver
		r.mu.Unlock()
		if taken {
			return nil
		}
	}
	return r.Master.RegisterService(ctx, e.key.Name, r.RosRPC, r.URI)
}

// setProvider records whether this node or another provides a service. Called with r.mu held.
func (r *Registrar) setProvider(e *entry, by string, mine bool) {
	if !mine {
		r.Log.Warn("another node provides this service now", zap.String("service", e.key.Name), zap.String("by", by))
	}
	e.takenOver = !mine
}

// anyRegistered reports whether anything is registered with the master. With taken it also
// counts services that another node has taken over.
func (r *Registrar) anyRegistered(taken bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if e.registered && !e.removed && (taken || !e.takenOver) {
			return true
		}
	}
	return false
}

func (r *Registrar) registerAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, e := range r.entries {
		e.registered, e.retryLinks, e.notBefore, e.compared = false, true, time.Time{}, false
		r.plan(e, now)
	}
}
