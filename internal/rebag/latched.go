package rebag

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// latchedState is the latest message of each latching publisher: what a subscriber gets that
// comes at this moment. A node that reconnects, or continues in the next bag, is the same
// publisher. It keeps one copy for each.
type latchedState struct {
	of map[publisher]*latched
}

// publisher is a node that publishes a topic.
type publisher struct{ topic, callerID string }

// latched is the latest message of a publisher.
type latched struct {
	conn *bagfmt.Connection
	time bagfmt.Time
	data []byte
}

// note records a message of a latching connection, and ignores others. Of messages that do not
// come in the order of time the latest counts.
func (s *latchedState) note(c *bagfmt.Connection, t bagfmt.Time, data []byte) {
	if !c.Header.Latching() {
		return
	}
	key := publisher{c.Topic, c.Header.CallerID()}
	l := s.of[key]
	switch {
	case l == nil:
		if s.of == nil {
			s.of = make(map[publisher]*latched)
		}
		l = &latched{}
		s.of[key] = l
	case t.Before(l.time):
		return
	}
	l.conn, l.time, l.data = c, t, append(l.data[:0], data...)
}

// sorted returns the messages by time, oldest first, so that the newest of several publishers
// of a topic comes last, as it did in the recording.
func (s *latchedState) sorted() []*latched {
	all := make([]*latched, 0, len(s.of))
	for _, l := range s.of {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *latched) int {
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.conn.ID, b.conn.ID), cmp.Compare(a.conn.Topic, b.conn.Topic))
	})
	return all
}

// frame returns the message as bags and TCPROS have it.
func (l *latched) frame() []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(l.data))), l.data...)
}

// size returns the bytes of all messages.
func (s *latchedState) size() (n int64) {
	for _, l := range s.of {
		n += int64(len(l.data))
	}
	return n
}

// before adds what the inputs that have an index know of the time before o.Start. Those that
// are read from front to back add theirs as they are read.
func (s *latchedState) before(inputs []Input, o *Options) error {
	for _, in := range inputs {
		if in.Reader == nil {
			continue
		}
		var conns []*bagfmt.Connection
		var ids []bagfmt.ConnID
		for _, c := range in.Reader.Connections() {
			if c.Header.Latching() && (o.Keep == nil || o.Keep(c)) {
				conns, ids = append(conns, c), append(ids, c.ID)
			}
		}
		for i, last := range in.Reader.LastOfEach(ids, o.Start.Add(-1)) {
			if err := last.Err; err != nil {
				if o.Damaged != nil {
					err = o.Damaged(in.Name, err)
				}
				if err != nil {
					return err
				}
			}
			if m := last.Message; m != nil {
				s.note(conns[i], m.Time, m.Data())
			}
		}
	}
	return nil
}
