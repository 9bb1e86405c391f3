package recorder

import (
	"encoding/binary"
	"slices"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// latched is the latest message of a latching publisher, to be repeated at the
// start of each file. It is guarded by intake.mu, but for frame while it is
// pinned: then it does not change.
type latched struct {
	frame   []byte
	chunk   *heldChunk // in place of frame: it is the last message of its connection in there
	pins    int        // writers that are about to read frame
	counted int64      // bytes that the pool counts for it; zero when let go
	gone    bool       // let go while pinned
}

// latchedStore bounds the memory of all latched messages.
type latchedStore struct {
	off    bool
	held   int64 // bytes counted in the pool
	warned bool
}

// pinned is a latched message on its way into a file.
type pinned struct {
	*connection
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
func (m *buffer) latchedWeight(n int) int64 { return 2 * m.pool.weight(n) }

// rememberLatched keeps a copy of the latest message of c. mu is held.
func (m *buffer) rememberLatched(c *connection, frame []byte) {
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
// repeated until a later message of it finds room. mu is held.
func (m *buffer) reserve(n int64, c *connection) bool {
	if (m.latchedFits(n) || m.yieldStart(n)) && m.pool.makeRoom(n) {
		m.pool.held += n
		m.latched.held += n
		return true
	}
	m.warnLatched("no memory to repeat a latched message in the next file: -b is too small", zap.String("topic", c.topic.name))
	return false
}

// latchedFits reports whether latched messages may have n bytes more. mu is held.
func (m *buffer) latchedFits(n int64) bool {
	return m.pool.budget < 0 || m.latched.held+n <= min((m.pool.budget-m.sharedChunk())/2, m.leftByLarge())
}

// warnLatched says once why latched messages are not repeated. mu is held.
func (m *buffer) warnLatched(text string, fields ...zap.Field) {
	if !m.latched.warned {
		m.latched.warned = true
		m.log.Warn(text, fields...)
	}
}

// forgetLatched lets the remembered message of c go. mu is held.
func (m *buffer) forgetLatched(c *connection) {
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

func (m *buffer) releaseLatched(l *latched) {
	m.pool.held -= l.counted
	m.latched.held -= l.counted
	if l.chunk != nil {
		m.releaseHeld(l.chunk)
	}
	m.room.Broadcast()
}

// publisher is a node on a topic. One that has come back with another header has several
// connections.
type publisher struct {
	topic    *topic
	callerID string
}

func (c *connection) publisher() publisher { return publisher{c.topic, c.conn.Header.CallerID()} }

// pinLatched returns the latched messages of all publishers, or of those that pass
// want if it is not nil. They stay as they are until unpin. Of one publisher that has
// come back with another header only the connection with the latest message counts. mu is held.
func (in *intake) pinLatched(want func(*connection) bool) []pinned {
	var all []pinned
	newest := map[publisher]*connection{}
	for _, c := range in.connections.all {
		if !c.latching || c.last == nil || in.latched.off && !c.everyFile {
			continue
		}
		key := c.publisher()
		if other := newest[key]; other == nil || !c.latest.Before(other.latest) {
			newest[key] = c
		}
	}
	for _, c := range slices.Backward(in.connections.all) {
		if newest[c.publisher()] != c || want != nil && !want(c) {
			continue
		}
		c.written = in.rotation.Part() + 1
		all = append(all, c.pinLast())
	}
	return all
}

// pinLast returns the latched message of c, which stays as it is until unpin. mu is held.
func (c *connection) pinLast() pinned {
	c.last.pins++
	return pinned{c, c.last}
}

func (in *intake) unpin(all []pinned) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, l := range all {
		l.pins--
		if l.gone && l.pins == 0 {
			in.releaseLatched(l.latched)
		}
	}
}

// repeatedInFile accounts for latched messages that were written to the file of part.
func (in *intake) repeatedInFile(c *bagfmt.SealedChunk, usage []chunkUsage, part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.countRepeated(c, usage)
	in.rotation.Repeated(part, int64(len(c.Record)))
}

// repeatedInSnapshot accounts for latched messages that were written to a snapshot.
func (in *intake) repeatedInSnapshot(c *bagfmt.SealedChunk, usage []chunkUsage) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.countRepeated(c, usage)
}

// countRepeated counts latched messages that were repeated. mu is held.
func (in *intake) countRepeated(c *bagfmt.SealedChunk, usage []chunkUsage) {
	eachCount(c, usage, func(t *topic, n tally) { t.repeated += n.messages })
}
