package load

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Chunk is an open chunk of a Cursor.
type Chunk struct {
	Number  int
	Entries []Entry
	// in entries
	Next int
	Data []byte
	// the compressed data, with Query.Chunks; else, and while Data is nil, memory for it
	Stored []byte
	// where Data was read, with Query.Chunks
	Place wire.ChunkPlace
	// with Query.Chunks, of MCAP: the end of the publish time of each message, which its frame overwrites
	Overwritten []uint32
	// Options.Cache has data, too
	Shared bool
	// Message.Share of its messages, once data was loaded
	Share int
	// why the index could not be read: entries come with the data
	Damaged *rosbag.CorruptError
	// there is no index: entries come with the data
	Derive bool
	// data was loaded and checked once, and sum is its checksum
	evicted bool
	sum     uint32
	// tick when it was first in the heap the last time
	Used uint64
}

// Before orders open chunks by their next message.
func (x *Chunk) Before(y *Chunk) bool {
	a, b := x.Key(), y.Key()
	return a < b || a == b && x.Number < y.Number
}

// Key returns what chunks are ordered by: the time of the next message.
func (x *Chunk) Key() uint64 {
	if x.EntriesUnknown() {
		return 0 // load it now: the entries come from its data
	}
	return x.Entries[x.Next].Key
}

// EntriesUnknown reports whether the entries of x are unknown until its data is loaded.
func (x *Chunk) EntriesUnknown() bool { return x.Derive || x.Damaged != nil }

// Bytes returns the bytes of data that x holds.
func (x *Chunk) Bytes() int64 { return int64(len(x.Data) + len(x.Stored)) }

// Empty returns a Chunk without anything but the memory of x.
func (x *Chunk) Empty() Chunk {
	return Chunk{Entries: x.Entries[:0], Stored: x.Stored[:0], Overwritten: x.Overwritten[:0]}
}
