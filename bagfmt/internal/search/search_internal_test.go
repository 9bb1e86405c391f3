package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/fields"
	"github.com/gorosbag/gorosbag/internal/testrace"
	"github.com/gorosbag/gorosbag/rosbag"
)

// chunkOpField is the op field of a chunk.
const chunkOpField = opField + "\x05"

// chunkRecord encodes a chunk record with header fields in the order given.
func chunkRecord(h fields.List, data string) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(h.Size()))
	b = h.Append(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return string(b) + data
}

func TestChunk(t *testing.T) {
	t.Parallel()
	op, size := fields.Field{Key: "op", Value: "\x05"}, fields.Field{Key: "size", Value: "\x04\x00\x00\x00"}
	none := fields.Field{Key: "compression", Value: "none"}
	chunk := chunkRecord(fields.List{none, op, size}, "data")
	python := chunkRecord(fields.List{op, none, size}, "data")
	crc := chunkRecord(fields.List{none, {Key: "crc32c", Value: "1234"}, op, size, {Key: "later", Value: "x=y"}}, "data")
	unknown := chunkRecord(fields.List{{Key: "compression", Value: "zip"}, op, size}, "data")
	index := string(wire.AppendIndexHeader(nil, 3, 0))
	long := string(wire.AppendConnection(nil, &rosbag.Connection{Topic: strings.Repeat("/long", 200)}))
	for name, tt := range map[string]struct {
		in   string
		from int64
		want int64 // -1: none
	}{
		"empty":                    {"", 0, -1},
		"at once":                  {chunk, 0, 0},
		"not before from":          {chunk + chunk, 1, int64(len(chunk))},
		"python":                   {"xx" + python, 0, 2},
		"with checksum":            {"xx" + crc, 0, 2},
		"before a record":          {"xx" + chunk + index, 0, 2},
		"before a long record":     {"xx" + chunk + long, 0, 2},
		"before a torn record":     {"xx" + chunk + index[:9], 0, 2},
		"before garbage":           {"xx" + chunk + strings.Repeat("\xff", 600), 0, -1},
		"garbage, then a good one": {chunk + "\xff\xff\xff\xff" + chunk, 0, int64(len(chunk)) + 4},
		"torn data":                {"xx" + chunk[:len(chunk)-1], 0, 2},
		"torn header":              {"xx" + chunk[:len(chunk)-9], 0, -1},
		"unknown compression":      {unknown + chunk, 0, int64(len(unknown))},
		"after the end":            {chunk, 1000, -1},
		"across a block boundary":  {strings.Repeat("z", blockBytes-30) + chunk, 0, blockBytes - 30},
		"op at a block boundary":   {strings.Repeat("z", blockBytes-4-strings.Index(chunk, chunkOpField)) + chunk, 0, blockBytes - 4 - int64(strings.Index(chunk, chunkOpField))},
		"far away":                 {strings.Repeat("z", 5*blockBytes+17) + chunk, 3, 5*blockBytes + 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, ok := Chunk(strings.NewReader(tt.in), tt.from, int64(len(tt.in)))
			if !ok {
				next = -1
			}
			if next != tt.want {
				t.Errorf("found %d, want %d", next, tt.want)
			}
		})
	}
}

// badBlock returns an error for reads in a range of a file.
type badBlock struct {
	io.ReaderAt
	from, to int64
}

func (b badBlock) ReadAt(p []byte, off int64) (int, error) {
	if off < b.to && off+int64(len(p)) > b.from {
		n := 0
		if off < b.from {
			n, _ = b.ReaderAt.ReadAt(p[:b.from-off], off)
		}
		return n, errors.New("input/output error")
	}
	return b.ReaderAt.ReadAt(p, off)
}

func TestAfterUnreadable(t *testing.T) {
	t.Parallel()
	chunk := chunkRecord(fields.List{{Key: "compression", Value: "none"}, {Key: "op", Value: "\x05"}, {Key: "size", Value: "\x04\x00\x00\x00"}}, "data")
	in := strings.Repeat("z", 3*blockBytes) + chunk
	r := badBlock{strings.NewReader(in), 100, 4000}
	if next, ok := Chunk(r, 0, int64(len(in))); !ok || next != 3*blockBytes {
		t.Errorf("found %d, %t", next, ok)
	}
}

// countingReader counts the bytes requested.
type countingReader struct {
	io.ReaderAt
	bytes int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

// TestHostile searches files full of plausible chunk headers: the bytes read and
// parsed for each byte of the file are bounded.
func TestHostile(t *testing.T) {
	testrace.Skip(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	const size = 1 << 20
	// A header around every op field, with data that ends where no record starts.
	whole := chunkRecord(fields.List{{Key: "compression", Value: "none"}, {Key: "op", Value: "\x05"}, {Key: "size", Value: "\x04\x00\x00\x00"}}, "")
	whole = whole[:len(whole)-4] + "\x01\x02\x00\x00"
	for name, piece := range map[string]string{
		"ops":     chunkOpField,
		"lengths": strings.Repeat("\xf0\x00\x00\x00", 60) + chunkOpField,
		"headers": whole,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := bytes.Repeat([]byte(piece), size/len(piece))
			in = append(in, bytes.Repeat([]byte{0xff}, 2000)...)
			r := &countingReader{ReaderAt: bytes.NewReader(in)}
			f := recordFinder{r: r, to: int64(len(in)), size: int64(len(in))}
			f.next()
			limit := (parseFactor + 2) * len(in)
			if r.bytes < len(in) || r.bytes > limit {
				t.Errorf("%d bytes read of %d, limit %d", r.bytes, len(in), limit)
			}
			if f.parsed > limit || (f.parsed > 0) != (name != "ops") {
				t.Errorf("%d bytes parsed of %d, limit %d", f.parsed, len(in), limit)
			}
		})
	}
}
