package rebag

import (
	"errors"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Part is one bag of several: where it is written, and what to do when it is
// complete.
type Part struct {
	Sink
	Size func() int64 // bytes so far, roughly
	Done func() error // after Close
}

// Cut says where a bag ends and the next one starts.
type Cut struct {
	Bytes    int64         // a part ends with the message that takes it beyond; 0: no limit
	Duration time.Duration // parts begin at multiples of it from the first message; 0: no limit
	Topic    bool          // each topic has a part of its own
	// Latched begins each part but the first with the latest message of each latching
	// publisher, at the time of the part's first message, as far as they take no more than
	// half of Bytes.
	Latched bool
}

// SplitSink writes several bags. A part is made when a message comes for it, so that
// none is empty.
type SplitSink struct {
	cut   Cut
	state latchedState // if Cut.Latched
	open  func(number int, topic string) (*Part, error)
	part  *Part // the current one
	topic map[string]*Part
	count int
	from  bagfmt.Time // start of the current part's stretch of time

	repeated uint64   // latched messages
	large    []string // topics of those that did not fit
}

// NewSplit makes a sink that calls open for each part, numbered from 0; topic is
// that of its messages if each topic has its own.
func NewSplit(cut Cut, open func(number int, topic string) (*Part, error)) *SplitSink {
	return &SplitSink{cut: cut, open: open, topic: make(map[string]*Part)}
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
		p := s.topic[m.Conn.Topic]
		if p == nil {
			var err error
			if p, err = s.next(m.Conn.Topic); err != nil {
				return nil, err
			}
			s.topic[m.Conn.Topic] = p
		}
		return p, nil
	}
	if s.part != nil && s.full(m) {
		if err := s.part.finish(); err != nil {
			return nil, err
		}
		s.part = nil
	}
	if s.part == nil {
		if s.count == 0 {
			s.from = m.Time
		}
		var err error
		if s.part, err = s.next(""); err != nil {
			return nil, err
		}
		if err := s.begin(m); err != nil {
			return nil, err
		}
	}
	return s.part, nil
}

// begin writes the latched messages, but that of the publisher whose message comes next. They
// take half a part at most: what does not fit is left out.
func (s *SplitSink) begin(next *Message) error {
	all := slices.DeleteFunc(s.state.sorted(), func(l *latched) bool {
		return publisherOf(l.conn) == publisherOf(next.Conn) && next.Conn.Header.Latching()
	})
	if s.cut.Bytes > 0 {
		var large []string
		all, large = fitting(all, s.cut.Bytes/2)
		for _, topic := range large {
			if !slices.Contains(s.large, topic) {
				s.large = append(s.large, topic)
			}
		}
	}
	for _, l := range all {
		if err := s.part.Write(&Message{Conn: l.conn, Time: next.Time, Data: l.data}); err != nil {
			return err
		}
		s.repeated++
	}
	return nil
}

func (s *SplitSink) next(topic string) (*Part, error) {
	p, err := s.open(s.count, topic)
	s.count++
	return p, err
}

// full reports whether m belongs to the next part. A message from before the current
// stretch of time, in a bag that is not in the order of time, does not.
func (s *SplitSink) full(m *Message) bool {
	if s.cut.Bytes > 0 && s.part.Size() >= s.cut.Bytes {
		return true
	}
	if s.cut.Duration <= 0 {
		return false
	}
	since := m.Time.Sub(s.from)
	if since < s.cut.Duration {
		return false
	}
	s.from = s.from.Add(since - since%s.cut.Duration)
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
	if s.part != nil {
		all = append(all, s.part.finish())
	}
	for _, p := range s.topic {
		all = append(all, p.finish())
	}
	return errors.Join(all...)
}

// Abort implements Sink. Complete parts stay.
func (s *SplitSink) Abort() {
	if s.part != nil {
		s.part.Abort()
	}
	for _, p := range s.topic {
		p.Abort()
	}
}

// Count returns the number of parts so far.
func (s *SplitSink) Count() int { return s.count }

// Repeated returns the number of latched messages that parts begin with, so far.
func (s *SplitSink) Repeated() uint64 { return s.repeated }

// NotRepeated returns the topics of latched messages that were left out because they are too
// large for a part.
func (s *SplitSink) NotRepeated() []string { return s.large }
