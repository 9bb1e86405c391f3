package player

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// latchedMessage is the last message before the window of a latched connection:
// what a subscriber would have got at that moment.
type latchedMessage struct {
	route *route
	frame []byte
}

// latchedBefore finds the last message before the window of each selected latched
// connection. A message exactly at the start is in the window and is not found
// here: stock sends it twice. Of several connections of one original publisher,
// as in split bags, the latest message counts.
func (p *plan) latchedBefore(damaged func(*DamageError)) []latchedMessage {
	if p.start.IsZero() {
		return nil
	}
	type found struct {
		time  bagfmt.Time
		index int
	}
	before := p.start.Add(-time.Nanosecond)
	var all []latchedMessage
	newest := map[*source]found{}
	for _, b := range p.bags {
		for _, c := range b.reader.Connections() {
			r := b.routes[c]
			if r == nil || r.reason != "" || !c.Header.Latching() {
				continue
			}
			m, err := b.reader.LastBefore(c.ID, before)
			if err != nil {
				damaged(b.damage(err))
				continue
			}
			if m == nil {
				continue
			}
			was, ok := newest[r.source]
			switch {
			case !ok:
				newest[r.source] = found{m.Time, len(all)}
				all = append(all, latchedMessage{r, m.Frame})
			case !m.Time.Before(was.time):
				newest[r.source] = found{m.Time, was.index}
				all[was.index] = latchedMessage{r, m.Frame}
			}
		}
	}
	return all
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
