package rosbag

import (
	"errors"
	"io"
)

// merge gives out the messages of several cursors by time, of equal times those of the first lane
// first. It opens the cursor of a lane when the time of the lane has come, so that of many files of a
// recording one is read, and not all.
type merge struct {
	heap []*lane // the one with the earliest message first
}

// lane is one cursor of a merge.
type lane struct {
	number int
	open   func() (Cursor, error)
	cursor Cursor   // nil before it is opened
	time   Time     // of msg; before the first message a lower bound
	msg    *Message // the next message, nil if it is still to be read
}

func newMerge(lanes []*lane) *merge {
	m := &merge{heap: lanes}
	for i := len(lanes)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m
}

// begin makes the lanes whose messages may come first load ahead. What cannot be opened is left to
// next.
func (m *merge) begin() {
	if len(m.heap) == 0 {
		return
	}
	first := m.heap[0].time
	for _, l := range m.heap {
		if l.time != first {
			continue
		}
		if l.cursor == nil {
			l.cursor, _ = l.open()
		}
		if s, ok := l.cursor.(Starter); ok {
			s.Begin()
		}
	}
}

// next returns the next message, which is valid until the next call, or what its lane could not read,
// and the number of the lane. At the end it returns io.EOF.
func (m *merge) next() (*Message, int, error) {
	for len(m.heap) > 0 {
		l := m.heap[0]
		if msg := l.msg; msg != nil {
			l.msg = nil
			return msg, l.number, nil
		}
		// The message that was returned last is no longer in use: its lane may advance.
		err := l.advance()
		switch {
		case err == nil:
			m.sink(0)
		case isEnd(err) || l.cursor == nil:
			m.remove()
			if !isEnd(err) {
				return nil, l.number, err
			}
		default:
			return nil, l.number, err
		}
	}
	return nil, -1, io.EOF
}

// alone reports whether all messages up to t come from the lane of the message that next has returned last.
func (m *merge) alone(t Time) bool {
	// the earliest of the others is one of these
	for _, l := range m.heap[min(1, len(m.heap)):min(3, len(m.heap))] {
		if !t.Before(l.time) {
			return false
		}
	}
	return true
}

// advance reads the next message of l.
func (l *lane) advance() (err error) {
	if l.cursor == nil {
		if l.cursor, err = l.open(); err != nil {
			l.cursor = nil
			return err
		}
	}
	if l.msg, err = l.cursor.Next(); err == nil {
		l.time = l.msg.Time
	}
	return err
}

// isEnd reports whether err is that of a cursor at its end. Damage may unwrap to io.EOF, too. The
// test of nil is inlined: most calls have no error.
func isEnd(err error) bool { return err != nil && endsCursor(err) }

func endsCursor(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, ErrCorrupt) }

// remove removes the first lane.
func (m *merge) remove() {
	if c := m.heap[0].cursor; c != nil {
		c.Close()
	}
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	m.sink(0)
}

// close closes the cursors.
func (m *merge) close() {
	for _, l := range m.heap {
		if l.cursor != nil {
			l.cursor.Close()
		}
	}
	m.heap = nil
}

// sink restores the order of the heap below i.
func (m *merge) sink(i int) {
	h := m.heap
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(h[first]) {
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
	if l.time != o.time {
		return l.time.Before(o.time)
	}
	return l.number < o.number
}
