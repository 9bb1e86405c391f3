package tcpros

import (
	"context"
	"sync"
	"time"
)

// drainCheck is how often Drain checks the progress of a subscriber.
const drainCheck = 50 * time.Millisecond

// drain ends publishing on all topics: it sends every queue, closes every link for writing, and
// waits until each subscriber has read everything and closed its side. It gives up on a
// subscriber that reads nothing for timeout, and on all when ctx ends. The error is a *DrainError.
func drain(ctx context.Context, timeout time.Duration, all []*outTopic) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var left []Undrained
	for _, p := range all {
		for _, l := range p.stopPublishing() {
			// owner: drain; ends when the subscriber has closed or timed out.
			wg.Go(func() {
				reason := l.drain(ctx, timeout)
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

// drain sends the queue and waits until the subscriber has read it. It returns the reason if
// the subscriber did not, or the empty string. timeout bounds the wait without progress.
func (l *outLink) drain(ctx context.Context, timeout time.Duration) string {
	l.end()
	probeOften(l.conn)
	check := time.NewTicker(drainCheck)
	defer check.Stop()
	last, since := l.progress(), time.Now()
	for {
		select {
		case <-l.done:
			return l.drainResult()
		case <-ctx.Done():
			l.close()
			<-l.done
			return "no time left"
		case <-check.C:
		}
		if now := l.progress(); now != last {
			last, since = now, time.Now()
		} else if time.Since(since) >= timeout {
			l.close()
			<-l.done
			return "takes nothing"
		}
	}
}

// drainResult returns the result for a link that the subscriber closed. A peer that closes
// with unread data resets the connection; a clean close means that it read everything.
func (l *outLink) drainResult() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flushed && l.cleanClose {
		return ""
	}
	return "left early"
}

// progress holds the values that change while a subscriber reads.
type progress struct {
	sent   uint64 // bytes written to the socket
	unsent int    // bytes that the peer's kernel has not acknowledged
	window uint32 // receive window of the subscriber: grows as the subscriber reads
}

func (l *outLink) progress() progress {
	l.mu.Lock()
	p := progress{sent: l.bytes}
	l.mu.Unlock()
	p.unsent, p.window = socketProgress(l.conn)
	return p
}
