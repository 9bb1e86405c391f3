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
	key := publisherOf(c)
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
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.conn.ID, b.conn.ID), cmp.Compare(a.conn.Topic, b.conn.Topic),
			cmp.Compare(a.conn.Header.CallerID(), b.conn.Header.CallerID()))
	})
	return all
}

// frame returns the message as bags and TCPROS have it.
func (l *latched) frame() []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(l.data))), l.data...)
}

// fitting returns what of all takes at most limit bytes, small messages first, and the topics of
// the others.
func fitting(all []*latched, limit int64) (fit []*latched, others []string) {
	bySize := slices.SortedStableFunc(slices.Values(all), func(a, b *latched) int { return cmp.Compare(len(a.data), len(b.data)) })
	large := make(map[*latched]bool)
	for _, l := range bySize {
		if limit -= int64(len(l.data)); limit < 0 {
			large[l] = true
			others = append(others, l.conn.Topic)
		}
	}
	return slices.DeleteFunc(all, func(l *latched) bool { return large[l] }), others
}

// publisherOf returns who has sent the messages of a connection.
func publisherOf(c *bagfmt.Connection) publisher { return publisher{c.Topic, c.Header.CallerID()} }

// upTo adds what the inputs that have an index know of the time up to Options.Start. Those that
// are read from front to back add theirs as they are read.
func (m *merge) upTo(inputs []Input) error {
	s, o := &m.latched, m.o
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
		for i, last := range in.Reader.LastOfEach(ids, o.Start) {
			if last.Err != nil {
				if err := m.damaged(in.Name, last.Err); err != nil {
					return err
				}
			}
			if found := last.Message; found != nil {
				s.note(conns[i], found.Time, found.Data())
			}
		}
	}
	return nil
}
