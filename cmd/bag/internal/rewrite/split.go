package rewrite

import (
	"errors"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// SplitFile is one of the files that a bag is split into.
type SplitFile struct {
	rosbag.Sink
	Size func() int64 // bytes so far, roughly
	Done func() error // called after Close
}

// SplitRule says where a file ends and the next one starts.
type SplitRule struct {
	Bytes    int64         // a file ends with the message that makes it larger than this; 0: no limit
	Duration time.Duration // files begin at multiples of this, counted from the first message; 0: no limit
	Topic    bool          // each topic has a file of its own
	// Latched begins each file but the first with the latest message of each latching
	// publisher, at the time of the first message of the file. Latched messages that would
	// take more than half of Bytes are left out.
	Latched bool
}

// SplitSink writes several bags. It opens each file when the first message of the file is written,
// so that no file is empty.
type SplitSink struct {
	cut           SplitRule
	state         latchedState // if SplitRule.Latched
	open          func(number int, byTopic string) (*SplitFile, error)
	current       *SplitFile // the file that messages go into, unless SplitRule.Topic; nil between two files
	byTopic       map[string]*SplitFile
	count         int
	intervalStart rosbag.Time // start of the current interval of SplitRule.Duration

	repeated uint64   // latched messages
	leftOut  []string // topics of latched messages that did not fit
}

// NewSplit returns a sink that calls open for each file, numbered from 0. topic is empty
// unless each topic has a file of its own.
func NewSplit(cut SplitRule, open func(number int, topic string) (*SplitFile, error)) *SplitSink {
	return &SplitSink{cut: cut, open: open, byTopic: make(map[string]*SplitFile)}
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
	f, err := s.fileFor(c, t)
	if err != nil {
		return err
	}
	if s.cut.Latched {
		s.state.note(c, t, data)
	}
	return write(f.Sink, c, t, data, repeated)
}

// CopyChunk implements chunkSink. The messages of a chunk that is copied go into one file, and into none
// after it.
func (s *SplitSink) CopyChunk(c rosbag.Chunk, as func(*rosbag.Connection) *rosbag.Connection) (bool, error) {
	counts, payload := c.Counts()
	first := as(counts[0].Conn)
	size := int64(payload)
	for _, n := range counts {
		if s.cut.Latched && n.Conn.Header.Latching() || s.cut.Topic && as(n.Conn).Topic != first.Topic {
			return false, nil
		}
		size += int64(n.Count) * messageOverhead
	}
	if !s.cut.Topic && !s.sameFile(c.Start(), c.End(), size) {
		return false, nil
	}
	f, err := s.fileFor(first, c.Start())
	if err != nil {
		return false, err
	}
	to, ok := f.Sink.(chunkSink)
	if !ok {
		return false, nil
	}
	return to.CopyChunk(c, as)
}

// sameFile reports whether messages from start to end, which take at most size bytes, go into one file.
func (s *SplitSink) sameFile(start, end rosbag.Time, size int64) bool {
	if s.cut.Bytes > 0 && (s.current == nil || s.current.Size()+size >= s.cut.Bytes) {
		return false
	}
	if s.cut.Duration <= 0 {
		return true
	}
	from := start
	if s.current != nil {
		from = s.intervalOf(start)
	}
	return end.Sub(from) < s.cut.Duration
}

// intervalOf returns the start of the interval of SplitRule.Duration that a time is in: the current one if
// the time is earlier.
func (s *SplitSink) intervalOf(t rosbag.Time) rosbag.Time {
	since := t.Sub(s.intervalStart)
	if since < s.cut.Duration {
		return s.intervalStart
	}
	return s.intervalStart.Add(since - since%s.cut.Duration)
}

// fileFor returns the file for a message.
func (s *SplitSink) fileFor(c *rosbag.Connection, t rosbag.Time) (*SplitFile, error) {
	if s.cut.Topic {
		f := s.byTopic[c.Topic]
		if f == nil {
			var err error
			if f, err = s.openFile(c.Topic); err != nil {
				return nil, err
			}
			s.byTopic[c.Topic] = f
		}
		return f, nil
	}
	if s.current != nil && s.startsNextFile(t) {
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
		if s.current, err = s.openFile(""); err != nil {
			return nil, err
		}
		if err := s.writeLatched(c, t); err != nil {
			return nil, err
		}
	}
	return s.current, nil
}

// writeLatched writes the latched messages at the time of the next message, except that of its
// publisher. They take at most half of SplitRule.Bytes; others are left out.
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

func (s *SplitSink) openFile(topic string) (*SplitFile, error) {
	f, err := s.open(s.count, topic)
	s.count++
	return f, err
}

// startsNextFile reports whether a message of that time belongs to the next file. A message that is
// earlier than the current interval, in a bag that is not in time order, does not.
func (s *SplitSink) startsNextFile(t rosbag.Time) bool {
	if s.cut.Bytes > 0 && s.current.Size() >= s.cut.Bytes {
		return true
	}
	if s.cut.Duration <= 0 {
		return false
	}
	start := s.intervalOf(t)
	if start == s.intervalStart {
		return false
	}
	s.intervalStart = start
	return true
}

func (f *SplitFile) finish() error {
	if err := f.Close(); err != nil {
		return err
	}
	return f.Done()
}

// Close implements rosbag.Sink.
func (s *SplitSink) Close() error {
	var all []error
	if s.current != nil {
		all = append(all, s.current.finish())
	}
	for _, f := range s.byTopic {
		all = append(all, f.finish())
	}
	return errors.Join(all...)
}

// Abort implements rosbag.Sink. Complete files are kept.
func (s *SplitSink) Abort() {
	if s.current != nil {
		s.current.Abort()
	}
	for _, f := range s.byTopic {
		f.Abort()
	}
}

// Count returns the number of files so far.
func (s *SplitSink) Count() int { return s.count }

// Repeated returns the number of latched messages that were repeated at the start of files.
func (s *SplitSink) Repeated() uint64 { return s.repeated }

// NotRepeated returns the topics of latched messages that were left out because they are too
// large for a file.
func (s *SplitSink) NotRepeated() []string { return s.leftOut }
