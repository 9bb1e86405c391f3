package rewrite

import (
	"crypto/sha256"

	"github.com/gorosbag/gorosbag/rosbag"
)

// sentLatched knows which messages of latching publishers are in the output of several inputs. So Copy
// can tell which repeated messages of an input come from another input, too. It keeps a checksum of the
// latest messages.
type sentLatched struct {
	of map[publisher]*sent
}

// sent is the latest message of a publisher.
type sent struct {
	sum   messageSum
	from  int        // the input that the latest message came from
	other messageSum // the latest message of any other input
}

// messageSum identifies a message among those of a publisher.
type messageSum [sha256.Size]byte

func sumOf(m *rosbag.Message) (sum messageSum) {
	h := sha256.New()
	_, _ = h.Write(m.Frame) // a frame begins with its length; a hash never fails
	_, _ = h.Write([]byte(m.Conn.Header.MD5Sum()))
	h.Sum(sum[:0])
	return sum
}

// has reports whether the output has m, a repeated message of an input: as the latest message of its
// publisher, or as the latest message of other inputs, because a new message may have come while the
// input began.
func (s *sentLatched) has(m *rosbag.Message, input int) bool {
	l := s.of[publisherOf(m.Conn)]
	if l == nil {
		return false
	}
	sum := sumOf(m)
	return l.sum == sum || l.from == input && l.other == sum
}

// note notes a message of an input that goes into the output.
func (s *sentLatched) note(m *rosbag.Message, input int) {
	if !m.Conn.Header.Latching() {
		return
	}
	key := publisherOf(m.Conn)
	l := s.of[key]
	if l == nil {
		l = &sent{from: input}
		s.of[key] = l
	}
	if l.from != input {
		l.other = l.sum
	}
	l.sum, l.from = sumOf(m), input
}

// newSentLatched returns nil if no repeated message of an input can be in another one.
func newSentLatched(inputs []Input) *sentLatched {
	if len(inputs) < 2 {
		return nil
	}
	for _, in := range inputs {
		if in.repeated().Count > 0 {
			return &sentLatched{of: make(map[publisher]*sent)}
		}
	}
	return nil
}

// repeated returns what a bag says about its repeated messages.
func (in *Input) repeated() rosbag.Repeated {
	if in.Source != nil {
		return in.Source.Info().Repeated
	}
	return in.Scanner.Repeated()
}

// repeatedOut determines what an output records about its repeated messages. These have one time, and
// come before all other messages of that time; a repeated message for which this does not hold is an
// ordinary one in the output.
type repeatedOut struct {
	rosbag.Repeated
	begun  bool        // there are ordinary messages
	newest rosbag.Time // latest time of the ordinary messages
}

// ordinary notes a message that repeats nothing.
func (r *repeatedOut) ordinary(t rosbag.Time) {
	if !r.begun || r.newest.Before(t) {
		r.newest = t
	}
	r.begun = true
}

// add notes a message that repeats another. It reports whether what the output records has changed.
func (r *repeatedOut) add(t rosbag.Time) bool {
	if r.begun && !r.newest.Before(t) || r.Count > 0 && r.Time != t {
		r.ordinary(t)
		return false
	}
	r.Count++
	r.Time = t
	return true
}
