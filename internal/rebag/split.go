package rebag

import (
	"errors"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Part is one output bag of a split.
type Part struct {
	Sink
	Size func() int64 // bytes so far, roughly
	Done func() error // after Close
}

// SplitRule says where a part ends and the next one starts.
type SplitRule struct {
	Bytes    int64         // a part ends with the message that takes it beyond; 0: no limit
	Duration time.Duration // parts begin at multiples of it from the first message; 0: no limit
	Topic    bool          // each topic has a part of its own
	// Latched begins each part but the first with the latest message of each latching
	// publisher, at the time of the part's first message, as far as they take no more than
	// half of Bytes.
	Latched bool
}

// SplitSink writes several bags. A part is created for its first message, so that none is
// empty.
type SplitSink struct {
	cut           SplitRule
	state         latchedState // if SplitRule.Latched
	open          func(number int, byTopic string) (*Part, error)
	current       *Part // the current one
	byTopic       map[string]*Part
	count         int
	intervalStart rosbag.Time // start of the current interval of SplitRule.Duration

	repeated uint64   // latched messages
	leftOut  []string // topics of latched messages that did not fit
}

// NewSplit returns a sink that calls open for each part, numbered from 0. topic is empty
// unless each topic has its own part.
func NewSplit(cut SplitRule, open func(number int, topic string) (*Part, error)) *SplitSink {
	return &SplitSink{cut: cut, open: open, byTopic: make(map[string]*Part)}
}

// Write implements Sink.
func (s *SplitSink) Write(m *Message) error {
	p, err := s.partFor(m)
	if err != nil {
		return err
	}
	if s.cut.Latched {
		s.state.note(m.Conn, m.Time, m.Data)
	}
	return p.Write(m)
}

func (s *SplitSink) partFor(m *Message) (*Part, error) {
	if s.cut.Topic {
		p := s.byTopic[m.Conn.Topic]
		if p == nil {
			var err error
			if p, err = s.openPart(m.Conn.Topic); err != nil {
				return nil, err
			}
			s.byTopic[m.Conn.Topic] = p
		}
		return p, nil
	}
	if s.current != nil && s.startsNextPart(m) {
		if err := s.current.finish(); err != nil {
			return nil, err
		}
		s.current = nil
	}
	if s.current == nil {
		if s.count == 0 {
			s.intervalStart = m.Time
		}
		var err error
		if s.current, err = s.openPart(""); err != nil {
			return nil, err
		}
		if err := s.writeLatched(m); err != nil {
			return nil, err
		}
	}
	return s.current, nil
}

// writeLatched writes the latched messages, except that of the publisher of the next message. They
// take half a part at most; others are left out.
func (s *SplitSink) writeLatched(next *Message) error {
	all := slices.DeleteFunc(s.state.sorted(), func(l *latched) bool {
		return publisherOf(l.conn) == publisherOf(next.Conn) && next.Conn.Header.Latching()
	})
	if s.cut.Bytes > 0 {
		var large []string
		all, large = fitting(all, s.cut.Bytes/2)
		for _, topic := range large {
			if !slices.Contains(s.leftOut, topic) {
				s.leftOut = append(s.leftOut, topic)
			}
		}
	}
	for _, l := range all {
		if err := s.current.Write(&Message{Conn: l.conn, Time: next.Time, Data: l.data, Repeated: true}); err != nil {
			return err
		}
		s.repeated++
	}
	return nil
}

func (s *SplitSink) openPart(topic string) (*Part, error) {
	p, err := s.open(s.count, topic)
	s.count++
	return p, err
}

// startsNextPart reports whether m belongs to the next part. A message from before the current
// interval, in a bag that is not in time order, does not.
func (s *SplitSink) startsNextPart(m *Message) bool {
	if s.cut.Bytes > 0 && s.current.Size() >= s.cut.Bytes {
		return true
	}
	if s.cut.Duration <= 0 {
		return false
	}
	since := m.Time.Sub(s.intervalStart)
	if since < s.cut.Duration {
		return false
	}
	s.intervalStart = s.intervalStart.Add(since - since%s.cut.Duration)
	return true
}

func (p *Part) finish() error {
	if err := p.Close(); err != nil {
		return err
	}
	return p.Done()
}

// Close implements Sink.
func (s *SplitSink) Close() error {
	var all []error
	if s.current != nil {
		all = append(all, s.current.finish())
	}
	for _, p := range s.byTopic {
		all = append(all, p.finish())
	}
	return errors.Join(all...)
}

// Abort implements Sink. Complete parts are kept.
func (s *SplitSink) Abort() {
	if s.current != nil {
		s.current.Abort()
	}
	for _, p := range s.byTopic {
		p.Abort()
	}
}

// Count returns the number of parts so far.
func (s *SplitSink) Count() int { return s.count }

// Repeated returns the number of latched messages that were repeated at the start of parts.
func (s *SplitSink) Repeated() uint64 { return s.repeated }

// NotRepeated returns the topics of latched messages that were left out because they are too
// large for a part.
func (s *SplitSink) NotRepeated() []string { return s.leftOut }
