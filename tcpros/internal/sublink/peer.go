package sublink

import (
	"errors"
	"net"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// peer is a node with links to it, by the address of its slave API.
type peer struct {
	links    int     // to the node
	accepts  bool    // the last connection to the node succeeded
	leader   *link   // probes the node while others wait; nil if accepts
	attempts int     // in progress
	parked   []*link // wait for the leader, or for an attempt to end
}

// admits reports whether an attempt of l may start.
func (p *peer) admits(l *link) bool {
	if !p.accepts {
		return p.leader == nil || p.leader == l
	}
	return p.attempts < callsPerPeer
}

// park lets l wait for its node. Called with c.mu held.
func (c *Connector) park(l *link) {
	c.takeOut(l)
	l.sched.parked, l.sched.slot = true, len(l.sched.peer.parked)
	l.sched.peer.parked = append(l.sched.peer.parked, l)
}

// unpark lets as many links try as their node admits. Called with c.mu held.
func (c *Connector) unpark(p *peer) {
	room := 0
	switch {
	case p.accepts:
		room = callsPerPeer - p.attempts
	case p.leader == nil:
		room = 1
	}
	for ; room > 0 && len(p.parked) > 0; room-- {
		c.schedule(p.parked[0], time.Time{})
	}
}

// notConnected reports whether err is that of a call for which there was no connection. Other
// failures say nothing about other topics of the node.
func notConnected(err error) bool {
	call, op := (*rosapi.CallError)(nil), (*net.OpError)(nil)
	return errors.As(err, &call) && !call.Answered &&
		(errors.Is(err, endpoint.ErrUnresolved) || errors.As(err, &op) && op.Op == "dial")
}
