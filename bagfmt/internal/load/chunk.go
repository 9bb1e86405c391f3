package load

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Chunk is an open chunk of a Cursor.
type Chunk struct {
	Number  int
	Entries []Entry
	Next    int // in entries
	Data    []byte
	Stored  []byte               // the compressed data, with Query.Chunks; else, and while Data is nil, memory for it
	Place   wire.ChunkPlace      // where Data was read, with Query.Chunks
	Shared  bool                 // Options.Cache has data, too
	Share   int                  // Message.Share of its messages, once data was loaded
	Damaged *rosbag.CorruptError // why the index could not be read: entries come with the data
	Derive  bool                 // there is no index: entries come with the data
	evicted bool                 // data was loaded and checked once, and sum is its checksum
	sum     uint32
	Used    uint64 // tick when it was first in the heap the last time
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
func (x *Chunk) Empty() Chunk { return Chunk{Entries: x.Entries[:0], Stored: x.Stored[:0]} }
