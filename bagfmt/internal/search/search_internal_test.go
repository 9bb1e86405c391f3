package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/testkit"
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
		"without data":             {"xx" + chunkRecord(fields.List{none, op, size}, ""), 0, 2},
		"op field at the end":      {"xx" + opField, 0, -1},
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
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
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

// messageRecord encodes a message record.
func messageRecord(id rosbag.ConnID, data string) string {
	b := make([]byte, wire.MessageHeaderBytes)
	wire.PutMessageHeader(b, id, rosbag.Time{Sec: 1})
	return string(binary.LittleEndian.AppendUint32(b, uint32(len(data)))) + data
}

// connectionRecord encodes the record of a connection.
func connectionRecord(topic string) string {
	return string(wire.AppendConnection(nil, &rosbag.Connection{Topic: topic}))
}

// TestMessage looks for records of messages and connections between two places.
func TestMessage(t *testing.T) {
	t.Parallel()
	message, connection := messageRecord(1, "data"), connectionRecord("/t")
	large, tooLong := messageRecord(2, strings.Repeat("z", 5*firstBlock)), connectionRecord(strings.Repeat("t", maxHeader-30))
	for name, tt := range map[string]struct {
		in       string
		from, to int64 // to 0: the end
		want     int64 // -1: none
	}{
		"message":               {"xx" + message + message, 0, 0, 2},
		"connection":            {"xx" + connection + message, 0, 0, 2},
		"last in the file":      {"xx" + message, 0, 0, 2},
		"cut":                   {"xx" + message[:len(message)-1], 0, 0, -1},
		"before garbage":        {"xx" + message + strings.Repeat("\xff", 600), 0, 0, -1},
		"unknown connection":    {"xx" + messageRecord(2, "data") + message, 0, 0, int64(2 + len(message))},
		"not before from":       {message + message, 1, 0, int64(len(message))},
		"without a time":        {"xx" + chunkRecord(fields.List{{Key: "conn", Value: "\x01\x00\x00\x00"}, {Key: "op", Value: "\x02"}}, "") + message, 0, 0, 31},
		"the last place":        {"xx" + message, 0, 3, 2},
		"at the end":            {"xx" + message, 0, 2, -1},
		"no chunk":              {"xx" + chunkRecord(fields.List{{Key: "compression", Value: "none"}, {Key: "op", Value: "\x05"}, {Key: "size", Value: "\x00\x00\x00\x00"}}, ""), 0, 0, -1},
		"longest header":        {"xx" + connectionRecord(strings.Repeat("t", maxHeader-31)) + message, 0, 0, 2},
		"header one byte more":  {"xx" + tooLong + message, 0, 0, int64(2 + len(tooLong))},
		"after a large message": {large + message, 1, 0, int64(len(large))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			size := int64(len(tt.in))
			to := tt.to
			if to == 0 {
				to = size
			}
			next, ok := Message(strings.NewReader(tt.in), tt.from, to, size, func(id rosbag.ConnID) bool { return id == 1 })
			if !ok {
				next = -1
			}
			if next != tt.want {
				t.Errorf("found %d, want %d", next, tt.want)
			}
		})
	}
}

// TestEverywhere finds a chunk and index data wherever they start in the blocks of a search.
func TestEverywhere(t *testing.T) {
	t.Parallel()
	chunk := chunkRecord(fields.List{{Key: "compression", Value: "none"}, {Key: "op", Value: "\x05"}, {Key: "size", Value: "\x04\x00\x00\x00"}}, "data")
	index := string(wire.AppendIndexHeader(nil, 3, 0))
	for _, boundary := range []int{firstBlock, 3 * firstBlock, blockBytes, 2 * blockBytes} {
		for at := boundary - 80; at < boundary+10; at++ {
			z := strings.Repeat("z", at)
			if next, ok := Chunk(strings.NewReader(z+chunk), 0, int64(at+len(chunk))); !ok || next != int64(at) {
				t.Errorf("chunk at %d: found at %d, %t", at, next, ok)
			}
			if next, ok := IndexData(strings.NewReader(z+index), 0, int64(at+len(index))); !ok || next != int64(at) {
				t.Errorf("index data at %d: found at %d, %t", at, next, ok)
			}
			if next, ok := IndexData(strings.NewReader(z+index), 0, int64(at+len(index)-5)); ok {
				t.Errorf("index data at %d that does not end in time: found at %d", at, next)
			}
		}
	}
}

// TestIndexData looks for index data between two places.
func TestIndexData(t *testing.T) {
	t.Parallel()
	index := string(wire.AppendIndexHeader(nil, 3, 0))
	header := func(before, after int) string { // with so many bytes more before the op field and at the end
		return chunkRecord(fields.List{
			{Key: "a", Value: strings.Repeat("v", before)},
			{Key: "conn", Value: "\x01\x00\x00\x00"},
			{Key: "count", Value: "\x00\x00\x00\x00"},
			{Key: "op", Value: "\x04"},
			{Key: "ver", Value: "\x01\x00\x00\x00"},
			{Key: "z", Value: strings.Repeat("v", after)},
		}, "")
	}
	none := len(header(0, 0)) - wire.MinRecordBytes // bytes of this header
	for name, tt := range map[string]struct {
		in       string
		from, to int
		want     int64 // -1: none
	}{
		"at once":         {index, 0, len(index), 0},
		"after":           {"xx" + index + index, 0, 2 + len(index), 2},
		"not before from": {index + index, 1, 2 * len(index), int64(len(index))},
		"header ends":     {"xx" + index, 0, 2 + len(index) - 4, 2}, // before the length of the data
		"cut":             {"xx" + index, 0, 2 + len(index) - 5, -1},
		"none":            {"xx", 0, 2, -1},
		"empty":           {index, 5, 5, -1},
		"to before from":  {index, 5, 4, -1},
		"other version":   {strings.Replace(index, "ver=\x01", "ver=\x02", 1) + index, 0, 2 * len(index), int64(len(index))},
		"other record":    {messageRecord(1, "") + index, 0, wire.MessageHeaderBytes + 4 + len(index), wire.MessageHeaderBytes + 4},
		"without a count": {chunkRecord(fields.List{{Key: "conn", Value: "1234"}, {Key: "op", Value: "\x04"}, {Key: "ver", Value: "\x01\x00\x00\x00"}}, "") + index, 0, 200, 41},
		"far op":          {header(26, 0), 0, 200, 0},
		"op too far":      {header(27, 0), 0, 200, -1},
		"longest header":  {header(0, 127-none), 0, 200, 0},
		"one byte more":   {header(0, 128-none), 0, 200, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, ok := IndexData(strings.NewReader(tt.in), int64(tt.from), int64(tt.to))
			if !ok {
				next = -1
			}
			if next != tt.want {
				t.Errorf("found %d, want %d", next, tt.want)
			}
		})
	}
}

// TestPlausibleHead judges what may be the start of a record.
func TestPlausibleHead(t *testing.T) {
	t.Parallel()
	u32 := func(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	index := string(wire.AppendIndexHeader(nil, 3, 0))
	long := connectionRecord(strings.Repeat("/long", 200))
	noKey := strings.ReplaceAll(long, "=", "+")
	header := 4 + int(binary.LittleEndian.Uint32([]byte(long))) // bytes of it, with its length
	op := func(op byte) string { return chunkRecord(fields.List{{Key: "op", Value: string(op)}}, "") }
	for name, tt := range map[string]struct {
		in    string
		after int64 // bytes of the file after in
		ok    bool
		op    rosbag.Op
	}{
		"whole":                    {index, 0, true, rosbag.OpIndexData},
		"header":                   {index[:len(index)-4], 0, true, rosbag.OpIndexData},
		"connection":               {connectionRecord("/t"), 0, true, rosbag.OpConnection},
		"4 bytes at the end":       {"\xff\xff\xff\xff", 0, false, 0},
		"ends after a large field": {u32(104) + u32(101), 0, false, 0},
		"no key up to the end":     {noKey[:wire.FirstHeadBytes], int64(header - wire.FirstHeadBytes), false, 0},
		"torn by one byte":         {noKey[:wire.FirstHeadBytes], int64(header - wire.FirstHeadBytes - 1), true, 0},
		"torn header":              {index[:len(index)-5], 0, true, 0},
		"torn first field":         {index[:10], 0, true, 0},
		"torn first length":        {index[:6], 0, true, 0},
		"torn length":              {index[:3], 0, true, 0},
		"nothing":                  {"", 0, true, 0},
		"3 bytes of a file":        {index[:3], 1, false, 0},
		"6 bytes of a file":        {index[:6], 100, false, 0},
		"long":                     {long[:wire.FirstHeadBytes], 4000, true, 0},
		"long of an other key":     {strings.Replace(long, "conn=", "xonn=", 1)[:wire.FirstHeadBytes], 4000, false, 0},
		"long without a key":       {noKey[:wire.FirstHeadBytes], 4000, false, 0},
		"torn without a key":       {noKey[:wire.FirstHeadBytes], 0, true, 0},
		"shortest":                 {op(1), 0, true, rosbag.OpMessageDefinition},
		"op 0":                     {op(0), 0, false, 0},
		"op 8":                     {op(8), 0, false, 8},
		"too short":                {u32(wire.MinRecordBytes-1) + strings.Repeat("x", 20), 0, false, 0},
		"longest":                  {u32(wire.MaxHeaderBytes) + u32(5) + "op=\x05", wire.MaxHeaderBytes, true, 0},
		"too long":                 {u32(wire.MaxHeaderBytes+1) + u32(5) + "op=\x05", wire.MaxHeaderBytes, false, 0},
		"first field is all":       {u32(104) + u32(100) + "op=x", 200, true, 0},
		"first field is larger":    {u32(104) + u32(101) + "op=x", 200, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const off = 1000
			ok, op := PlausibleHead([]byte(tt.in), off, off+int64(len(tt.in))+tt.after)
			if ok != tt.ok || op != tt.op {
				t.Errorf("got %t, op %d, want %t, op %d", ok, op, tt.ok, tt.op)
			}
		})
	}
}
