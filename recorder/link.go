package recorder

import (
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

// Large implements tcpros.LinkSink. A large message gets a chunk of its own and is
// read from the socket straight into it: no copy, and no other topic waits for it.
func (l *link) Large(frameBytes int) tcpros.LargeFrame {
	p := l.pipe
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.atLimit(l.connection.topic):
			return nil
		case p.ended:
			l.connection.topic.drop(dropDisk, 1)
			return nil
		case p.budget >= 0 && int64(frameBytes) > p.budget:
			l.connection.topic.drop(dropOversize, 1)
			return nil
		}
		if c := p.pool.get(frameBytes + largeOverhead); c != nil {
			c.builder.Reset(&p.records)
			c.builder.BeginMessage(l.connection.conn, frameBytes)
			return &largeFrame{link: l, chunk: c, payload: frameBytes - 4}
		}
		if p.overflow == OverflowDrop {
			l.connection.topic.drop(dropBufferFull, 1)
			return nil
		}
		p.room.Wait()
	}
}

// largeOverhead is room for the records around a large frame in its chunk: its
// connection, its own header, the chunk's header and index.
const largeOverhead = 16 << 10

// Closed implements tcpros.LinkSink. The node has logged why.
func (l *link) Closed(error) {
	l.pipe.mu.Lock()
	l.connection.topic.links--
	l.pipe.mu.Unlock()
}

// largeFrame is a message on its way into a chunk of its own.
type largeFrame struct {
	link    *link
	chunk   *chunk
	payload int
}

// Room implements tcpros.LargeFrame.
func (f *largeFrame) Room(n int) []byte {
	room := f.chunk.builder.Room(n)
	if p := f.link.pipe; int64(f.chunk.builder.Cap()) > f.chunk.counted {
		p.mu.Lock()
		p.pool.count(f.chunk)
		p.mu.Unlock()
	}
	return room
}

// Commit implements tcpros.LargeFrame.
func (f *largeFrame) Commit(received time.Time) {
	p, conn := f.link.pipe, f.link.connection
	p.mu.Lock() // also guards p.records, which the builder shares
	defer p.mu.Unlock()
	f.chunk.builder.FinishMessage(bagfmt.TimeOf(received))
	if p.ended || p.atLimit(conn.topic) {
		if p.ended {
			conn.topic.drop(dropDisk, 1)
		}
		p.pool.put(f.chunk)
		return
	}
	if p.open != nil && p.open.builder.HasConn(conn.conn.ID) {
		p.sealOpen() // the earlier messages of this publisher come first in the file
	}
	p.hand(f.chunk)
	p.account(conn.topic, 1, uint64(f.payload))
}

// Abort implements tcpros.LargeFrame: the link ended within the message.
func (f *largeFrame) Abort() {
	p := f.link.pipe
	p.mu.Lock()
	f.chunk.builder.AbortMessage()
	p.records = bagfmt.ConnRecords{} // the chunk may have held the only record of its connection: write them all again
	p.mu.Unlock()
	p.release(f.chunk)
	p.log.Debug("message cut off", zap.String("topic", f.link.connection.topic.name))
}
