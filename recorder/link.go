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
}

// Frames implements tcpros.LinkSink.
func (l *link) Frames(run []byte, count int, received time.Time) {
	l.pipe.append(l.connection, run, count, received)
}

// largeOverhead is room for the records around a large frame in its chunk: its
// connection, its own header, the chunk's header and index.
const largeOverhead = 16 << 10

// Large implements tcpros.LinkSink. A large message gets a chunk of its own and is
// read from the socket straight into it: no copy, and no other topic waits for it.
func (l *link) Large(frameBytes int) tcpros.LargeFrame {
	p, topic := l.pipe, l.connection.topic
	size := frameBytes + largeOverhead
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.budget >= 0 && p.pool.weight(size) > p.budget {
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
	for !p.ended && !p.atLimit(topic) {
		if c := p.pool.get(size, counted); c != nil {
			var records *bagfmt.ConnRecords // nil: the chunk may be given up, so each one holds the record
			if l.connection.stored {        // until it is safely in another
				records = &p.records
			}
			c.builder.Reset(records)
			c.builder.BeginMessage(l.connection.conn, frameBytes)
			return &largeFrame{link: l, chunk: c, payload: frameBytes - 4}
		}
		if p.overflow == OverflowDrop {
			p.drop(topic, dropBufferFull, 1)
			return nil
		}
		p.largeWaits++ // small messages do not take the room that this one waits for
		p.sealOpen()
		p.room.Wait()
		p.largeWaits--
	}
	if p.ended {
		p.drop(topic, dropDisk, 1)
	}
	return nil
}

// Closed implements tcpros.LinkSink. The node has logged why.
func (l *link) Closed(err error) {
	cause := dropLink
	switch {
	case errors.Is(err, tcpros.ErrTooLarge):
		cause = dropOversize
	case !errors.Is(err, tcpros.ErrStalled):
		return
	}
	l.pipe.mu.Lock()
	l.pipe.drop(l.connection.topic, cause, 1)
	l.pipe.mu.Unlock()
}

// largeFrame is a message on its way into a chunk of its own.
type largeFrame struct {
	link    *link
	chunk   *chunk
	payload int
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
	p.pool.count(f.chunk)
	full := p.overflow == OverflowDrop && !p.pool.fits(0)
	if full {
		p.drop(f.link.connection.topic, dropBufferFull, 1)
		f.chunk.builder.AbortMessage()
	}
	p.mu.Unlock()
	if full {
		p.release(f.chunk)
		return nil
	}
	return room
}

// Commit implements tcpros.LargeFrame.
func (f *largeFrame) Commit(received time.Time) {
	p, c := f.link.pipe, f.link.connection
	p.mu.Lock() // also guards p.records, which the builder shares
	defer p.mu.Unlock()
	f.chunk.builder.FinishMessage(bagfmt.TimeOf(received))
	if p.ended || p.atLimit(c.topic) {
		if p.ended {
			p.drop(c.topic, dropDisk, 1)
		}
		p.pool.put(f.chunk)
		p.room.Broadcast()
		return
	}
	if p.open != nil && p.open.builder.HasConn(c.conn.ID) {
		p.sealOpen() // the earlier messages of this publisher come first in the file
	}
	c.stored = true
	p.hand(f.chunk)
	p.account(c.topic, 1, uint64(f.payload))
}

// Abort implements tcpros.LargeFrame: the link ended within the message.
func (f *largeFrame) Abort() {
	p := f.link.pipe
	p.mu.Lock()
	f.chunk.builder.AbortMessage()
	p.mu.Unlock()
	p.release(f.chunk)
	p.log.Debug("message cut off", zap.String("topic", f.link.connection.topic.name))
}
