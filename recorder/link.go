package recorder

import (
	"encoding/binary"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/tcpros"
)

// link receives the messages of one publisher. It implements tcpros.LinkSink.
type link struct {
	in         *intake
	connection *connection
	publisher  *loss.Publisher
	seq        *loss.Sequence // nil if the messages have no numbers
	frame      largeFrame     // the large message that is under way
	watched    watchedFrame
}

// Frames implements tcpros.LinkSink.
func (l *link) Frames(run []byte, count int, received time.Time) {
	if l.seq != nil {
		l.countMissed(l.seq.Run(run, count))
	}
	l.in.append(l.connection, run, count, received)
}

// largeOverhead is room for the records around a large frame in its chunk: its
// connection, its own header, the chunk's header and index.
const largeOverhead = 16 << 10

// trusted is how much of a publisher's claim is counted before it arrives.
const trusted = 1 << 20

// recordShare is the least ratio of a message to its connection record at which the
// record goes along with each one.
const recordShare = 100

// Large implements tcpros.LinkSink.
func (l *link) Large(frameBytes int) tcpros.LargeFrame {
	f := l.takeLarge(frameBytes)
	switch {
	case l.seq == nil:
	case f == nil:
		l.seq.Unseen()
	default:
		l.watched = watchedFrame{LargeFrame: f, link: l}
		return &l.watched
	}
	return f
}

// takeLarge gives a large message a chunk of its own, into which it is read straight
// from the socket: no copy, and no other topic waits for it. What was announced counts as
// it arrives, whatever happens when the buffer is full: a false claim costs nothing.
func (l *link) takeLarge(frameBytes int) tcpros.LargeFrame {
	in, c := l.in, l.connection
	in.mu.Lock()
	defer in.mu.Unlock()
	// While nothing is recorded a latched message is received to be remembered, if that
	// does not cost a wait.
	idle := in.state != StateRecording
	if !idle && c.topic.thin && !c.topic.keep(in.sim.Steady(time.Now())) {
		return nil
	}
	if c.latching {
		in.latched.forgetLatched(&c.source) // it will not be the latest any more
	}
	if in.ended || in.atSizeLimit || c.topic.atLimit() || idle && !c.latching {
		in.countUnwanted(c)
		return nil
	}
	f := &l.frame
	*f = largeFrame{link: l, size: frameBytes, blocks: in.overflow == OverflowBlock && !idle}
	size := frameBytes + largeOverhead + c.bytes
	f.turn.Need = in.pool.Weight(size)
	if in.pool.Limit >= 0 && f.turn.Need > in.pool.Limit {
		if idle {
			in.countUnwanted(c)
		} else {
			c.topic.drop(dropOversize, 1)
		}
		return nil
	}
	first := min(size, trusted+c.bytes)
	switch {
	case f.blocks:
		f.turn.Chunk = in.awaitChunk(f, size, first)
	case in.pool.Admits(&c.topic.account, f.turn.Need, false):
		if f.turn.Chunk = in.pool.GetReusable(c.proven, size); f.turn.Chunk == nil {
			f.turn.Chunk = in.pool.Get(first, first)
		}
	}
	switch {
	case f.turn.Chunk != nil:
		f.begin()
		return f
	case f.blocks || idle:
		in.countUnwanted(c)
	default:
		c.topic.drop(dropBufferFull, 1)
	}
	return nil
}

// begin starts the message in its chunk. intake.mu is held.
func (f *largeFrame) begin() {
	in, c := f.link.in, f.link.connection
	// nil makes the chunk hold the record: it may be given up, so each one does until
	// the record is safely in another. Where that costs less than a percent each one
	// does anyway, and belongs to whatever file is written when it is complete.
	var records *bagfmt.ConnRecords
	if c.stored == in.rotation.Part()+1 && c.bytes*recordShare > f.size {
		records, f.relies = in.records, true
	}
	f.turn.Chunk.Builder.Reset(records)
	f.turn.Chunk.Builder.BeginMessage(c.conn, f.size)
	in.pool.Count(f.turn.Chunk)
}

// Closed implements tcpros.LinkSink. The node has logged why.
func (l *link) Closed(err error) {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	l.connection.links--
	l.connection.topic.linked--
	l.publisher.End(err, time.Now())
	switch {
	case errors.Is(err, tcpros.ErrTooLarge):
		l.connection.topic.drop(dropOversize, 1)
	case errors.Is(err, tcpros.ErrStalled):
		l.connection.topic.drop(dropLink, 1)
	}
}

// Lost implements tcpros.LostSink.
func (l *link) Lost(messages int) {
	l.in.mu.Lock()
	l.connection.topic.drop(dropUDP, uint64(messages))
	l.in.mu.Unlock()
}

// largeFrame is a message on its way into a chunk of its own.
type largeFrame struct {
	link     *link
	size     int
	relies   bool        // on the record of its connection in the file that was filled when it began
	blocks   bool        // its link while there is no room, rather than being dropped
	turn     memory.Turn // its chunk, and its lease if it blocks
	blockage blockage    // while it waits
}

// Room implements tcpros.LargeFrame. Memory is there before the message takes it; without,
// the message is given up.
func (f *largeFrame) Room(n int) []byte {
	if f.blocks {
		f.turn.Arrived.Store(int64(f.turn.Chunk.Builder.Len()))
		n = min(n, memory.LeasePiece)
	}
	if next := f.link.in.pool.Weight(f.turn.Chunk.Builder.NextCap()); next > f.turn.Chunk.Counted && !f.grow(next) {
		return nil
	}
	return f.turn.Chunk.Builder.Room(n)
}

// grow makes the message count so many bytes, or gives it up.
func (f *largeFrame) grow(count int64) bool {
	in, t := f.link.in, f.link.connection.topic
	in.mu.Lock()
	defer in.mu.Unlock()
	grown := f.blocks && in.accepts(t) && in.awaitGrowth(f, count-f.turn.Chunk.Counted)
	in.pool.Grow(f.turn.Chunk, count)
	if !grown && (!f.blocks || !in.accepts(t)) { // what is not recorded may be remembered
		grown = in.pool.MakeRoom(0, memory.ForMessages) && in.pool.FitsBeside(count, 0)
	}
	if grown {
		return true
	}
	if in.accepts(t) {
		t.drop(dropBufferFull, 1)
	} else {
		in.countUnwanted(f.link.connection)
	}
	f.giveUp()
	return false
}

// giveUp takes the message out of its chunk and gives that back. intake.mu is held.
func (f *largeFrame) giveUp() {
	in := f.link.in
	f.turn.Chunk.Builder.AbortMessage()
	in.pool.Put(f.detachChunk())
}

// Commit implements tcpros.LargeFrame.
func (f *largeFrame) Commit(received time.Time) {
	in, c := f.link.in, f.link.connection
	latest := f.latest()
	in.mu.Lock() // also guards in.records, which the builder shares
	defer in.mu.Unlock()
	c.topic.last, c.latest, c.proven = received, received, true
	f.turn.Chunk.Builder.FinishMessage(bagfmt.TimeOf(in.sim.At(received)))
	in.rotateIfDue(received)
	if latest != nil {
		in.latched.forgetLatched(&c.source)
		c.last = latest
	}
	stored := !f.relies || c.stored == in.rotation.Part()+1
	if !stored && in.accepts(c.topic) && in.openChunk() {
		// The record that it relied on is in an earlier file. A chunk without messages may
		// never be written: the next large message brings the record, too.
		in.open.Builder.AppendRun(c.conn, bagfmt.Time{}, nil, 0)
		stored = in.open.Builder.Messages() > 0
	}
	in.commit(f.detachChunk(), c, f.size-4, received, stored)
}

// latest returns a copy of a latching publisher's message, if there is memory for it.
func (f *largeFrame) latest() *latched {
	in, c := f.link.in, f.link.connection
	if !c.latching {
		return nil
	}
	in.mu.Lock()
	weight := in.latched.latchedWeight(f.size)
	reserved := in.latched.reserve(weight, &c.source)
	in.mu.Unlock()
	if !reserved {
		return nil
	}
	return &latched{frame: append([]byte(nil), f.turn.Chunk.Builder.Frame()...), counted: weight}
}

// detachChunk gives the chunk away. intake.mu is held.
func (f *largeFrame) detachChunk() *memory.Chunk {
	c := f.turn.Chunk
	f.turn.Chunk = nil // the link must not keep a buffer that is let go
	if f.blocks {
		f.link.in.pool.EndTurn(&f.turn)
	}
	return c
}

// commit hands on a chunk with one large message. stored says that the record of its
// connection is in it or in an earlier one of the file. mu is held.
func (in *intake) commit(chunk *memory.Chunk, c *connection, payload int, received time.Time, stored bool) {
	if !in.accepts(c.topic) {
		in.countUnwanted(c)
		in.pool.Put(chunk)
		return
	}
	if in.open != nil && in.open.Builder.HasConn(c.conn.ID) {
		in.sealOpen() // the earlier messages of this publisher come first in the file
	}
	if stored {
		c.stored = in.rotation.Part() + 1
	}
	in.latest = later(in.latest, received)
	chunk.FirstAt, chunk.LastAt = received, received
	chunk.AddAlone(&c.topic.account, in.pool.Weight(chunk.Builder.Cap()))
	in.submit(chunk)
	in.account(c.topic, 1, uint64(payload))
	in.checkSize(received)
}

// countUnwanted counts one message that is not wanted. mu is held.
func (in *intake) countUnwanted(c *connection) {
	switch {
	case in.atSizeLimit || c.topic.atLimit(): // it is not wanted
	case in.ended:
		c.topic.drop(dropDisk, 1)
	default:
		c.countUnrecorded(1)
	}
}

// Abort implements tcpros.LargeFrame: the link ended within the message.
func (f *largeFrame) Abort() {
	in := f.link.in
	in.mu.Lock()
	f.giveUp()
	in.mu.Unlock()
	in.log.Debug("message cut off", zap.String("topic", f.link.connection.topic.name))
}

// watchedFrame looks at the number of a large message on its way.
type watchedFrame struct {
	tcpros.LargeFrame
	link *link
	head []byte // the frame's first bytes, once they are there
}

// Room implements tcpros.LargeFrame.
func (f *watchedFrame) Room(n int) []byte {
	room := f.LargeFrame.Room(n)
	if room == nil {
		f.link.seq.Unseen() // it is counted as dropped
		f.head = nil
	} else if f.head == nil {
		f.head = room
	}
	return room
}

// Commit implements tcpros.LargeFrame.
func (f *watchedFrame) Commit(received time.Time) {
	w := f.link.seq
	if len(f.head) < 8 {
		w.Unseen()
	} else {
		f.link.countMissed(w.Step(binary.LittleEndian.Uint32(f.head[4:])))
	}
	f.head = nil
	f.LargeFrame.Commit(received)
}
