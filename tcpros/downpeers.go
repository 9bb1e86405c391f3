package tcpros

import (
	"context"
	"errors"
	"net"
	"sync"
)

// downPeers are the nodes that do not accept connections to their slave API. A node that has
// crashed stays listed with all its topics, and a link for each would try in vain for ever. So
// the first link that fails becomes the leader of the others to the same node: it alone tries
// again, and they wait until the node answers or the leader is closed.
type downPeers struct {
	mu    sync.Mutex
	peers map[string]*downPeer // by host and port of the slave API
}

type downPeer struct {
	leader *inLink
	over   chan struct{} // closed when the others may try, too
}

// await returns when l may try, which is at once unless another link leads. A request to
// retry now ends the wait.
func (d *downPeers) await(ctx context.Context, l *inLink) {
	for {
		d.mu.Lock()
		p := d.peers[l.hostport]
		d.mu.Unlock()
		if p == nil || p.leader == l {
			return
		}
		select {
		case <-p.over:
		case <-l.retryNow:
			return
		case <-ctx.Done():
			return
		}
	}
}

// tried records the result of an attempt of l to call the node.
func (d *downPeers) tried(l *inLink, err error) {
	if !notConnected(err) {
		d.end(l.hostport, func(*inLink) bool { return true })
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.peers[l.hostport] == nil {
		if d.peers == nil {
			d.peers = map[string]*downPeer{}
		}
		d.peers[l.hostport] = &downPeer{l, make(chan struct{})}
	}
}

// left says that l will not try again.
func (d *downPeers) left(l *inLink) {
	d.end(l.hostport, func(leader *inLink) bool { return leader == l })
}

func (d *downPeers) end(hostport string, leads func(leader *inLink) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.peers[hostport]; p != nil && leads(p.leader) {
		close(p.over)
		delete(d.peers, hostport)
	}
}

// notConnected reports whether err is that of a call for which there was no connection. Other
// failures say nothing about other topics of the node.
func notConnected(err error) bool {
	call, op := (*CallError)(nil), (*net.OpError)(nil)
	return errors.As(err, &call) && !call.answered &&
		(errors.Is(err, ErrUnresolved) || errors.As(err, &op) && op.Op == "dial")
}
