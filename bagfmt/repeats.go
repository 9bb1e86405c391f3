package bagfmt

import "github.com/gorosbag/gorosbag/rosbag"

// Repeated returns what the bag says about its repeated messages, but no more of them than
// there are messages.
func (r *Reader) Repeated() rosbag.Repeated { return r.t.Repeated }

// Repeated returns what the bag says about its repeated messages.
func (s *Scanner) Repeated() rosbag.Repeated { return s.repeated }

// Repeats tells the repeated messages of a bag from others, in one pass over it. nil tells that
// there are none.
type Repeats struct {
	time rosbag.Time
	left uint32                        // repeated messages to come
	of   map[*rosbag.Connection]uint32 // of each connection; nil: of any
}

// Repeats finds the repeated messages, for a pass over any selection of the messages that is in
// time order. It reads the chunks that hold them, and leaves it to the pass to report what
// cannot be read.
func (r *Reader) Repeats() *Repeats {
	x := newRepeats(r.t.Repeated)
	if x == nil {
		return nil
	}
	of := make(map[*rosbag.Connection]uint32)
	latching := func(c *rosbag.Connection) bool { return c.Header.Latching() }
	for m, err := range r.All(rosbag.Query{Keep: latching, Start: x.time, End: x.time}) {
		if err != nil {
			continue
		}
		if x.Is(m) {
			of[m.Conn]++
		}
		if x.left == 0 || x.time.Before(m.Time) { // a zero Time does not bound a Query
			break
		}
	}
	x.of, x.left = of, 0
	for _, n := range of {
		x.left += n
	}
	return x
}

// Repeats is for a pass over all messages of the Scanner.
func (s *Scanner) Repeats() *Repeats { return newRepeats(s.repeated) }

func newRepeats(r rosbag.Repeated) *Repeats {
	if r.Count == 0 {
		return nil
	}
	return &Repeats{time: r.Time, left: r.Count}
}

// Is reports whether m, the next message of the pass, is a repeated one.
func (x *Repeats) Is(m *rosbag.Message) bool {
	if x == nil || x.left == 0 || m.Time != x.time || !m.Conn.Header.Latching() {
		return false
	}
	if x.of != nil {
		if x.of[m.Conn] == 0 {
			return false
		}
		x.of[m.Conn]--
	}
	x.left--
	return true
}
