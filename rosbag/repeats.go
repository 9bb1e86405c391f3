package rosbag

// Repeats distinguishes the repeated messages of a recording from others, in one pass over it. A nil
// *Repeats finds none.
type Repeats struct {
	time Time
	left uint32                 // repeated messages to come
	of   map[*Connection]uint32 // of each connection; nil: of any
}

// FindRepeats finds the repeated messages of s, for a pass over any selection of its messages that is
// in time order. It reads the chunks that hold them, and leaves it to the pass to report what
// cannot be read.
func FindRepeats(s Source) *Repeats {
	x := s.Info().Repeated.Pass()
	if x == nil {
		return nil
	}
	of := make(map[*Connection]uint32)
	latching := func(c *Connection) bool { return c.Header.Latching() }
	for m, err := range Messages(s, Query{Keep: latching, Start: x.time, End: x.time}) {
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

// Pass returns what distinguishes the repeated messages in a pass over all messages of the recording, in the
// order of the file; nil if there are none.
func (r Repeated) Pass() *Repeats {
	if r.Count == 0 {
		return nil
	}
	return &Repeats{time: r.Time, left: r.Count}
}

// Is reports whether m, the next message of the pass, is a repeated one.
func (x *Repeats) Is(m *Message) bool {
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
