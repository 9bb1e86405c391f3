package tcpros

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
)

// When the node closes, a registration call in progress may continue for
// timing.unregisterTimeout/lastCallShare.
const lastCallShare = 4

// Close closes every link, unregisters everything, within ctx and as long as the master answers
// within one second, and ends every goroutine of the node. Service calls in progress are answered
// first, within the limits of Service.Close. The error is about unregistering only: everything else
// is done in any case. Publications are not flushed: see Drain.
func (n *Node) Close(ctx context.Context) error {
	n.graph.mu.Lock()
	if n.graph.closed {
		n.graph.mu.Unlock()
		return ErrClosed
	}
	n.graph.closed = true
	subs, pubs := slices.Collect(maps.Values(n.graph.subs)), slices.Collect(maps.Values(n.graph.pubs))
	services := slices.Collect(maps.Values(n.graph.services))
	n.graph.mu.Unlock()
	n.tasks.stopReg()
	for _, p := range pubs {
		p.out.Abort()
	}
	for _, s := range subs {
		s.in.Stop()
	}
	var calls sync.WaitGroup
	for _, s := range services {
		// owner: Close; ends within 3 * service.Timing.Grace.
		calls.Go(func() { s.svc.Stop(ctx) })
	}
	err := n.unregisterAll(ctx)
	calls.Wait()
	n.tasks.stopAll()
	n.master.Close()
	err = errors.Join(err, n.api.Close())
	for _, s := range subs {
		s.in.Wait()
	}
	n.tasks.wg.Wait()
	return err
}

// Drain ends publishing: it refuses new subscribers, sends every queue, closes every link for
// writing, and waits until each subscriber has read everything and closed its side. It gives
// up on a subscriber that reads nothing for 5 s, and on all when ctx ends. The error is a
// *DrainError. Transient topics continue until Close.
//
// Call Close only afterwards: when the master tells roscpp or rospy that the publisher has
// unregistered, they close the link and lose its unread messages.
// See ADR 0015.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.Store(true)
	var all []*publink.Publication
	for _, p := range n.allPublications() {
		if !p.transient {
			all = append(all, p.out)
		}
	}
	return publink.Drain(ctx, n.timing.drainTimeout, all)
}

// unregisterAll unregisters everything, as long as the master answers: a node that is still listed
// after its end looks like a crashed node.
func (n *Node) unregisterAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(n.timing.unregisterTimeout, cancel)
	err := n.reg.UnregisterAll(ctx, func() { silent.Reset(n.timing.unregisterTimeout) })
	if !silent.Stop() && err != nil {
		return fmt.Errorf("the master does not answer: %w", context.DeadlineExceeded)
	}
	return err
}
