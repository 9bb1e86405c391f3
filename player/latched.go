package player

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// latchedMessage is the last message before the window of a latched connection:
// what a subscriber would have got at that moment.
type latchedMessage struct {
	route *route
	frame []byte
}

// lastBefore finds the last message of a latched connection before the window. A
// message exactly at the start is in the window and is not found here: stock sends
// it twice.
func (p *plan) lastBefore(b *bagPlan, c *bagfmt.Connection) *bagfmt.Message {
	m, err := b.reader.LastBefore(c.ID, p.start.Add(-time.Nanosecond))
	if err != nil {
		p.damage = append(p.damage, &DamageError{Bag: b.name, Messages: 1, Err: err})
		return nil
	}
	return m
}

// stateBefore collects the state before the window. Of several connections of one
// original publisher, as in split bags, the latest message counts.
type stateBefore struct {
	messages []latchedMessage
	times    []bagfmt.Time // of messages
}

func (s *stateBefore) add(r *route, m *bagfmt.Message) {
	if r.reason != "" {
		r.skipped.Add(1)
		return
	}
	// A copy: it is kept to the end with Options.Loop, and would keep its chunk.
	l := latchedMessage{r, slices.Clone(m.Frame)}
	at := slices.IndexFunc(s.messages, func(o latchedMessage) bool {
		return o.route.topic == r.topic && o.route.key() == r.key()
	})
	switch {
	case at < 0:
		s.messages, s.times = append(s.messages, l), append(s.times, m.Time)
	case !m.Time.Before(s.times[at]):
		s.messages[at], s.times[at] = l, m.Time
	}
}

// publishLatched publishes the state before the window, once at the start. When
// play loops, that state is true again: what the last pass changed is put back.
// Called with mu held.
func (h *playhead) publishLatched() {
	for _, l := range h.latched {
		if h.pass > 0 && !l.route.source.sent {
			continue
		}
		l.route.publish(l.frame)
		l.route.source.sent = false
		h.messages++
	}
}
