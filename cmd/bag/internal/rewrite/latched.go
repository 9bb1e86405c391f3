package rewrite

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// latchedState holds the latest message of each latching publisher: what a subscriber that comes at this
// moment receives. A node that reconnects, or continues in the next bag, is the same publisher.
// latchedState keeps one copy of each message.
type latchedState struct {
	of map[publisher]*latched
}

// publisher is a node that publishes a topic.
type publisher struct{ topic, callerID string }

// latched is the latest message of a publisher.
type latched struct {
	conn *rosbag.Connection
	time rosbag.Time
	data []byte
}

// note records a message of a latching connection, and ignores others. Where messages do not come in time
// order, the one with the latest time counts.
func (s *latchedState) note(c *rosbag.Connection, t rosbag.Time, data []byte) {
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
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.conn.ID, b.conn.ID),
			cmp.Compare(a.conn.Topic, b.conn.Topic),
			cmp.Compare(a.conn.Header.CallerID(), b.conn.Header.CallerID()))
	})
	return all
}

// frame returns the message as bags and TCPROS have it.
func (l *latched) frame() []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(l.data))), l.data...)
}

// fitting returns those of all messages that take at most limit bytes together, small messages first, and
// the topics of the others.
func fitting(all []*latched, limit int64) (fit []*latched, others []string) {
	bySize := slices.SortedStableFunc(slices.Values(all),
		func(a, b *latched) int { return cmp.Compare(len(a.data), len(b.data)) })
	large := make(map[*latched]bool)
	for _, l := range bySize {
		if limit -= int64(len(l.data)); limit < 0 {
			large[l] = true
			others = append(others, l.conn.Topic)
		}
	}
	return slices.DeleteFunc(all, func(l *latched) bool { return large[l] }), others
}

// publisherOf returns the publisher that has sent the messages of a connection.
func publisherOf(c *rosbag.Connection) publisher { return publisher{c.Topic, c.Header.CallerID()} }

// cutStart finds the messages that are latched at Options.Start, if Options.Latched is set. It needs all
// inputs, so it is complete when the first message of the output is known.
type cutStart struct {
	o *Options
	// the output has begun, or Options.Latched is not set: nothing is collected
	begun bool
	// of the inputs, as far as it is known
	end rosbag.Time
	// latched messages of inputs that are read from front to back
	state latchedState
	// damage that was reported, by input and error: a search for latched messages may meet damage before
	// the copy does
	told map[string]bool
}

// saw notes that an input has a message of this time.
func (s *cutStart) saw(t rosbag.Time) {
	if s.end.Before(t) {
		s.end = t
	}
}

// passed notes a message from before the start.
func (s *cutStart) passed(m *rosbag.Message) {
	if !s.begun {
		s.state.note(m.Conn, m.Time, m.Data())
	}
}

// firstTold reports whether damage was not reported before.
func (s *cutStart) firstTold(input string, err error) bool {
	key := input + "\n" + err.Error()
	if s.told[key] {
		return false
	}
	if !s.begun {
		if s.told == nil {
			s.told = make(map[string]bool)
		}
		s.told[key] = true
	}
	return true
}

// begin returns the latched messages that the output begins with; none if no input reaches the start.
// first is the first message of the inputs, nil if there is none: once it has been read, inputs without
// an index are at the start.
func (s *cutStart) begin(inputs []Input, first *rosbag.Message,
	damaged func(input string, err error) error,
) ([]*latched, error) {
	defer func() { s.begun, s.state = true, latchedState{} }()
	if s.begun || s.o.Start.IsZero() || s.end.Before(s.o.Start) {
		return nil, nil
	}
	for _, in := range inputs {
		if in.Source == nil {
			continue
		}
		for c, last := range rosbag.Latched(in.Source, s.o.Start, s.o.Keep) {
			if last.Err != nil {
				if err := damaged(in.Name, last.Err); err != nil {
					return nil, err
				}
			}
			if found := last.Message; found != nil {
				s.state.note(c, found.Time, found.Data())
			}
		}
	}
	if first != nil && first.Time == s.o.Start {
		s.state.note(first.Conn, first.Time, first.Data())
	}
	// the copy writes a message of this time itself
	return slices.DeleteFunc(s.state.sorted(), func(l *latched) bool { return l.time == s.o.Start }), nil
}
