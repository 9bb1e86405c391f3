package recorder

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// link receives the messages of one publisher. It implements tcpros.LinkSink.
type link struct {
	pipe       *pipeline
	connection *connection
	publisher  *publisher
	seq        *seqWatch  // nil if the messages have no numbers
	frame      largeFrame // the large message that is under way
	watched    watchedFrame
}

// Frames implements tcpros.LinkSink.
func (l *link) Frames(run []byte, count int, received time.Time) {
	if l.seq != nil {
		l.missed(l.seq.run(run, count))
	}
	l.pipe.append(l.connection, run, count, received)
}

// largeOverhead is room for the records around a large frame in its chunk: its
// connection, its own header, the chunk's header and index.
const largeOverhead = 16 << 10

// recordShare is the least ratio of a message to its connection record at which the
// record goes along with each one.
const recordShare = 100

// Large implements tcpros.LinkSink.
func (l *link) Large(frameBytes int) tcpros.LargeFrame {
	f := l.takeLarge(frameBytes)
	switch {
	case l.seq == nil:
	case f == nil:
		l.seq.unseen()
	default:
		l.watched = watchedFrame{LargeFrame: f, link: l}
		return &l.watched
	}
	return f
}

// takeLarge gives a large message a chunk of its own, into which it is read straight
// from the socket: no copy, and no other topic waits for it.
func (l *link) takeLarge(frameBytes int) tcpros.LargeFrame {
	p, topic := l.pipe, l.connection.topic
	size := frameBytes + largeOverhead
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.state != StateRecording
	if !idle && topic.thin && !topic.keep(p.sim.at(time.Now())) {
		return nil
	}
	if l.connection.latching {
		if f := p.collect(l, frameBytes); f != nil {
			return f
		}
	}
	if !idle && p.budget >= 0 && p.pool.weight(size) > p.budget {
		p.drop(topic, dropOversize, 1)
		return nil
	}
	// Where links wait for room the whole claim is reserved: two half-read messages
	// that wait for each other's memory would wait for ever. Where they drop, a
	// false claim must not cost other topics anything: it counts as it arrives.
	counted := size
	if p.overflow == OverflowDrop {
		counted = min(size, trusted)
	}
	for p.wants(topic) {
		if !p.admits(topic, p.pool.weight(size), false) {
			p.drop(topic, dropBufferFull, 1)
			return nil
		}
		if c := p.pool.get(size, counted); c != nil {
			// nil makes the chunk hold the record: it may be given up, so each one does until
			// the record is safely in another. Where that costs less than a percent each one
			// does anyway, and belongs to whatever file is written when it is complete.
			var records *bagfmt.ConnRecords
			if l.connection.stored == p.parts.number+1 && l.connection.bytes*recordShare > frameBytes {
				records = p.records
			}
			c.builder.Reset(records)
			c.builder.BeginMessage(l.connection.conn, frameBytes)
			l.frame = largeFrame{link: l, chunk: c, payload: frameBytes - 4, part: p.parts.number, relies: records != nil}
			return &l.frame
		}
		if p.overflow == OverflowDrop {
			p.drop(topic, dropBufferFull, 1)
			return nil
		}
		p.sealOpen()
		if p.makeWay(p.pool.weight(size)) {
			continue
		}
		p.largeWaits++ // small messages do not take the room that this one waits for
		p.room.Wait()
		p.largeWaits--
	}
	p.leave(l.connection)
	return nil
}

// Closed implements tcpros.LinkSink. The node has logged why.
func (l *link) Closed(err error) {
	l.pipe.mu.Lock()
	defer l.pipe.mu.Unlock()
	l.connection.topic.linked--
	l.publisher.end(err, time.Now())
	switch {
	case errors.Is(err, tcpros.ErrTooLarge):
		l.pipe.drop(l.connection.topic, dropOversize, 1)
	case errors.Is(err, tcpros.ErrStalled):
		l.pipe.drop(l.connection.topic, dropLink, 1)
	}
}

// Lost implements tcpros.LostSink.
func (l *link) Lost(messages int) {
	l.pipe.mu.Lock()
	l.pipe.drop(l.connection.topic, dropUDP, uint64(messages))
	l.pipe.mu.Unlock()
}

// largeFrame is a message on its way into a chunk of its own.
type largeFrame struct {
	link    *link
	chunk   *chunk // nil behind the end: the link must not keep a buffer that is let go
	payload int
	part    int  // the file that was filled when it began
	relies  bool // on the record of its connection in that file
}

// Room implements tcpros.LargeFrame. It gives the message up when the memory for
// what has arrived is not there any more.
func (f *largeFrame) Room(n int) []byte {
	room := f.chunk.builder.Room(n)
	p := f.link.pipe
	if p.pool.weight(f.chunk.builder.Cap()) <= f.chunk.counted {
		return room
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pool.count(f.chunk)
	if p.overflow == OverflowDrop && (!p.pool.makeRoom(0) || !p.fitsBeside(f.chunk.counted, 0)) {
		p.drop(f.link.connection.topic, dropBufferFull, 1)
		f.chunk.builder.AbortMessage()
		p.pool.put(f.leave())
		return nil
	}
	return room
}

// Commit implements tcpros.LargeFrame.
func (f *largeFrame) Commit(received time.Time) {
	p, c := f.link.pipe, f.link.connection
	p.mu.Lock() // also guards p.records, which the builder shares
	defer p.mu.Unlock()
	c.topic.last = received
	f.chunk.builder.FinishMessage(bagfmt.TimeOf(p.sim.at(received)))
	p.turn(received)
	if f.relies && f.part != p.parts.number && c.stored != p.parts.number+1 && p.wants(c.topic) && p.openChunk() {
		// The record that it relied on is in an earlier file.
		p.open.builder.AppendRun(c.conn, bagfmt.Time{}, nil, 0)
		c.stored = p.parts.number + 1
	}
	p.commit(f.leave(), c, f.payload, received)
}

// leave gives the chunk away.
func (f *largeFrame) leave() *chunk {
	c := f.chunk
	f.chunk = nil
	return c
}

// commit hands on a chunk with one large message. mu is held.
func (p *pipeline) commit(chunk *chunk, c *connection, payload int, received time.Time) {
	if !p.wants(c.topic) {
		p.leave(c)
		p.pool.put(chunk)
		p.room.Broadcast()
		return
	}
	if p.open != nil && p.open.builder.HasConn(c.conn.ID) {
		p.sealOpen() // the earlier messages of this publisher come first in the file
	}
	c.stored = p.parts.number + 1
	chunk.born, chunk.until = received, received
	chunk.holdings = append(chunk.holdings, holding{c.topic, p.pool.weight(chunk.builder.Cap())})
	p.hand(chunk)
	p.account(c.topic, 1, uint64(payload))
	p.checkSize(received)
}

// leave counts one message that is not wanted. mu is held.
func (p *pipeline) leave(c *connection) {
	switch {
	case p.full || p.atLimit(c.topic): // nobody asked for it
	case p.ended:
		p.drop(c.topic, dropDisk, 1)
	default:
		p.pass(c, 1)
	}
}

// Abort implements tcpros.LargeFrame: the link ended within the message.
func (f *largeFrame) Abort() {
	p := f.link.pipe
	p.mu.Lock()
	f.chunk.builder.AbortMessage()
	p.mu.Unlock()
	p.release(f.leave())
	p.log.Debug("message cut off", zap.String("topic", f.link.connection.topic.name))
}
