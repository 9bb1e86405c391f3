package recorder

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// source is a connection as far as latched messages go: one header of one publisher on one topic.
type source struct {
	conn      *bagfmt.Connection
	bytes     int       // of the record of the connection, about
	latest    time.Time // when its last message came
	latching  bool      // its latest message begins each file
	everyFile bool      // even where those of others do not
	missed    bool      // the latest message came while nothing was recorded
	released  bool      // the recording has forgotten the connection
	last      *latched  // nil for none
}

// latched is the latest message of a latching publisher, to be repeated at the
// start of each file. While it is pinned its frame does not
// change, and may be read without the lock.
type latched struct {
	frame   []byte
	chunk   *heldChunk // in place of frame: the message is the last one of its connection in there
	pins    int        // writers that are about to read frame
	counted int64      // bytes that the pool counts for it; zero when let go
	gone    bool       // let go while pinned
}

// latchStore keeps the latest message of each latching publisher: for the files that begin later,
// and as the state where the ring of chunks for snapshots begins. The caller has the lock.
type latchStore struct {
	mem   *memory.Memory
	off   bool // files do not begin with latched messages
	start ringStart

	shortage shortage
	short    bool // a shortage was noted before
}

// shortage is what could not be kept for want of memory.
type shortage struct {
	text  string // empty for nothing
	topic string // empty for several
}

// takeShortage returns the first shortage there was, once.
func (m *latchStore) takeShortage() shortage {
	s := m.shortage
	m.shortage = shortage{}
	return s
}

// noteShortage notes why latched messages are not repeated, if it is the first reason.
func (m *latchStore) noteShortage(text, topic string) {
	if !m.short {
		m.short, m.shortage = true, shortage{text, topic}
	}
}

// pinned is a latched message on its way into a file.
type pinned struct {
	*source
	*latched
}

// lastFrame returns the last of whole frames back to back.
func lastFrame(run []byte) []byte {
	for {
		n := 4 + int(binary.LittleEndian.Uint32(run))
		if n >= len(run) {
			return run
		}
		run = run[n:]
	}
}

// latchedWeight is what a latched message counts: for itself and for its copy on
// the way to the file.
func (m *latchStore) latchedWeight(n int) int64 { return 2 * m.mem.Weight(n) }

// rememberLatched keeps a copy of the latest message of c.
func (m *latchStore) rememberLatched(c *source, frame []byte) {
	if l := c.last; l != nil && l.pins == 0 && cap(l.frame) >= len(frame) {
		l.frame = append(l.frame[:0], frame...)
		return
	}
	m.forgetLatched(c)
	weight := m.latchedWeight(len(frame))
	if !m.reserve(weight, c) {
		return
	}
	c.last = &latched{frame: append([]byte(nil), frame...), counted: weight}
}

// reserve takes n bytes of the budget for the latched message of c.
// Beyond half of what shared chunks leave of the budget, or when it is used up, c is not
// repeated until a later message of it finds room.
func (m *latchStore) reserve(n int64, c *source) bool {
	if (m.mem.LatchedFits(n) || m.yieldStart(n)) && m.mem.MakeRoom(n, memory.ForMessages) {
		m.mem.UseLatched(n)
		return true
	}
	m.noteShortage("no memory to repeat a latched message in the next file: -b is too small", c.conn.Topic)
	return false
}

// forgetLatched lets the remembered message of c go.
func (m *latchStore) forgetLatched(c *source) {
	l := c.last
	if l == nil {
		return
	}
	c.last = nil
	if l.pins > 0 {
		l.gone = true
		return
	}
	m.releaseLatched(l)
}

func (m *latchStore) releaseLatched(l *latched) {
	m.mem.UnuseLatched(l.counted)
	if l.chunk != nil {
		m.releaseHeld(l.chunk)
	}
}

// publisher is a node on a topic. One that has come back with another header has several
// connections.
type publisher struct {
	topic    string
	callerID string
}

func (c *source) publisher() publisher { return publisher{c.conn.Topic, c.conn.Header.CallerID()} }

// atFile returns the latched messages of all publishers, or of those that pass want if it is not
// nil. They stay as they are until unpin. Of one publisher that has come back with another header
// only the connection with the latest message counts.
func (m *latchStore) atFile(sources []*source, want func(*source) bool) []pinned {
	var all []pinned
	newest := map[publisher]*source{}
	for _, c := range sources {
		if !c.latching || c.last == nil || m.off && !c.everyFile {
			continue
		}
		key := c.publisher()
		if other := newest[key]; other == nil || !c.latest.Before(other.latest) {
			newest[key] = c
		}
	}
	for _, c := range slices.Backward(sources) {
		if newest[c.publisher()] != c || want != nil && !want(c) {
			continue
		}
		all = append(all, c.pinLast())
	}
	return all
}

// pinLast returns the latched message of c, which stays as it is until unpin.
func (c *source) pinLast() pinned {
	c.last.pins++
	return pinned{c, c.last}
}

// unpin lets go of messages.
func (m *latchStore) unpin(all []pinned) {
	for _, l := range all {
		l.pins--
		if l.gone && l.pins == 0 {
			m.releaseLatched(l.latched)
		}
	}
}

// forgetAll lets all latched messages go, and reports whether there were any. why says why.
func (m *latchStore) forgetAll(sources []*source, why string) bool {
	before := m.mem.Latched
	for _, c := range sources {
		m.forgetLatched(c)
		m.forgetStart(c)
	}
	if m.mem.Latched == before {
		return false
	}
	m.noteShortage(why, "")
	return true
}

// claim counts n bytes for latched messages on their way to a file, if there are so many.
func (m *latchStore) claim(n int64) bool {
	if !m.mem.MakeRoom(n, memory.ForMessages) {
		return false
	}
	m.mem.UseLatched(n)
	return true
}
