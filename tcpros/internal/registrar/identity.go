package registrar

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// identity identifies the master that the node is registered with. The goroutine of Run owns it.
type identity struct {
	pid        int
	runID      string
	contact    rosapi.Contact // when check or identify last found the master to be the same
	identified bool
	met        bool // a master has answered once
	failures   int  // calls in a row that were not answered
	epoch      int  // number of the master, counted up with each restart
	nameTaken  bool // another node has our name: registering would shut it down
}

// check notices a restart of the master. While a connection lasts, the master is the same process.
// One call finds this out, or none if the master has answered another call since the last check; a
// call costs rosmaster 0.5 ms. reconcile notices a restart behind a proxy, and changes within the
// master.
func (r *Registrar) check(ctx context.Context) error {
	now := r.Master.LastContact()
	if !r.id.identified || r.id.nameTaken || r.id.failures > 0 || now.Dials != r.id.contact.Dials {
		return r.identify(ctx, r.book.anyRegistered(false))
	}
	if now.Answers == r.id.contact.Answers {
		pid, err := r.Master.PID(ctx)
		if err != nil {
			return err
		}
		if pid != r.id.pid {
			return r.identify(ctx, r.book.anyRegistered(false))
		}
	}
	r.id.contact.Answers = r.Master.LastContact().Answers
	return nil
}

// identify checks whether the master is still the one that we registered with, and registers
// everything again if not. registered says whether the master should know this node.
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
	same := r.id.identified && pid == r.id.pid && (runID == r.id.runID || r.id.runID == "")
	again := r.id.failures >= 3
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
	// only now: a failed initMaster has to be repeated
	r.id.pid, r.id.runID, r.id.contact = pid, runID,
		rosapi.Contact{Dials: dials, Answers: r.Master.LastContact().Answers}
	if again {
		r.book.registerAll()
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
	if r.id.identified {
		r.id.epoch++
		r.Log.Warn("the master was restarted: registering everything again",
			zap.String("master", r.Master.HostPort()))
	}
	r.id.identified = true
	return nil
}

// unknownToMaster reports whether the master has lost this node. registered says whether the master
// should know this node. The method also records whether another node has taken the name.
func (r *Registrar) unknownToMaster(ctx context.Context, registered bool) (bool, error) {
	if !r.id.nameTaken && !registered {
		return false, nil
	}
	uri, err := r.Master.LookupNode(ctx, r.Master.CallerID())
	if errors.Is(err, xmlrpc.ErrLimit) {
		uri, err = "longer than can be read", nil // so it is not the URI of this node
	}
	switch {
	case rosapi.Unreachable(ctx, err):
		return false, err
	case err != nil:
		// The master may have restarted although its identity looks the same. A publisher that a
		// restarted master does not list may still live.
		r.id.epoch++
		r.setNameTaken(false)
		r.Log.Warn("the master has forgotten this node: registering everything again", zap.Error(err))
		return true, nil
	case uri != r.URI && !r.id.nameTaken:
		r.Log.Warn("another node took this node's name", zap.String("name", r.Master.CallerID()),
			zap.String("uri", uri))
	}
	r.setNameTaken(uri != r.URI)
	return false, nil
}

// reconcile compares the registrations of the master with ours, and its publishers with our
// links. One call returns all topics; repeating each registration would fill the master's
// log.
func (r *Registrar) reconcile(ctx context.Context) error {
	// Check first whether another node has taken the name: registering would take it back.
	if err := r.identify(ctx, r.book.anyRegistered(false)); err != nil {
		return err
	}
	registered := r.book.anyRegistered(false)
	if r.id.nameTaken || !r.book.anyRegistered(true) {
		return nil
	}
	nodes, err := r.Master.Registrations(ctx)
	if err != nil {
		if rosapi.Unreachable(ctx, err) {
			return err
		}
		return nil // the answer is unusable: assume that the registrations are unchanged
	}
	topic, lost := r.book.compare(nodes, r.Master.CallerID())
	if lost { // in the meantime the master may have been replaced, or another node have taken the name
		if err := r.identify(ctx, registered); err != nil {
			return err
		}
	}
	if topic != "" {
		r.Log.Warn("the master does not get through to this node, so new publishers are noticed late: "+
			"set ROS_IP or ROS_HOSTNAME here to an address or name that the master's machine knows, or open the way",
			zap.String("master", r.Master.HostPort()), zap.String("advertised", r.URI),
			zap.Stringer("toward the master", r.SourceAddr(ctx)), zap.String("topic", topic))
	}
	return nil
}

// setNameTaken records whether another node has our name.
func (r *Registrar) setNameTaken(taken bool) {
	r.id.nameTaken = taken
	r.book.setNameTaken(taken)
}

// registerService registers a service. The first registration replaces any other provider,
// as in ROS: the last one wins. It does not register a service again that another node has
// taken over: the two nodes would replace each other forever.
func (r *Registrar) registerService(ctx context.Context, e *entry) error {
	if r.book.everRegistered(e) {
		uri, err := r.Master.LookupService(ctx, e.key.Name)
		if rosapi.Unreachable(ctx, err) {
			return err
		}
		mine := err != nil || uri == r.RosRPC
		r.book.recordProvider(e, uri, mine)
		if !mine {
			return nil
		}
	}
	return r.Master.RegisterService(ctx, e.key.Name, r.RosRPC, r.URI)
}
