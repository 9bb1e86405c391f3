package stock_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// formatRows are what the bytes of the bags look like.
func formatRows() []recordRow {
	x := func(topics string) want { return want{files: "x.bag", topics: topics} }
	const slow = "GORECORD_FLUSH_INTERVAL=1m" // no chunk ends because it is old
	return []recordRow{
		{name: "46 layout", args: "/chatter /ns/num -O x", ours: x("/chatter /ns/num"), check: layout},
		{name: "46 layout of an empty bag", args: "/nothing -O x", ours: x(""), check: empty},
		{name: "47 a chunk for each message", args: "--chunksize 0 /chatter -O x", ours: x("/chatter"), check: chunkEach},
		{name: "47 default chunks", args: "--size=2 /big -O x", env: slow, ends: true, ours: x("/big"), check: chunks(768<<10, rosbag.CompressionNone, "")},
		{name: "47 chunks of a size", args: "--chunksize=50 /big -O x", env: slow, ours: x("/big"), check: chunks(50<<10, rosbag.CompressionNone, "")},
		{name: "47 chunks of a size, wrapper", args: "--chunksize=50 /big -O x", env: slow, wrapper: true, ours: x("/big"), check: chunks(50<<10, rosbag.CompressionNone, "")},
		{name: "48 lz4", args: "--lz4 --chunksize 50 /big -O x", env: slow, ours: x("/big"), check: chunks(50<<10, rosbag.CompressionLZ4, "\x04\x22\x4d\x18\x64")},
		{name: "48 lz4, wrapper", args: "--lz4 --chunksize 50 /big -O x", env: slow, wrapper: true, ours: x("/big"), check: chunks(50<<10, rosbag.CompressionLZ4, "\x04\x22\x4d\x18\x64")},
		{name: "48 bz2", args: "--bz2 --chunksize 50 /big -O x", env: slow, ours: x("/big"), check: chunks(50<<10, rosbag.CompressionBZ2, "BZh9")},
		{name: "48 bz2, wrapper", args: "--bz2 --chunksize 50 /big -O x", env: slow, wrapper: true, ours: x("/big"), check: chunks(50<<10, rosbag.CompressionBZ2, "BZh9")},
	}
}

// open opens the bag of a row.
func (o *outcome) open(t *testing.T) (data []byte, r *bagfmt.Reader) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(o.dir, "x.bag"))
	if err != nil {
		t.Fatal(err)
	}
	r, err = bagfmt.NewReader(bytes.NewReader(data), int64(len(data)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return data, r
}

// layout checks where the parts are: a header padded with spaces, then the chunks.
func layout(t *testing.T, o *outcome) {
	t.Helper()
	data, r := o.open(t)
	const header = 13 + 4 + 69 + 4 // version line and file header
	if pad := data[header:4117]; string(pad) != string(bytes.Repeat([]byte{' '}, len(pad))) {
		t.Errorf("%s: the file header is padded with %q", o.who, pad)
	}
	if !r.Info().Indexed || len(r.Info().Damage) > 0 || r.NumSpans() == 0 || r.Span(0).Pos != 4117 {
		t.Errorf("%s: indexed %t, damage %v, %d chunks", o.who, r.Info().Indexed, r.Info().Damage, r.NumSpans())
	}
}

// chunkEach checks that each message has a chunk.
func chunkEach(t *testing.T, o *outcome) {
	t.Helper()
	if _, r := o.open(t); uint64(r.NumSpans()) != r.Info().Messages {
		t.Errorf("%s: %d chunks of %d messages", o.who, r.NumSpans(), r.Info().Messages)
	}
}

// chunks checks that the first chunk was closed after the message that took it
// beyond limit, its compression, and how its data begin.
func chunks(limit int64, c rosbag.Compression, magic string) func(*testing.T, *outcome) {
	return func(t *testing.T, o *outcome) {
		t.Helper()
		data, r := o.open(t)
		h, err := r.ChunkHeader(0)
		if err != nil {
			t.Fatal(err)
		}
		const message = 20_100
		if h.Compression != c || h.UncompressedBytes <= limit || h.UncompressedBytes > limit+message {
			t.Errorf("%s: chunk %+v with a limit of %d", o.who, h, limit)
		}
		if !bytes.Contains(data[4117:4250], []byte(magic)) {
			t.Errorf("%s: no %q in the first chunk: %q", o.who, magic, data[4117:4250])
		}
	}
}
