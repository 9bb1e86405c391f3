package player

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// timeline merges the selected messages of all bags by time. Messages with the
// same stamp come in the order of the bags, and within a bag in that of the file.
type timeline struct {
	plan    *plan
	start   bagfmt.Time
	heap    []*lane
	damaged func(*DamageError)

	cancel   <-chan struct{} // ends the timeline early
	canceled bool
}

// lane is one bag of a timeline. Its cursor is opened when the merge reaches the bag: a
// recording split into a hundred bags must not load a hundred chunks at the start.
type lane struct {
	index  int
	bag    *bagPlan
	cursor rosbag.Cursor
	time   bagfmt.Time // of msg; a lower bound before the cursor is opened
	msg    *bagfmt.Message
}

// aheadWorkers returns how many chunks of a bag are decompressed ahead at the same time. At
// the recorded rate one is enough, and decompressing bz2 on two cores makes messages late.
func aheadWorkers(o *Options) int {
	if o.Immediate || o.Rate > 1 {
		return 2
	}
	return 1
}

// newTimeline begins at from, or at the start of the window if that is later.
func newTimeline(p *plan, from bagfmt.Time, cancel <-chan struct{}, damaged func(*DamageError)) *timeline {
	t := &timeline{plan: p, start: p.start, cancel: cancel, damaged: damaged}
	if t.start.Before(from) {
		t.start = from
	}
	for i, b := range p.bags {
		if len(b.routes) == 0 || b.reader.End().Before(t.start) {
			continue
		}
		l := &lane{index: i, bag: b, time: b.reader.Start()}
		if l.time.Before(t.start) {
			l.time = t.start
		}
		t.heap = append(t.heap, l)
	}
	for i := len(t.heap)/2 - 1; i >= 0; i-- {
		t.sink(i)
	}
	return t
}

// begin starts decompressing the first chunks on other cores.
func (t *timeline) begin() {
	for _, l := range t.heap {
		if l.time == t.start {
			t.open(l)
			if c, ok := l.cursor.(rosbag.Starter); ok {
				c.Begin()
			}
		}
	}
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
		// The message returned last is no longer in use: now the lane may advance.
		if !t.advance(l) {
			if t.canceled {
				return nil, nil // leave the cursor to close: closing may block
			}
			l.cursor.Close()
			t.heap[0] = t.heap[len(t.heap)-1]
			t.heap = t.heap[:len(t.heap)-1]
		}
		t.sink(0)
	}
	return nil, nil
}

// advance loads the lane's next message and reports whether there is one. It skips damage,
// which the cursor reports once for each place.
func (t *timeline) advance(l *lane) bool {
	t.open(l)
	for {
		m, err := l.cursor.Next()
		switch {
		case err == nil:
			l.msg, l.time = m, m.Time
			return true
		case errors.Is(err, io.EOF):
			return false
		case errors.Is(err, bagfmt.ErrCanceled):
			t.canceled = true
			return false
		}
		t.damaged(l.bag.damage(err))
	}
}

// open gives the lane its cursor.
func (t *timeline) open(l *lane) {
	if l.cursor == nil {
		l.cursor = l.bag.reader.Cursor(bagfmt.Query{
			Keep:    func(c *bagfmt.Connection) bool { return l.bag.routes[c] != nil },
			Start:   t.start,
			End:     t.plan.end,
			Workers: t.plan.workers,
			Cancel:  t.cancel,
		})
	}
}

// close closes the cursors and their read-ahead.
func (t *timeline) close() {
	for _, l := range t.heap {
		if l.cursor != nil {
			l.cursor.Close()
		}
	}
	t.heap = nil
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
