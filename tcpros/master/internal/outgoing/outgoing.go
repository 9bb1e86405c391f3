// Package outgoing bounds the memory of encoded messages that peers have not read yet. It knows
// neither calls nor nodes. Package master and its notifier call it; nothing else does.
//
// Decisions: ADR 0089.
package outgoing

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// Bounds of the messages that peers have not read yet.
const (
	// bytes; smaller messages are not counted, since connections and calls are limited.
	smallMessage = 16 << 10
	// bytes of larger messages in memory; a single message may exceed the limit.
	OutgoingBytes = 16 << 20
	// a message that is in memory for longer is revoked when others wait.
	slowAfter = 2 * time.Second
)

// Budget bounds the memory of encoded messages while peers read them. Peers that get the same
// message share its bytes. A message for which there is no room waits, and the message with the
// largest product of bytes and time in memory is revoked, so that peers that do not read shut out
// nobody.
type Budget struct {
	turn chan struct{} // held by the caller whose message is next: first come, first served

	mu     sync.Mutex
	held   int64 // bytes of inUse
	inUse  map[*Message]struct{}
	shared map[string]*Message // by identity; only messages in inUse that are not revoked
	freed  chan struct{}       // closed and replaced when held falls
}

// Message is one encoded message.
type Message struct {
	Body []byte

	owner   *Budget // nil if the message is not counted
	id      string
	since   time.Time
	users   int
	revoked context.Context //nolint:containedctx // ends when the message has to give way
	revoke  context.CancelFunc
}

// New returns a budget with nothing in memory.
func New() *Budget {
	return &Budget{
		turn: make(chan struct{}, 1), inUse: map[*Message]struct{}{}, shared: map[string]*Message{},
		freed: make(chan struct{}),
	}
}

// Get returns the message that encode makes, once there is room for it. The error of encode matches
// xmlrpc.ErrLimit if the message has more than room bytes. Messages with the same identity are
// equal; an empty identity stands for a message that nobody shares. Get has no message in memory
// while it waits. The caller calls Message.Begin, and later the function that Begin returns.
func (o *Budget) Get(ctx context.Context, identity func() string,
	encode func(room int64) ([]byte, error),
) (*Message, error) {
	if m := o.share(identity()); m != nil {
		return m, nil
	}
	if body, err := encode(smallMessage); !errors.Is(err, xmlrpc.ErrLimit) {
		return &Message{Body: body}, err
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		id := identity()
		if m := o.share(id); m != nil {
			return m, nil
		}
		room, freed := o.room()
		body, err := encode(room)
		if err == nil {
			return o.add(id, body), nil
		} else if !errors.Is(err, xmlrpc.ErrLimit) {
			return nil, err
		}
		again := time.NewTimer(o.revokeSlowest())
		select {
		case <-freed:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// share returns the message with an identity for one more user; nil if no message has the identity.
func (o *Budget) share(id string) *Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.shared[id]
	if m != nil {
		m.users++
	}
	return m
}

// room returns the most bytes that the next message may have, and a channel that is closed when
// this number grows.
func (o *Budget) room() (int64, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == 0 {
		return math.MaxInt64, o.freed
	}
	return OutgoingBytes - o.held, o.freed
}

func (o *Budget) add(id string, body []byte) *Message {
	m := &Message{Body: body}
	if len(body) <= smallMessage {
		return m
	}
	m.owner, m.id, m.since, m.users = o, id, time.Now(), 1
	m.revoked, m.revoke = context.WithCancel(context.Background())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held += int64(len(body))
	o.inUse[m] = struct{}{}
	if id != "" {
		o.shared[id] = m
	}
	return m
}

// revokeSlowest revokes the slowest message, unless a revoked message is still in use. It returns
// how long to wait before the next call.
func (o *Budget) revokeSlowest() (wait time.Duration) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	var slowest *Message
	var most float64
	wait = slowAfter
	for m := range o.inUse {
		if m.revoked.Err() != nil {
			return slowAfter
		}
		age := now.Sub(m.since)
		if age < slowAfter {
			wait = min(wait, slowAfter-age)
		} else if cost := float64(len(m.Body)) * float64(age); cost > most {
			slowest, most = m, cost
		}
	}
	if slowest != nil {
		slowest.revoke()
		o.unshareLocked(slowest)
	}
	return wait
}

// unshareLocked keeps m from getting more users.
func (o *Budget) unshareLocked(m *Message) {
	if o.shared[m.id] == m {
		delete(o.shared, m.id)
	}
}

// Begin makes the budget call abort, in another goroutine, if the message is revoked before the
// user calls end.
func (m *Message) Begin(abort func()) (end func()) {
	if m.owner == nil {
		return func() {}
	}
	stop := context.AfterFunc(m.revoked, abort)
	return func() {
		stop()
		m.release()
	}
}

// release removes one user of a message.
func (m *Message) release() {
	o := m.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	if m.users--; m.users > 0 {
		return
	}
	m.revoke() // releases the context
	o.unshareLocked(m)
	delete(o.inUse, m)
	o.held -= int64(len(m.Body))
	close(o.freed)
	o.freed = make(chan struct{})
}
