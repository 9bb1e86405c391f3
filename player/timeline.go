package player

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// timeline merges the selected messages of all bags by time. Messages with the
// same stamp come in the order of the bags, and within a bag in that of the file.
type timeline struct {
	plan    *plan
	heap    []*lane
	damaged func(*DamageError)
}

// lane is one bag of a timeline. Its cursor is opened when the merge gets there:
// a bag split in a hundred files must not load a hundred chunks at the start.
type lane struct {
	index  int
	bag    *bagPlan
	cursor *bagfmt.Cursor
	time   bagfmt.Time // of msg; before the cursor is opened a lower bound
	msg    *bagfmt.Message
}

func newTimeline(p *plan, damaged func(*DamageError)) *timeline {
	t := &timeline{plan: p, damaged: damaged}
	for i, b := range p.bags {
		if len(b.routes) == 0 {
			continue
		}
		l := &lane{index: i, bag: b, time: b.reader.Start()}
		if l.time.Before(p.start) {
			l.time = p.start
		}
		t.heap = append(t.heap, l)
	}
	for i := len(t.heap)/2 - 1; i >= 0; i-- {
		t.sink(i)
	}
	return t
}

// next returns the next message and its route, or nil at the end. Both are valid
// until the following call; the frame stays valid.
func (t *timeline) next() (*bagfmt.Message, *route) {
	for len(t.heap) > 0 {
		l := t.heap[0]
		if l.msg != nil {
			m, r := l.msg, l.bag.routes[l.msg.Conn]
			l.msg = nil
			return m, r
		}
		// The message given out last is no longer in use: now the lane may advance.
		if !t.advance(l) {
			t.heap[0] = t.heap[len(t.heap)-1]
			t.heap = t.heap[:len(t.heap)-1]
		}
		t.sink(0)
	}
	return nil, nil
}

// advance loads the lane's next message and reports whether there is one. Play
// goes on behind damage: the cursor reports each fault once.
func (t *timeline) advance(l *lane) bool {
	if l.cursor == nil {
		l.cursor = l.bag.reader.Cursor(bagfmt.Query{
			Keep:  func(c *bagfmt.Connection) bool { return l.bag.routes[c] != nil },
			Start: t.plan.start,
			End:   t.plan.end,
		})
	}
	for {
		m, err := l.cursor.Next()
		switch {
		case err == nil:
			l.msg, l.time = m, m.Time
			return true
		case errors.Is(err, io.EOF):
			return false
		}
		t.damaged(l.bag.damage(err))
	}
}

// sink restores the heap order below i.
func (t *timeline) sink(i int) {
	h := t.heap
	for {
		first := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(h) && h[child].before(h[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}

func (l *lane) before(o *lane) bool {
	if c := l.time.Compare(o.time); c != 0 {
		return c < 0
	}
	return l.index < o.index
}
