package chunk

import (
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
