package chunk

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestBuiltChunkLimit begins messages as large as a chunk may become, and larger.
func TestBuiltChunkLimit(t *testing.T) {
	t.Parallel()
	c := &rosbag.Connection{Topic: "/a", Header: rosbag.Header{{Key: "type", Value: "a/A"}}}
	var b Builder
	begin := func(total int) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		b.Reset(nil)
		b.BeginMessage(c, total-wire.ChunkHeadroom-wire.ConnectionBytes(c)-wire.MessageHeaderBytes)
		return false
	}
	if begin(wire.MaxBuiltChunkBytes) {
		t.Error("a chunk of what readers accept by default is refused")
	}
	if !begin(wire.MaxBuiltChunkBytes + 1) {
		t.Error("a chunk beyond the limit is begun")
	}
	if b.Cap() > 1<<20 {
		t.Errorf("%d bytes for messages that have not come", b.Cap())
	}
}

// TestCap: the memory of a builder is that of its data and of its entries.
func TestCap(t *testing.T) {
	t.Parallel()
	c := &rosbag.Connection{Topic: "/a"}
	var b Builder
	b.Reset(nil)
	for range 1000 {
		b.AppendMessage(c, rosbag.Time{Sec: 1}, nil)
	}
	if want := cap(b.buf) + cap(b.index.Entries)*int(unsafe.Sizeof(wire.IndexEntry{})); b.Cap() != want || want < b.Len()+16*b.Messages() {
		t.Errorf("%d bytes, want %d, for %d messages of %d bytes", b.Cap(), want, b.Messages(), b.Len())
	}
}

// TestGrow: memory that has room stays where it is, and a chunk beyond the limit is
// refused before there is memory for it.
func TestGrow(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Reset(nil)
	b.grow(100)
	had := cap(b.buf)
	b.buf = b.buf[:had-100]
	b.grow(100)
	if cap(b.buf) != had {
		t.Errorf("%d bytes of memory for what has room in %d", cap(b.buf), had)
	}
	defer func() {
		if recover() == nil || cap(b.buf) != had {
			t.Errorf("%d bytes of memory for a chunk beyond the limit", cap(b.buf))
		}
	}()
	b.grow(wire.MaxBuiltChunkBytes)
}

// TestChunkMemory: messages begin where there is no memory for them yet, and the memory
// that the index needed stays with the builder.
func TestChunkMemory(t *testing.T) {
	t.Parallel()
	c := &rosbag.Connection{Topic: "/a"}
	for n := range 400 {
		var r Records
		r.add(c.ID, wire.ConnectionBytes(c), false) // an earlier chunk has the record
		var b Builder
		b.Reset(&r)
		for range n {
			b.AppendMessage(c, rosbag.Time{Sec: 1}, nil)
		}
		b.BeginMessage(c, 4)
		copy(b.Room(4), []byte{0, 0, 0, 0})
		b.FinishMessage(rosbag.Time{Sec: 2})
		sealed, err := b.Seal(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cap(b.buf) < len(sealed.Record) {
			t.Fatalf("%d bytes of memory after a record of %d", cap(b.buf), len(sealed.Record))
		}
	}
}

// TestRoomForIndex: the memory of a large message ends with its chunk record and index, which Seal adds in place.
func TestRoomForIndex(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Reset(nil)
	const small = 5
	for i := range small {
		b.AppendMessage(&rosbag.Connection{ID: rosbag.ConnID(i % 2), Topic: "/small"}, rosbag.Time{Sec: 1}, nil)
	}
	frame := make([]byte, 3<<20)
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4))
	b.BeginMessage(&rosbag.Connection{ID: 2, Topic: "/large"}, len(frame))
	for rest := frame; len(rest) > 0; {
		rest = rest[copy(b.Room(len(rest)), rest):]
	}
	b.FinishMessage(rosbag.Time{Sec: 2})
	had := cap(b.buf)
	sealed, err := b.Seal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(sealed.Record) != had || cap(sealed.Record) != had {
		t.Errorf("a record of %d bytes in %d bytes of memory, which had %d before Seal", len(sealed.Record), cap(sealed.Record), had)
	}
}

// TestSlotsAreForgotten: a builder remembers connections from chunk to chunk, but not many that do not come again.
func TestSlotsAreForgotten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ known, used, want int }{
		{keptSlots, 1, keptSlots},
		{keptSlots + 1, 1, 0},
		{2 * keptSlots, keptSlots, 2 * keptSlots},
		{2*keptSlots + 1, keptSlots, 0},
	} {
		var b Builder
		for _, n := range []int{tt.known, tt.used} {
			b.Reset(nil)
			for id := range n {
				b.AppendMessage(&rosbag.Connection{ID: rosbag.ConnID(id)}, rosbag.Time{Sec: 1}, nil)
			}
		}
		b.Reset(nil)
		if got := len(b.index.Slots); got != tt.want {
			t.Errorf("%d of %d connections came again: %d are remembered, want %d", tt.used, tt.known, got, tt.want)
		}
	}
}

// TestRoomFollowsWhatArrives: the memory of a message that claims to be long is bounded by what has
// come of it, at most 1 MiB or the same again up to 4 MiB, and a quarter more beyond.
func TestRoomFollowsWhatArrives(t *testing.T) {
	t.Parallel()
	const claimed, piece = 64 << 20, 64 << 10
	var b Builder
	b.Reset(nil)
	b.BeginMessage(&rosbag.Connection{Topic: "/a"}, claimed)
	for come := 0; come < claimed; {
		most := come + max(1<<20, min(come, 4<<20), come/4) + 16<<10 // what the chunk has before the message
		next := b.NextCap()
		room := b.Room(piece)
		if b.Cap() != next || b.Cap() > most {
			t.Fatalf("%d bytes of memory after %d have come, want %d as said and at most %d", b.Cap(), come, next, most)
		}
		come += len(room)
	}
	if b.Cap() > claimed+16<<10 {
		t.Errorf("%d bytes of memory for a message of %d", b.Cap(), claimed)
	}
}
