package latch

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// claims are the claims of a Packer on so many bytes.
type claims struct{ left, claimed, most int64 }

func (c *claims) ClaimLatched(unpacked int64) (int64, bool) {
	if unpacked > c.left {
		return 0, false
	}
	c.left -= unpacked
	c.claimed += unpacked
	c.most = max(c.most, c.claimed)
	return unpacked, true
}

func (c *claims) UnclaimLatched(claimed int64) {
	c.left += claimed
	c.claimed -= claimed
}

// packed is what a Packer has written: the messages of each chunk.
func packed(t *testing.T, p *Packer, all []*Message, at rosbag.Time) (chunks [][]rosbag.Message, err error) {
	t.Helper()
	err = p.Pack(all, at, func(c *chunk.Sealed) error {
		var of []rosbag.Message
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			of = append(of, rosbag.Message{Conn: m.Conn, Time: m.Time, Frame: slices.Clone(m.Frame)})
		}
		chunks = append(chunks, of)
		return nil
	})
	return chunks, err
}

// TestPack: latched messages come in the order of their connections, the oldest first, with one time, in
// chunks of the given size.
func TestPack(t *testing.T) {
	t.Parallel()
	at := rosbag.Time{Sec: 7}
	var all []*Message
	for id := range rosbag.ConnID(3) {
		all = append([]*Message{{source: source(id, "/a"), frame: frame(10, byte(id))}}, all...) // the newest first
	}
	for name, tc := range map[string]struct {
		compression rosbag.Compression
		chunkBytes  int
		messages    []int // of each chunk
	}{
		"a chunk each":       {rosbag.CompressionNone, 1, []int{1, 1, 1}},
		"one chunk":          {rosbag.CompressionNone, 3000, []int{3}},
		"compressed":         {rosbag.CompressionLZ4, 3000, []int{3}},
		"compressed, single": {rosbag.CompressionLZ4, 1, []int{1, 1, 1}},
	} {
		p := &Packer{Claims: new(claims), Compression: tc.compression, ChunkBytes: tc.chunkBytes}
		chunks, err := packed(t, p, all, at)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var messages []int
		next := rosbag.ConnID(0)
		for _, c := range chunks {
			messages = append(messages, len(c))
			for _, m := range c {
				if m.Conn.ID != next || m.Time != at || !bytes.Equal(m.Frame, frame(10, byte(next))) {
					t.Errorf("%s: a message of connection %d at %v, want connection %d", name, m.Conn.ID, m.Time, next)
				}
				next++
			}
		}
		if !slices.Equal(messages, tc.messages) {
			t.Errorf("%s: chunks of %v messages, want %v", name, messages, tc.messages)
		}
	}
	if chunks, err := packed(t, &Packer{Compression: "unknown"}, nil, at); chunks != nil || err != nil {
		t.Errorf("of nothing: %d chunks, %v", len(chunks), err)
	}
}

// TestPackMessagesInChunks: the last message of its connection in a chunk is unpacked for a moment, for which
// memory is claimed. A message for which there is none is left out and named; the others are written.
func TestPackMessagesInChunks(t *testing.T) {
	t.Parallel()
	a, b := source(0, "/a"), source(1, "/b")
	full := sealed(t, func(i int) []byte { return frame(500, byte(i)) }, a, b, a)
	c := InBuffer(full, 0)
	all := []*Message{{source: b, chunk: c}, {source: a, chunk: c}}
	size := c.sealed.UncompressedBytes
	for name, tc := range map[string]struct {
		left int64
		want []byte // the payload of each message
	}{
		"one at a time": {size, []byte{2, 1}},
		"no memory":     {size - 1, nil},
	} {
		memory := &claims{left: tc.left}
		chunks, err := packed(t, &Packer{Claims: memory, Compression: rosbag.CompressionNone, ChunkBytes: 1 << 20}, append(all, &Message{source: source(2, "/c"), frame: frame(1, 9)}), rosbag.Time{})
		var got []byte
		for _, c := range chunks {
			for _, m := range c {
				got = append(got, m.Frame[4])
			}
		}
		if !bytes.Equal(got, append([]byte{9}, tc.want...)) {
			t.Errorf("%s: messages %v", name, got)
		}
		if missing := tc.want == nil; errors.Is(err, ErrNoMemory) != missing || missing && (!bytes.Contains([]byte(err.Error()), []byte("/map of /a: ")) || !bytes.Contains([]byte(err.Error()), []byte("/map of /b: "))) {
			t.Errorf("%s: %v", name, err)
		}
		if memory.claimed != 0 || memory.left != tc.left || tc.want != nil && memory.most != size {
			t.Errorf("%s: %d bytes are still claimed, %d at most", name, memory.claimed, memory.most)
		}
	}
}

// TestPackEnds with the first chunk that cannot be written, and leaves out a message in a chunk that is
// damaged.
func TestPackEnds(t *testing.T) {
	t.Parallel()
	a := source(0, "/a")
	all := []*Message{{source: a, frame: frame(10, 1)}, {source: a, frame: frame(10, 1)}}
	full := errors.New("disk full")
	written := 0
	err := (&Packer{Claims: new(claims), Compression: rosbag.CompressionNone, ChunkBytes: 1}).Pack(all, rosbag.Time{}, func(*chunk.Sealed) error {
		written++
		return full
	})
	if !errors.Is(err, full) || written != 1 {
		t.Errorf("%d chunks were tried, %v", written, err)
	}
	z, err := chunk.NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		t.Fatal(err)
	}
	damaged := sealed(t, func(int) []byte { return frame(500, 1) }, a)
	damaged.Seal(z)
	for i := range damaged.Sealed().Record {
		damaged.Sealed().Record[i] ^= 0xff
	}
	memory := &claims{left: 1 << 20}
	chunks, err := packed(t, &Packer{Claims: memory, Compression: rosbag.CompressionNone, ChunkBytes: 1}, []*Message{{source: a, chunk: InBuffer(damaged, 0)}}, rosbag.Time{})
	if err == nil || chunks != nil || memory.claimed != 0 {
		t.Errorf("of a damaged chunk: %d chunks, %v, %d bytes are still claimed", len(chunks), err, memory.claimed)
	}
}

// A compressor that cannot be made costs the compression, not the messages.
func TestPackWithoutItsCompressor(t *testing.T) {
	t.Parallel()
	var told []error
	p := &Packer{Claims: &claims{}, Compression: "zip", ChunkBytes: 1, Uncompressed: func(err error) { told = append(told, err) }}
	all := []*Message{{source: source(1, "/a"), frame: frame(1, 9)}, {source: source(2, "/b"), frame: frame(2, 9)}}
	chunks, err := packed(t, p, all, rosbag.Time{Sec: 1})
	if err != nil || len(chunks) != 2 || len(told) != 1 {
		t.Errorf("%d chunks, %v, told %v", len(chunks), err, told)
	}
}
