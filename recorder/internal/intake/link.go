package intake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Link receives the messages of one publisher. It implements tcpros.LinkSink.
type Link struct {
	in         *Intake
	connection *account.Connection
	publisher  *loss.Publisher
	seq        *loss.Sequence // nil if the messages have no numbers
	frame      LargeFrame     // the large message that is under way
}

// Conn returns the connection of the bag that the messages of the link belong to.
func (l *Link) Conn() *rosbag.Connection { return l.connection.Conn() }

// Frames implements tcpros.LinkSink.
func (l *Link) Frames(run []byte, count int, received time.Time) {
	if l.seq != nil {
		l.countMissed(l.seq.Run(run, count))
	}
	l.in.append(l.connection, run, count, received)
}

// largeOverhead is room for the records around a large frame in its chunk: its
// connection, its own header, the chunk's header and index.
const largeOverhead = 16 << 10

// trusted is how many bytes of an announced message are counted before they arrive.
const trusted = 1 << 20

// recordShare says when the chunk of a large message carries a connection record of its own: if the
// message is at least this many times as long as the record.
const recordShare = 100

// Large implements tcpros.LinkSink.
func (l *Link) Large(frameBytes int) tcpros.LargeFrame {
	f := l.takeLarge(frameBytes)
	if f == nil && l.seq != nil {
		l.seq.Unseen()
	}
	return f
}

// takeLarge gives a large message a chunk of its own, into which the message is read straight from the
// socket: nothing is copied, and no other topic waits. Bytes count for the buffer as they arrive, not
// when they are announced: a false announcement costs nothing.
func (l *Link) takeLarge(frameBytes int) tcpros.LargeFrame {
	in, c := l.in, l.connection
	in.mu.Lock()
	defer in.mu.Unlock()
	announced := time.Now()
	c.Announced(announced, frameBytes) // there is no other call for a message that is refused
	// While nothing is recorded, a latched message is received if that needs no wait: the next file
	// or the end of the pause needs it.
	idle := in.mode.State != control.StateRecording
	if !idle && !in.mode.HasEnough(c.Topic()) && !c.Topic().Keep(in.cfg.Sim.Steady(announced)) {
		return nil
	}
	if c.Latching() {
		in.Buffers.latched.Forget(c.Source()) // it will not be the latest any more
	}
	if in.mode.Ended || in.mode.HasEnough(c.Topic()) || idle && !c.Latching() {
		in.countUnwantedLocked(c)
		return nil
	}
	f, size := &l.frame, frameBytes+largeOverhead+c.Bytes()
	need := in.Buffers.pool.Weight(size)
	*f = LargeFrame{
		link: l, size: frameBytes, blocks: in.Buffers.pool.Blocks() && !idle,
		turn: memory.NewTurn(need),
	}
	if most := in.Buffers.pool.MostLarge(); most >= 0 && need > most {
		if idle {
			in.countUnwantedLocked(c)
		} else {
			c.Topic().DropOversize(in.Buffers.pool.LimitFor(need))
		}
		return nil
	}
	first := min(size, trusted+c.Bytes())
	var chunk *memory.Chunk
	switch {
	case f.blocks:
		chunk = f.awaitChunkLocked(size, first)
	case in.Buffers.pool.Admits(c.Topic().Memory(), need, false):
		if chunk = in.Buffers.pool.Turns().Buffer(c.Proven(), size); chunk == nil {
			chunk = in.Buffers.pool.Get(first, first)
		}
	}
	switch {
	case chunk != nil:
		f.beginLocked(chunk)
		return f
	case f.blocks || idle:
		in.countUnwantedLocked(c)
	default:
		c.Topic().Drop(control.DropBufferFull, 1)
	}
	return nil
}

// beginLocked starts the message in a chunk.
func (f *LargeFrame) beginLocked(into *memory.Chunk) {
	in, c := f.link.in, f.link.connection
	f.turn.Begin(into)
	// With nil records, the chunk gets the connection record. The message may be given up, so each chunk
	// gets the record until an earlier chunk of the file certainly has it. If the record is less than a
	// percent of the message, each chunk gets it, and can be written to any file that is open when the
	// message is complete.
	var records *chunk.Records
	if c.HasRecord(in.rotation.Part()) && c.Bytes()*recordShare > f.size {
		records, f.relies = in.filling.Records, true
	}
	into.Builder().Reset(records)
	into.Builder().BeginMessage(c.Conn(), f.size)
	in.Buffers.pool.Count(into)
}

// Closed implements tcpros.LinkSink. The node has logged why.
func (l *Link) Closed(err error) {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	l.connection.LinkClosed()
	l.publisher.End(err, time.Now())
	switch {
	case errors.Is(err, tcpros.ErrTooLarge):
		l.connection.Topic().Drop(control.DropOversize, 1)
	case errors.Is(err, tcpros.ErrStalled):
		l.connection.Topic().Drop(control.DropLink, 1)
	}
}

// Lost implements tcpros.LostSink: UDPROS has lost messages.
func (l *Link) Lost(messages int) {
	l.in.mu.Lock()
	l.connection.Topic().Drop(control.DropUDP, uint64(messages))
	l.in.mu.Unlock()
}

// LargeFrame is a message on its way into a chunk of its own.
type LargeFrame struct {
	link *Link
	size int
	// the chunk has no connection record, but relies on that in the file that was open when the message
	// began
	relies bool
	// its link waits while there is no room; otherwise the message is dropped
	blocks bool
	// its chunk, and its lease if blocks is set
	turn memory.Turn
	// the wait for a lease or memory; nil while the link does not wait
	wait *account.Wait
}

// Room implements tcpros.LargeFrame. The message is given up if there is no memory for the next bytes.
func (f *LargeFrame) Room(n int) []byte {
	if f.blocks {
		f.turn.NoteArrived()
		n = min(n, memory.LeasePiece)
	}
	chunk := f.turn.Chunk()
	next := f.link.in.Buffers.pool.Weight(chunk.Builder().NextCap())
	if next > chunk.Counted() && !f.grow(next) {
		if f.link.seq != nil {
			f.link.seq.Unseen() // the message was counted as dropped, so it is not missed
		}
		return nil
	}
	return f.turn.Chunk().Builder().Room(n)
}

// grow reserves memory, count bytes in all, for the message. It returns false if there is none, and gives the
// message up.
func (f *LargeFrame) grow(count int64) bool {
	in, t := f.link.in, f.link.connection.Topic()
	in.mu.Lock()
	defer in.mu.Unlock()
	grown := f.blocks && in.mode.Accepts(t) && f.awaitGrowthLocked(count-f.turn.Chunk().Counted())
	in.Buffers.pool.Grow(f.turn.Chunk(), count)
	// a latched message that is not recorded is remembered
	if !grown && (!f.blocks || !in.mode.Accepts(t) && f.hasLeaseLocked()) {
		grown = in.Buffers.pool.MakeRoom(0, memory.ForMessages) && in.Buffers.pool.FitsBeside(count, 0)
	}
	if grown {
		return true
	}
	if in.mode.Accepts(t) {
		t.Drop(control.DropBufferFull, 1)
	} else {
		in.countUnwantedLocked(f.link.connection)
	}
	f.giveUpLocked()
	return false
}

// giveUpLocked takes the message out of its chunk and gives the chunk back.
func (f *LargeFrame) giveUpLocked() {
	in := f.link.in
	f.turn.Chunk().Builder().AbortMessage()
	in.Buffers.pool.Put(f.detachChunkLocked())
}

// Commit implements tcpros.LargeFrame.
func (f *LargeFrame) Commit(received time.Time) {
	in, c := f.link.in, f.link.connection
	f.readNumber()
	frame := f.turn.Chunk().Builder().Frame()
	latched := f.latchedCopy()
	in.mu.Lock() // also guards in.filling.Records, which the builder shares
	defer in.mu.Unlock()
	c.Arrived(received, frame)
	in.rotateIfDueLocked(received)
	times := in.timesOf(received, 1)
	f.turn.Chunk().Builder().FinishMessage(times.takeLocked(in, 1))
	if latched != nil {
		in.Buffers.latched.Keep(c.Source(), latched)
	}
	stored := !f.relies || c.HasRecord(in.rotation.Part())
	if !stored && in.mode.Accepts(c.Topic()) && in.openChunkLocked() {
		// The record that the chunk relies on is in an earlier file, so the open chunk gets it. An open
		// chunk without messages may never be written: then the next large message has the record, too.
		in.filling.Open.Builder().AppendRun(c.Conn(), rosbag.Time{}, nil, 0)
		stored = !in.filling.Empty()
	}
	in.commitLocked(f.detachChunkLocked(), c, f.size-4, received, stored)
}

// readNumber reads the sequence number of the message.
func (f *LargeFrame) readNumber() {
	l, frame := f.link, f.turn.Chunk().Builder().Frame()
	switch {
	case l.seq == nil:
	case len(frame) < 8:
		l.seq.Unseen()
	default:
		l.countMissed(l.seq.Step(binary.LittleEndian.Uint32(frame[4:])))
	}
}

// latchedCopy returns a copy of the frame if its publisher latches; nil if there is no memory for a copy.
func (f *LargeFrame) latchedCopy() []byte {
	in, c := f.link.in, f.link.connection
	if !c.Latching() {
		return nil
	}
	in.mu.Lock()
	reserved := in.Buffers.latched.Reserve(c.Source(), f.size)
	in.mu.Unlock()
	if !reserved {
		return nil
	}
	return bytes.Clone(f.turn.Chunk().Builder().Frame())
}

// detachChunkLocked takes the chunk from the message.
func (f *LargeFrame) detachChunkLocked() *memory.Chunk {
	c := f.turn.Detach()
	if f.blocks {
		f.link.in.Buffers.pool.Turns().End(&f.turn)
	}
	return c
}

// commitLocked submits a chunk with one large message. stored says that the chunk, or an earlier chunk of
// the same file, has the connection record.
func (in *Intake) commitLocked(chunk *memory.Chunk, c *account.Connection, payload int, received time.Time,
	stored bool,
) {
	if !in.mode.Accepts(c.Topic()) {
		in.countUnwantedLocked(c)
		in.Buffers.pool.Put(chunk)
		return
	}
	if in.filling.Has(c.Conn().ID) || in.rotation.BeginsBag() &&
		in.filling.Precedes(chunk.Builder().Start()) {
		// the earlier messages of this publisher, and those that the bag begins with, come first in the
		// file
		in.sealOpenLocked()
	}
	if stored {
		c.NoteRecord(in.rotation.Part())
	}
	in.filling.Saw(received)
	chunk.Came(received, received)
	chunk.AddAlone(c.Topic().Memory(), in.Buffers.pool.Weight(chunk.Builder().Cap()))
	in.submitLocked(chunk)
	in.countRecordedLocked(c.Topic(), 1, uint64(payload))
	in.checkSizeLocked(received)
}

// countUnwantedLocked counts one message that is not recorded.
func (in *Intake) countUnwantedLocked(c *account.Connection) {
	switch {
	case in.mode.HasEnough(c.Topic()):
	case in.mode.Ended:
		c.Topic().Drop(control.DropDisk, 1)
	default:
		c.NoteUnrecorded(1)
	}
}

// Abort implements tcpros.LargeFrame: the link ended within the message.
func (f *LargeFrame) Abort() {
	in := f.link.in
	in.mu.Lock()
	f.giveUpLocked()
	in.mu.Unlock()
	in.cfg.Log.Debug("message cut off", zap.String("topic", string(f.link.connection.Topic().Name())))
}

// countMissed counts n messages that never arrived; a negative n takes back messages that were counted
// by mistake. Messages that would not have been recorded do not count.
func (l *Link) countMissed(n int) {
	if n == 0 {
		return
	}
	in := l.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if l.publisher.AddMissed(n, in.mode.Accepts(l.connection.Topic())) {
		signal(in.Accounts.gaps)
	}
}
