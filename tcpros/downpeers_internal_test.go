package tcpros

import (
	"context"
	"net"
	"syscall"
	"testing"
)

// TestDownPeers: of the links to a node that accepts no connection only the first tries, until
// the node answers or that link is closed.
func TestDownPeers(t *testing.T) {
	t.Parallel()
	refused := &CallError{Method: "requestTopic", Host: "a:1", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	link := func(hostport string) *inLink { return &inLink{hostport: hostport, retryNow: make(chan struct{}, 1)} }
	for name, end := range map[string]func(d *downPeers, leader, other *inLink, cancel func()){
		"the node answers": func(d *downPeers, leader, _ *inLink, _ func()) { d.tried(leader, nil) },
		"it refuses the topic": func(d *downPeers, leader, _ *inLink, _ func()) {
			d.tried(leader, &CallError{Err: ErrStatus, answered: true})
		},
		"the leader is closed": func(d *downPeers, leader, _ *inLink, _ func()) { d.left(leader) },
		"a publisher restarts": func(_ *downPeers, _, other *inLink, _ func()) { other.triggerRetry() },
		"the other is closed":  func(_ *downPeers, _, _ *inLink, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := &downPeers{}
			leader, other, elsewhere := link("a:1"), link("a:1"), link("b:1")
			d.await(ctx, leader)
			d.tried(leader, refused)
			d.await(ctx, leader)    // it goes on
			d.await(ctx, elsewhere) // another node
			d.tried(other, refused) // it had begun before
			d.left(other)
			free := make(chan struct{})
			go func() {
				defer close(free)
				d.await(ctx, other)
			}()
			for range 1000 {
				select {
				case <-free:
					t.Fatal("does not wait")
				default:
				}
			}
			end(d, leader, other, cancel)
			<-free
		})
	}
	if notConnected(nil) || notConnected(&CallError{Err: context.DeadlineExceeded}) || notConnected(refused.Err) {
		t.Error("takes an error for that of a node that accepts no connection")
	}
	if !notConnected(&CallError{Err: &ResolveError{Host: "a"}}) {
		t.Error("takes a node whose host is not known for one that answers")
	}
}
