package bagfmt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestIndexOfDamage reads the index of one chunk after that of a damaged one.
func TestIndexOfDamage(t *testing.T) {
	t.Parallel()
	var b buffer
	w, err := NewWriter(&b, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conns := []*rosbag.Connection{{ID: 0, Topic: "/a"}, {ID: 1, Topic: "/b"}}
	var index []int // where the index data of each chunk begins
	for _, n := range []int{1, 2, 1} {
		var builder chunk.Builder
		builder.Reset(nil)
		for _, c := range conns[:n] {
			builder.AppendMessage(c, rosbag.Time{Sec: 1}, nil)
			builder.AppendMessage(c, rosbag.Time{Sec: 2}, nil)
		}
		c, err := builder.Seal(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		index = append(index, int(w.Size())+len(c.Record)-n*(wire.IndexHeaderBytes+2*wire.IndexEntryBytes))
		if err := w.WriteChunk(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	open := func(data []byte) (*Reader, *load.Loader) {
		r, err := NewReader(bytes.NewReader(data), int64(len(data)), ReaderOptions{IndexOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		return r, new(load.Loader)
	}
	all := []bool{true, true}

	r, l := open(b.data)
	var entries []load.Entry
	for i, want := range []int{2, 4, 2} {
		if entries, err = l.Entries(r.t, i, all, entries); err != nil || len(entries) != want {
			t.Errorf("chunk %d: %d entries, want %d, %v", i, len(entries), want, err)
		}
	}

	// Chunk 1 ends before its index says that connection 1 has two messages, and that of
	// chunk 2 says so in place of its own connection.
	bad := slices.Clone(b.data)
	field := func(chunk int, name string) []byte {
		return bad[index[chunk]+bytes.Index(bad[index[chunk]:], []byte(name+"="))+len(name)+1:]
	}
	binary.LittleEndian.PutUint32(field(1, wire.KeyVer), 7)
	binary.LittleEndian.PutUint32(field(2, wire.KeyConn), 1)
	r, l = open(bad)
	for i, damaged := range []bool{false, true, true} {
		if _, err := l.Entries(r.t, i, all, nil); errors.Is(err, rosbag.ErrCorrupt) != damaged {
			t.Errorf("chunk %d: %v", i, err)
		}
	}

	// An entry is missing, and the record says so in its length but not in its count.
	at := index[2] + wire.IndexHeaderBytes
	bad = slices.Delete(slices.Clone(b.data), at, at+wire.IndexEntryBytes)
	binary.LittleEndian.PutUint32(bad[at-4:], wire.IndexEntryBytes)
	pos := bad[bytes.Index(bad, []byte(wire.KeyIndexPos+"="))+len(wire.KeyIndexPos)+1:]
	binary.LittleEndian.PutUint64(pos, binary.LittleEndian.Uint64(pos)-wire.IndexEntryBytes)
	r, l = open(bad)
	if _, err := l.Entries(r.t, 2, all, nil); !errors.Is(err, rosbag.ErrCorrupt) {
		t.Errorf("a record with an entry less than it claims: %v", err)
	}
}
