package chunk

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// DefaultBytes is the chunk size of stock rosbag: the size beyond which a
// chunk is sealed.
const DefaultBytes = 768 << 10

const (
	// ADR 0004: a chunk stands for itself when another one is damaged.
	repeatDivisor  = 100       // connection records are repeated for at most 1/repeatDivisor of the bytes
	firstRoom      = 1 << 20   // memory for a message read straight into the chunk starts with this,
	doubledRoom    = 4 << 20   // and is doubled while it has at most this
	firstGrowBytes = 16 << 10  // a chunk's memory grows by this, then fourfold,
	maxGrowBytes   = 768 << 10 // up to that at a time or as append does
	denseConnIDs   = 1 << 16   // ids below are found by a slice index, the others by a map
	keptSlots      = 256       // connections that a builder remembers from chunk to chunk
)

// Records knows which connection records one output file holds already, and
// the budget for repeating them: a connection record is written at the first use,
// and again in each chunk that uses the connection while all repeats stay within
// 1 % of the bytes, so that damage to one chunk orphans few messages of others.
// The zero value is ready.
type Records struct {
	written  map[rosbag.ConnID]struct{}
	bytes    int64 // chunk data appended so far
	repeated int64 // of it, repeated connection records
}

// want reports whether a record of size bytes shall be written for id, and whether
// that is a repeat.
func (r *Records) want(id rosbag.ConnID, size int) (write, repeat bool) {
	if r == nil {
		return true, false
	}
	if _, ok := r.written[id]; !ok {
		return true, false
	}
	return (r.repeated+int64(size))*repeatDivisor <= r.bytes, true
}

func (r *Records) add(id rosbag.ConnID, size int, repeat bool) {
	if r == nil {
		return
	}
	r.bytes += int64(size)
	if repeat {
		r.repeated += int64(size)
		return
	}
	if r.written == nil {
		r.written = make(map[rosbag.ConnID]struct{})
	}
	r.written[id] = struct{}{}
}

// Has reports whether the file has a record of the connection.
func (r *Records) Has(id rosbag.ConnID) bool {
	_, ok := r.written[id]
	return ok
}

// Copied notes that a chunk which was not built here has a record of the connection, or comes after one.
func (r *Records) Copied(id rosbag.ConnID) { r.add(id, 0, false) }

func (r *Records) undo(id rosbag.ConnID, size int, repeat bool) {
	if r == nil {
		return
	}
	r.bytes -= int64(size)
	if repeat {
		r.repeated -= int64(size)
		return
	}
	delete(r.written, id)
}

// Builder collects the records of one open chunk in memory. Its buffer keeps
// headroom for the header of the chunk record, so that a sealed uncompressed chunk
// and its index are one slice and were copied once. The zero value needs Reset.
// A Builder is not for concurrent use.
type Builder struct {
	buf     []byte // wire.ChunkHeadroom bytes, then the chunk data
	records *Records
	index   wire.ChunkIndex
	dense   []int32                 // slot+1 by connection id, 0 = none
	sparse  map[rosbag.ConnID]int32 // slot by connection id, for ids >= denseConnIDs
	start   rosbag.Time
	end     rosbag.Time
	open    openMessage
	sealed  Sealed // what Seal returns
}

// openMessage is a message between BeginMessage and FinishMessage.
type openMessage struct {
	active bool
	slot   int32
	start  int // where its record starts in buf
	end    int // where it will end
	undo   int // length of buf before it began
	did    firstUse
}

// firstUse is what use did, for AbortMessage to take back.
type firstUse struct {
	added  bool // the connection to the chunk
	record int  // bytes of its record, 0 if none was written
	repeat bool // the file held that record before
}

// Reset starts a new chunk in the memory of the last one. Messages that were not
// sealed are forgotten. r belongs to the output file; nil makes every chunk carry
// the records of all its connections.
func (b *Builder) Reset(r *Records) {
	if b.buf == nil {
		b.buf = make([]byte, wire.ChunkHeadroom)
	}
	b.buf = b.buf[:wire.ChunkHeadroom]
	b.records = r
	b.index.Entries = b.index.Entries[:0]
	for _, s := range b.index.Used {
		b.index.Slots[s] = wire.IndexSlot{} // its connection may not come again
	}
	// most have not come again
	if len(b.index.Slots) > keptSlots && len(b.index.Slots) > 2*len(b.index.Used) {
		b.index.Slots, b.dense, b.sparse = nil, nil, nil
	}
	b.index.Used = b.index.Used[:0]
	b.open = openMessage{}
	clear(b.sealed.Counts)
	b.sealed = Sealed{Counts: b.sealed.Counts[:0], PayloadBytes: b.sealed.PayloadBytes[:0]}
}

// Len returns the bytes of chunk data so far.
func (b *Builder) Len() int { return max(len(b.buf)-wire.ChunkHeadroom, 0) }

// Cap returns the bytes of memory that the chunk and its index entries hold.
func (b *Builder) Cap() int { return cap(b.buf) + cap(b.index.Entries)*16 }

// Messages returns the number of finished messages in the chunk.
func (b *Builder) Messages() int { return len(b.index.Entries) }

// Start returns the earliest time of the messages; it has no meaning if there are none.
func (b *Builder) Start() rosbag.Time { return b.start }

// HasConn reports whether the chunk holds messages of the connection.
func (b *Builder) HasConn(id rosbag.ConnID) bool {
	s, ok := b.slot(id)
	return ok && b.index.Slots[s].Conn != nil
}

// AppendRun adds count whole frames that lie back to back in run. The first one
// gets the time first, each one after it 1 ns more. It panics if run does not hold
// exactly count frames.
func (b *Builder) AppendRun(c *rosbag.Connection, first rosbag.Time, run []byte, count int) {
	if b.open.active {
		panic("chunk: AppendRun inside a message")
	}
	slot, _ := b.use(c)
	at := len(b.buf)
	size := len(run) + count*wire.MessageHeaderBytes
	b.grow(size)
	buf := b.buf[:at+size]
	t, last := first, first
	for range count {
		n := 4 + int64(binary.LittleEndian.Uint32(run))
		b.index.Entries = append(b.index.Entries,
			wire.IndexEntry{Time: t, Offset: uint32(at - wire.ChunkHeadroom), Slot: slot})
		wire.PutMessageHeader(buf[at:], c.ID, t)
		at += wire.MessageHeaderBytes
		at += copy(buf[at:], run[:n])
		run = run[n:]
		last = t
		if t.Nsec++; t.Nsec >= uint32(time.Second) {
			t = rosbag.Time{Sec: t.Sec + 1, Nsec: 0}
		}
	}
	if len(run) != 0 {
		panic("chunk: AppendRun with bytes after the last frame")
	}
	b.buf = buf
	b.count(slot, count, size, first, last)
}

// BeginMessage starts a message whose frame, length word included, has frameBytes
// bytes and will be read straight into the chunk: Room gives the places to fill,
// then FinishMessage or AbortMessage ends it.
func (b *Builder) BeginMessage(c *rosbag.Connection, frameBytes int) {
	if b.open.active {
		panic("chunk: BeginMessage inside a message")
	}
	if frameBytes < 4 {
		panic("chunk: BeginMessage with a frame of less than 4 bytes")
	}
	o := openMessage{active: true, undo: len(b.buf)}
	o.slot, o.did = b.use(c)
	o.start = len(b.buf)
	o.end = o.start + wire.MessageHeaderBytes + frameBytes
	b.checkSize(int64(o.end))
	b.grow(wire.MessageHeaderBytes)
	b.buf = b.buf[:o.start+wire.MessageHeaderBytes]
	wire.PutMessageHeader(b.buf[o.start:], c.ID, rosbag.Time{})
	b.open = o
}

// Room returns the next place of the frame, 1 to n bytes, which the caller fills
// wholly before the next call. Memory follows what has arrived, not what the frame
// claims: it doubles from 1 MiB to 8 MiB, then grows by a quarter at a time, and never
// beyond what the message and its index need.
func (b *Builder) Room(n int) []byte {
	if !b.open.active {
		panic("chunk: Room outside a message")
	}
	at := len(b.buf)
	left := b.open.end - at
	if n = min(n, left); n < 1 {
		panic("chunk: Room beyond the end of the message")
	}
	if at == cap(b.buf) {
		b.buf = append(make([]byte, 0, at+b.roomStep()), b.buf...)
	}
	b.buf = b.buf[:at+min(n, cap(b.buf)-at)]
	return b.buf[at:]
}

// roomStep returns by how much Room grows the memory of a message when it is full.
func (b *Builder) roomStep() int {
	at := len(b.buf)
	come := at - b.open.start
	step := max(firstRoom, min(come, doubledRoom), come/4)
	index := len(b.index.Used)*wire.IndexHeaderBytes + (len(b.index.Entries)+1)*wire.IndexEntryBytes
	return min(b.open.end-at+index, step)
}

// NextCap returns what Cap will be after the next call of Room.
func (b *Builder) NextCap() int {
	if b.open.active && len(b.buf) == cap(b.buf) {
		return b.Cap() + b.roomStep()
	}
	return b.Cap()
}

// Frame returns what has come of the message that BeginMessage started, length word
// included. It is valid until the next call of another method.
func (b *Builder) Frame() []byte {
	if !b.open.active {
		panic("chunk: Frame outside a message")
	}
	return b.buf[b.open.start+wire.MessageHeaderBytes:]
}

// FinishMessage stamps and indexes the message. Its frame must be complete.
func (b *Builder) FinishMessage(t rosbag.Time) {
	o := b.open
	if !o.active || len(b.buf) != o.end {
		panic("chunk: FinishMessage of an incomplete message")
	}
	frame := b.buf[o.start+wire.MessageHeaderBytes:]
	if int64(binary.LittleEndian.Uint32(frame))+4 != int64(len(frame)) {
		panic("chunk: FinishMessage of a frame with a wrong length")
	}
	wire.PutTime(b.buf[o.start+wire.MessageTimeAt:], t)
	b.index.Entries = append(b.index.Entries,
		wire.IndexEntry{Time: t, Offset: uint32(o.start - wire.ChunkHeadroom), Slot: o.slot})
	b.count(o.slot, 1, o.end-o.start, t, t)
	b.open = openMessage{}
}

// AbortMessage takes the message back as if it had never begun: the chunk, which is
// empty again if it held no other message, and the Records are what they were
// before BeginMessage. Only if another builder of the same file has used the
// connection since, and relied on the record taken back, its chunk lacks that record
// until the next use; the index section has it in any case.
func (b *Builder) AbortMessage() {
	o := b.open
	if !o.active {
		panic("chunk: AbortMessage outside a message")
	}
	b.buf = b.buf[:o.undo]
	s := &b.index.Slots[o.slot]
	if o.did.record > 0 {
		b.records.undo(s.Conn.ID, o.did.record, o.did.repeat)
	}
	if o.did.added {
		s.Conn = nil
		b.index.Used = b.index.Used[:len(b.index.Used)-1]
	}
	b.open = openMessage{}
}

// AppendMessage adds one message from its data without the length word.
func (b *Builder) AppendMessage(c *rosbag.Connection, t rosbag.Time, data []byte) {
	slot, ok := b.slot(c.ID)
	if !ok || b.index.Slots[slot].Conn == nil {
		slot, _ = b.use(c)
	}
	at := len(b.buf)
	size := wire.MessageHeaderBytes + 4 + len(data)
	if cap(b.buf)-at < size {
		b.grow(size)
	}
	b.buf = b.buf[:at+size]
	record := b.buf[at:]
	wire.PutMessageHeader(record, c.ID, t)
	binary.LittleEndian.PutUint32(record[wire.MessageHeaderBytes:], uint32(len(data)))
	copy(record[wire.MessageHeaderBytes+4:], data)
	b.index.Entries = append(b.index.Entries,
		wire.IndexEntry{Time: t, Offset: uint32(at - wire.ChunkHeadroom), Slot: slot})
	b.count(slot, 1, size, t, t)
}

// grow makes room for n more bytes.
func (b *Builder) grow(n int) {
	need := len(b.buf) + n
	b.checkSize(int64(need))
	if need <= cap(b.buf) {
		return
	}
	// The first chunks of a file would else be copied at each of many small steps. A
	// chunk of the usual size ends in memory that has room for its index, too.
	b.buf = slices.Grow(b.buf, max(n, min(3*len(b.buf)+firstGrowBytes, maxGrowBytes)))
}

// checkSize panics when a chunk would exceed what readers accept: its owner seals
// it long before.
func (b *Builder) checkSize(n int64) {
	if n > wire.MaxBuiltChunkBytes {
		panic(fmt.Sprintf("chunk: chunk of %d bytes, limit %d", n, wire.MaxBuiltChunkBytes))
	}
}

// count accounts for messages that were just added.
func (b *Builder) count(slot int32, messages, size int, first, last rosbag.Time) {
	if messages == 0 {
		return
	}
	none := len(b.index.Entries) == messages // before these
	if none || first.Before(b.start) {
		b.start = first
	}
	if none || b.end.Before(last) {
		b.end = last
	}
	b.index.Slots[slot].Count += uint32(messages)
	b.index.Slots[slot].Bytes += uint64(size - messages*(wire.MessageHeaderBytes+4))
	if b.records != nil {
		b.records.bytes += int64(size)
	}
}

// slot finds the slot of a connection.
func (b *Builder) slot(id rosbag.ConnID) (int32, bool) {
	if id < denseConnIDs {
		if int64(id) < int64(len(b.dense)) {
			s := b.dense[id]
			return s - 1, s != 0
		}
		return 0, false
	}
	s, ok := b.sparse[id]
	return s, ok
}

// use returns the slot of c and, at its first use in this chunk, writes the
// connection record if the file needs it.
func (b *Builder) use(c *rosbag.Connection) (slot int32, did firstUse) {
	s, ok := b.slot(c.ID)
	if ok && b.index.Slots[s].Conn != nil {
		return s, firstUse{}
	}
	if !ok {
		s = b.addSlot(c.ID)
	}
	b.index.Slots[s].Conn = c
	b.index.Used = append(b.index.Used, s)
	did.added = true
	size := wire.ConnectionBytes(c)
	if write, repeat := b.records.want(c.ID, size); write {
		b.grow(size)
		b.buf = wire.AppendConnection(b.buf, c)
		b.records.add(c.ID, size, repeat)
		did.record, did.repeat = size, repeat
	}
	return s, did
}

func (b *Builder) addSlot(id rosbag.ConnID) int32 {
	s := int32(len(b.index.Slots))
	b.index.Slots = append(b.index.Slots, wire.IndexSlot{})
	if id >= denseConnIDs {
		if b.sparse == nil {
			b.sparse = make(map[rosbag.ConnID]int32)
		}
		b.sparse[id] = s
		return s
	}
	if n := int(id) + 1; n > len(b.dense) {
		b.dense = append(b.dense, make([]int32, n-len(b.dense))...)
	}
	b.dense[id] = s + 1
	return s
}
