package recorder

import (
	"encoding/binary"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// latched is the latest message of a latching publisher, to be repeated at the
// start of each file. It is guarded by pipeline.mu, but for frame while it is
// pinned: then nobody changes it.
type latched struct {
	frame   []byte
	pins    int   // writers that are about to read frame
	counted int64 // bytes that the pool counts for it; zero when let go
	gone    bool  // let go while pinned
}

// latchedStore bounds the memory of all latched messages.
type latchedStore struct {
	off    bool
	held   int64 // bytes counted in the pool
	warned bool
}

// pinned is a latched message on its way into a file.
type pinned struct {
	conn *bagfmt.Connection
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
func (p *pipeline) latchedWeight(n int) int64 { return 2 * p.pool.weight(n) }

// remember keeps a copy of the latest message of c. mu is held.
func (p *pipeline) remember(c *connection, frame []byte) {
	if l := c.last; l != nil && l.pins == 0 && cap(l.frame) >= len(frame) {
		l.frame = append(l.frame[:0], frame...)
		return
	}
	p.forget(c)
	if !p.reserve(p.latchedWeight(len(frame)), p.latchedWeight(len(frame)), c) {
		return
	}
	c.last = &latched{frame: append([]byte(nil), frame...), counted: p.latchedWeight(len(frame))}
}

// reserve takes n bytes of the budget for latched messages, of which keep will stay.
// Beyond half of what shared chunks leave of the budget, or when it is used up, c is not
// repeated until a later message of it finds room. mu is held.
func (p *pipeline) reserve(n, keep int64, c *connection) bool {
	if p.pool.budget < 0 || p.latched.held+keep <= (p.pool.budget-p.sharedChunk())/2 && p.pool.makeRoom(n) {
		p.pool.held += n
		p.latched.held += keep
		return true
	}
	if !p.latched.warned {
		p.latched.warned = true
		p.log.Warn("no memory to repeat a latched message in the next file: -b is too small", zap.String("topic", c.topic.name))
	}
	return false
}

// forget lets the remembered message of c go. mu is held.
func (p *pipeline) forget(c *connection) {
	l := c.last
	if l == nil {
		return
	}
	c.last = nil
	if l.pins > 0 {
		l.gone = true
		return
	}
	p.letGo(l)
}

// makeWay lets go of what a message of n bytes would wait for in vain, because nothing
// but that message ends it, and reports whether there was any. mu is held.
func (p *pipeline) makeWay(n int64) bool {
	before := p.pool.held - p.pool.idle
	if p.open != nil { // with a record at most
		p.pool.put(p.open)
		p.open, p.records = nil, new(bagfmt.ConnRecords) // which is written anew
	}
	if n+p.latched.held > p.pool.budget {
		for _, c := range p.conns {
			p.forget(c)
		}
	}
	return p.pool.held-p.pool.idle < before
}

func (p *pipeline) letGo(l *latched) {
	p.pool.held -= l.counted
	p.latched.held -= l.counted
	p.room.Broadcast()
}

// pinLatched returns the latched messages of all publishers, or of those that pass
// want if it is not nil. They stay as they are until unpin. Of one publisher that has
// come back with another header only the latest connection counts. mu is held.
func (p *pipeline) pinLatched(want func(*connection) bool) []pinned {
	if p.latched.off {
		return nil
	}
	var all []pinned
	type publisher struct {
		topic *topic
		id    string
	}
	seen := map[publisher]bool{}
	for i := len(p.conns) - 1; i >= 0; i-- {
		c := p.conns[i]
		if !c.latching || c.last == nil {
			continue
		}
		key := publisher{c.topic, c.conn.Header.CallerID()}
		if seen[key] {
			continue
		}
		seen[key] = true
		if want != nil && !want(c) {
			continue
		}
		c.last.pins++
		all = append(all, pinned{c.conn, c.last})
	}
	return all
}

func (p *pipeline) unpin(all []pinned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range all {
		l.pins--
		if l.gone && l.pins == 0 {
			p.letGo(l.latched)
		}
	}
}

// repeat is repeatLatched with all that goes with it. If it fails the next chunk meets
// the same trouble. The writer calls it.
func (p *pipeline) repeat(next *opening) {
	defer p.unpin(next.latched)
	if p.err != nil {
		return
	}
	if err := p.repeatLatched(next); err != nil {
		p.log.Warn("latched messages not repeated", zap.String("file", p.out.target), zap.Error(err))
	}
}

// repeatLatched writes the latched messages at the start of a file, under their own
// connections and with the time at which the file begins.
func (p *pipeline) repeatLatched(next *opening) error {
	return p.packLatched(next.latched, next.stamp, func(c *bagfmt.SealedChunk) error {
		if err := p.out.write(c); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.countRepeated(c)
		if next.part == p.parts.number { // but leave room for what is new
			p.parts.stored += min(int64(len(c.Record)), p.parts.maxBytes/2)
		}
		return nil
	})
}

// countRepeated accounts for latched messages that were written. mu is held.
func (p *pipeline) countRepeated(c *bagfmt.SealedChunk) {
	for _, n := range c.Counts {
		p.conns[n.Conn.ID].topic.repeated += uint64(n.Count)
	}
}

// packLatched makes chunks of latched messages, with the time at, and hands them to
// write, valid during the call only.
func (p *pipeline) packLatched(all []pinned, at bagfmt.Time, write func(*bagfmt.SealedChunk) error) error {
	if len(all) == 0 {
		return nil
	}
	z, err := bagfmt.NewCompressor(p.compression)
	if err != nil {
		return err
	}
	var b bagfmt.ChunkBuilder
	b.Reset(nil)
	var packed []byte
	for i := len(all) - 1; i >= 0; i-- { // oldest connection first
		l := all[i]
		b.AppendRun(l.conn, at, l.frame, 1)
		if b.Len() <= p.chunkBytes && i > 0 {
			continue
		}
		c, err := b.Seal(z, packed)
		if err != nil {
			return err
		}
		if c.Compression != bagfmt.CompressionNone {
			packed = c.Record[:0]
		}
		if err := write(c); err != nil {
			return err
		}
		b.Reset(nil)
	}
	return nil
}

// collect takes a large message of a latching publisher into memory of its own, to
// be remembered, from which it is copied into a chunk. nil means that there is no
// room for that: the message goes straight into a chunk and is not repeated. mu is
// held.
func (p *pipeline) collect(l *link, frameBytes int) tcpros.LargeFrame {
	c := l.connection
	p.forget(c)                                  // it will not be the latest any more
	if p.ended || p.full || p.atLimit(c.topic) { // but also while nothing is recorded
		return nil
	}
	chunk := p.pool.weight(frameBytes + largeOverhead)
	keep := p.latchedWeight(frameBytes)
	if p.budget >= 0 && chunk > p.budget || !p.admits(c.topic, chunk, false) || !p.reserve(chunk+keep, keep, c) {
		return nil
	}
	return &latchedFrame{link: l, size: frameBytes, chunk: chunk, keep: keep}
}

// latchedFrame is a large message of a latching publisher on its way into memory.
type latchedFrame struct {
	link  *link
	buf   []byte
	size  int
	chunk int64 // reserved for the chunk
	keep  int64 // reserved for the memory
}

// Room implements tcpros.LargeFrame. Memory follows what has arrived.
func (f *latchedFrame) Room(n int) []byte {
	at := len(f.buf)
	if at == cap(f.buf) {
		grown := make([]byte, at, min(f.size, max(1<<20, 2*at)))
		copy(grown, f.buf)
		f.buf = grown
	}
	f.buf = f.buf[:min(at+n, cap(f.buf))]
	return f.buf[at:]
}

// Commit implements tcpros.LargeFrame.
func (f *latchedFrame) Commit(received time.Time) {
	p, c := f.link.pipe, f.link.connection
	p.mu.Lock()
	p.pool.held -= f.chunk
	chunk := p.pool.get(f.size+largeOverhead, f.size+largeOverhead)
	p.mu.Unlock()
	if chunk == nil { // the budget was cut meanwhile
		f.refuse(dropBufferFull)
		return
	}
	chunk.builder.Reset(nil) // shares nothing: the copy needs no lock
	chunk.builder.AppendRun(c.conn, bagfmt.TimeOf(p.sim.at(received)), f.buf, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(received)
	p.forget(c)
	c.last = &latched{frame: f.buf, counted: f.keep}
	p.commit(chunk, c, f.size-4, received)
}

// refuse gives the message up and counts it.
func (f *latchedFrame) refuse(cause dropCause) {
	p := f.link.pipe
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(f.link.connection.topic, cause, 1)
	p.letGo(&latched{counted: f.keep})
}

// Abort implements tcpros.LargeFrame: the link ended within the message.
func (f *latchedFrame) Abort() {
	p := f.link.pipe
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pool.held -= f.chunk
	p.letGo(&latched{counted: f.keep})
}
