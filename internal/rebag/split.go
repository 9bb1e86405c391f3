package rebag

import (
	"errors"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Part is one output bag of a split.
type Part struct {
	rosbag.Sink
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

// Write implements rosbag.Sink.
func (s *SplitSink) Write(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	return s.write(c, t, data, false)
}

// WriteRepeated writes a message that repeats what was latched before.
func (s *SplitSink) WriteRepeated(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	return s.write(c, t, data, true)
}

func (s *SplitSink) write(c *rosbag.Connection, t rosbag.Time, data []byte, repeated bool) error {
	p, err := s.partFor(c, t)
	if err != nil {
		return err
	}
	if s.cut.Latched {
		s.state.note(c, t, data)
	}
	return write(p.Sink, c, t, data, repeated)
}

// partFor returns the part for a message.
func (s *SplitSink) partFor(c *rosbag.Connection, t rosbag.Time) (*Part, error) {
	if s.cut.Topic {
		p := s.byTopic[c.Topic]
		if p == nil {
			var err error
			if p, err = s.openPart(c.Topic); err != nil {
				return nil, err
			}
			s.byTopic[c.Topic] = p
		}
		return p, nil
	}
	if s.current != nil && s.startsNextPart(t) {
		if err := s.current.finish(); err != nil {
			return nil, err
		}
		s.current = nil
	}
	if s.current == nil {
		if s.count == 0 {
			s.intervalStart = t
		}
		var err error
		if s.current, err = s.openPart(""); err != nil {
			return nil, err
		}
		if err := s.writeLatched(c, t); err != nil {
			return nil, err
		}
	}
	return s.current, nil
}

// writeLatched writes the latched messages at the time of the next message, except that of its
// publisher. They take half a part at most; others are left out.
func (s *SplitSink) writeLatched(next *rosbag.Connection, t rosbag.Time) error {
	all := slices.DeleteFunc(s.state.sorted(), func(l *latched) bool {
		return publisherOf(l.conn) == publisherOf(next) && next.Header.Latching()
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
		if err := write(s.current.Sink, l.conn, t, l.data, true); err != nil {
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

// startsNextPart reports whether a message of that time belongs to the next part. A message from
// before the current interval, in a bag that is not in time order, does not.
func (s *SplitSink) startsNextPart(t rosbag.Time) bool {
	if s.cut.Bytes > 0 && s.current.Size() >= s.cut.Bytes {
		return true
	}
	if s.cut.Duration <= 0 {
		return false
	}
	since := t.Sub(s.intervalStart)
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

// Close implements rosbag.Sink.
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

// Abort implements rosbag.Sink. Complete parts are kept.
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
