package publink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// drainCheck is how often Drain checks the progress of a subscriber.
const drainCheck = 50 * time.Millisecond

// Drain ends publishing on all topics: it sends every queue, closes every link for writing, and
// waits until each subscriber has read everything and closed its side. It gives up on a
// subscriber that reads nothing for timeout, and on all when ctx ends. The error is a *DrainError.
func Drain(ctx context.Context, timeout time.Duration, all []*Publication) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var left []Undrained
	for _, p := range all {
		for _, l := range p.stopPublishing() {
			// owner: Drain; ends when the subscriber has closed or timed out.
			wg.Go(func() {
				reason := l.drain(ctx, timeout)
				p.Remove(l)
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
func (l *Link) drain(ctx context.Context, timeout time.Duration) string {
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
func (l *Link) drainResult() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.flushed && l.state.cleanClose {
		return ""
	}
	return "left early"
}

// progress has the values that change while a subscriber reads.
type progress struct {
	sent   uint64 // bytes written to the socket
	unsent int    // bytes that the peer's kernel has not acknowledged
	window uint32 // receive window of the subscriber: grows as the subscriber reads
}

func (l *Link) progress() progress {
	l.mu.Lock()
	p := progress{sent: l.sum.bytes}
	l.mu.Unlock()
	p.unsent, p.window = socketProgress(l.conn)
	return p
}

// ErrNotDrained matches every *DrainError.
var ErrNotDrained = errors.New("not every subscriber took all messages")

// DrainError lists the subscribers that did not read all messages.
type DrainError struct {
	Subscribers []Undrained
	Err         error // the error of the context, if the context ended the wait
}

// Undrained is one subscriber that did not read all messages.
type Undrained struct {
	Topic    string
	CallerID string
	Frames   int    // frames that never left the queue
	Reason   string // "takes nothing", "left early", "no time left"
}

// Error implements error.
func (e *DrainError) Error() string {
	var b strings.Builder
	b.WriteString("not taken to the end:")
	for i, u := range e.Subscribers {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(e.Subscribers)-i)
			break
		}
		fmt.Fprintf(&b, " %s by %q (%s, %d queued)", u.Topic, u.CallerID, u.Reason, u.Frames)
	}
	return b.String()
}

// Is reports whether target is ErrNotDrained.
func (e *DrainError) Is(target error) bool { return target == ErrNotDrained }

// Unwrap returns the context's error, or nil.
func (e *DrainError) Unwrap() error { return e.Err }
