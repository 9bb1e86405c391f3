package player

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// latchedMessage is the last message of a latched connection before a place: what a
// subscriber would have got at that moment.
type latchedMessage struct {
	route *route
	frame []byte
}

// latchedBefore finds the last message before t of each latched connection that is wanted,
// and gives to damaged what could not be read. A message exactly at t is not found: at the
// start it is in the window, and stock sends it twice.
func (b *bagPlan) latchedBefore(t bagfmt.Time, wanted func(*bagfmt.Connection) bool, damaged func(*DamageError)) iter.Seq2[*bagfmt.Connection, *bagfmt.Message] {
	return func(yield func(*bagfmt.Connection, *bagfmt.Message) bool) {
		if t.IsZero() {
			return // nothing is before
		}
		var conns []*bagfmt.Connection
		var ids []bagfmt.ConnID
		for _, c := range b.reader.Connections() {
			if c.Header.Latching() && wanted(c) {
				conns, ids = append(conns, c), append(ids, c.ID)
			}
		}
		for i, last := range b.reader.LastOfEach(ids, t.Add(-time.Nanosecond)) {
			if last.Err != nil {
				damaged(&DamageError{Bag: b.name, Messages: 1, Err: last.Err})
			}
			if last.Message != nil && !yield(conns[i], last.Message) {
				return
			}
		}
	}
}

// stateBefore collects the state before a place. Of several connections of one
// original publisher, as in split bags, the latest message counts.
type stateBefore struct {
	messages []latchedMessage
	times    []bagfmt.Time // of messages
	at       map[publisherKey]int
}

// publisherKey is an original publisher of a topic.
type publisherKey struct {
	topic  *topic
	source sourceKey
}

func (s *stateBefore) add(r *route, m *bagfmt.Message) {
	if r.reason != "" {
		r.skipped.Add(1)
		return
	}
	// A copy: it is kept for long, and would keep its chunk.
	l := latchedMessage{r, slices.Clone(m.Frame)}
	key := publisherKey{r.topic, r.key()}
	at, known := s.at[key]
	switch {
	case !known:
		if s.at == nil {
			s.at = map[publisherKey]int{}
		}
		s.at[key] = len(s.messages)
		s.messages, s.times = append(s.messages, l), append(s.times, m.Time)
	case !m.Time.Before(s.times[at]):
		s.messages[at], s.times[at] = l, m.Time
	}
}

// sorted returns the state in the order in which it came about: of several publishers
// of a topic the newest wins.
func (s *stateBefore) sorted() []latchedMessage {
	order := make([]int, len(s.messages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(s.times[a].Compare(s.times[b]), cmp.Compare(s.messages[a].route.conn.ID, s.messages[b].route.conn.ID))
	})
	out := make([]latchedMessage, len(order))
	for i, from := range order {
		out[i] = s.messages[from]
	}
	return out
}

// stateAt finds the state that is valid just before the first message with a stamp, or
// anything if the order is outdated.
func (r *reader) stateAt(o *order, stamp bagfmt.Time) (s stateBefore) {
	for _, b := range r.plan.bags {
		for c, m := range b.latchedBefore(stamp, b.playable, r.report) {
			if o.isOutdated() {
				return s
			}
			s.add(b.routes[c], m)
		}
	}
	return s
}

// publishLatched publishes the state before the window, once at the start. Called with
// mu held.
func (h *playhead) publishLatched() {
	for _, l := range h.latched {
		h.publishFrame(l.route, l.frame, false)
	}
}

// setState makes the latched sources hold what is valid after a jump. After a turn of
// a loop those that hold it already stay silent. Called with mu held.
func (h *playhead) setState(j *jump) {
	valid := make(map[*source]bool, len(j.state))
	for _, l := range j.state {
		valid[l.route.source] = true
	}
	for _, s := range h.sources {
		if !valid[s] {
			s.held = nil
			s.Unlatch()
		}
	}
	for _, l := range j.state {
		if !j.turn || !bytes.Equal(l.route.source.held, l.frame) {
			h.publishFrame(l.route, l.frame, false)
		}
	}
}

// latchedSources returns the sources that latch.
func (p *plan) latchedSources() []*source {
	var all []*source
	for _, b := range p.bags {
		for _, c := range b.reader.Connections() {
			if c.Header.Latching() && b.playable(c) && !slices.Contains(all, b.routes[c].source) {
				all = append(all, b.routes[c].source)
			}
		}
	}
	return all
}
