package sublink

import (
	"errors"
	"net"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// peer is a node to which there are links. The address of its slave API identifies the node.
type peer struct {
	links    int     // links to the node
	accepts  bool    // the last connection to the node succeeded
	leader   *link   // probes the node while others wait; nil if accepts
	attempts int     // attempts in progress
	parked   []*link // links that wait for the leader, or for an attempt to end
}

// admits reports whether an attempt of l may start.
func (p *peer) admits(l *link) bool {
	if !p.accepts {
		return p.leader == nil || p.leader == l
	}
	return p.attempts < callsPerPeer
}

// parkLocked lets l wait for its node.
func (c *Connector) parkLocked(l *link) {
	c.takeOutLocked(l)
	l.sched.parked, l.sched.slot = true, len(l.sched.peer.parked)
	l.sched.peer.parked = append(l.sched.peer.parked, l)
}

// unparkLocked lets as many parked links try as the node admits.
func (c *Connector) unparkLocked(p *peer) {
	room := 0
	switch {
	case p.accepts:
		room = callsPerPeer - p.attempts
	case p.leader == nil:
		room = 1
	}
	for ; room > 0 && len(p.parked) > 0; room-- {
		c.scheduleLocked(p.parked[0], time.Time{})
	}
}

// notConnected reports whether err means that no connection to the node was made. Other failures
// say nothing about other topics of the node.
func notConnected(err error) bool {
	call, op := (*rosapi.CallError)(nil), (*net.OpError)(nil)
	return !noFile(err) && errors.As(err, &call) && !call.Answered &&
		(errors.Is(err, endpoint.ErrUnresolved) || errors.As(err, &op) && op.Op == "dial")
}
