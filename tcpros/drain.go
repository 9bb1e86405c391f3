package tcpros

import (
	"context"
	"sync"
	"time"
)

const (
	drainPatience = 5 * time.Second       // without any sign that a subscriber takes something
	drainCheck    = 50 * time.Millisecond // how often signs are looked for
)

// Drain ends publishing: new subscribers are refused, every queue is sent, every
// link is closed for writing, and Drain waits until each subscriber has read to the
// end and closed. It gives up on one that takes nothing for 5 s, and on all when
// ctx is done. The error is a *DrainError. Transient topics go on until Close.
//
// Unregister (Close) only afterwards: roscpp and rospy drop a link with all that is
// unread in it when the master tells them that the publisher is gone.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.Store(true)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var left []Undrained
	for _, p := range n.allPublications() {
		if p.opts.Transient {
			continue
		}
		for _, l := range p.shut() {
			// owner: Drain; ends when the subscriber is done or given up.
			wg.Go(func() {
				reason := l.drain(ctx)
				p.remove(l)
				if reason != "" {
					s := l.snapshot()
					mu.Lock()
					left = append(left, Undrained{p.topic, s.CallerID, s.Queued, reason})
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	if len(left) > 0 {
		return &DrainError{left, ctx.Err()}
	}
	return nil
}

// drain sends what is queued and waits until the subscriber has taken it. It
// returns why it did not, or the empty string.
func (l *outLink) drain(ctx context.Context) string {
	l.end()
	probeOften(l.conn)
	check := time.NewTicker(drainCheck)
	defer check.Stop()
	last, since := l.progress(), time.Now()
	for {
		select {
		case <-l.done:
			return l.verdict()
		case <-ctx.Done():
			l.close()
			<-l.done
			return "no time left"
		case <-check.C:
		}
		if now := l.progress(); now != last {
			last, since = now, time.Now()
		} else if time.Since(since) >= drainPatience {
			l.close()
			<-l.done
			return "takes nothing"
		}
	}
}

// verdict judges a link that has ended by itself. A peer that closes while data is
// unread over there resets the link; an orderly end means that all was read.
func (l *outLink) verdict() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flushed && l.orderly {
		return ""
	}
	return "left early"
}

// progress is whatever changes while a subscriber takes data.
type progress struct {
	sent   uint64 // bytes written to the socket
	unsent int    // bytes that the kernel has not got rid of
	window uint32 // what the subscriber's kernel has room for: grows as the subscriber reads
}

func (l *outLink) progress() progress {
	l.mu.Lock()
	p := progress{sent: l.bytes}
	l.mu.Unlock()
	p.unsent, p.window = socketProgress(l.conn)
	return p
}
