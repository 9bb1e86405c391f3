package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestTruncatedEverywhere cuts bags at each byte: what was whole before the cut is
// read, and the rest is a typed error.
func TestTruncatedEverywhere(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			full := sampleBag(t, comp)
			want, errs := scanAll(t, full)
			if errs != nil || len(want) != 30 {
				t.Fatalf("%d messages, %v", len(want), errs)
			}
			before := 0
			for i := range cuts(full, 1) {
				cut := full[:i:i]
				got, errs := scanAll(t, cut)
				if len(got) < before || len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("cut at %d: %d messages after %d, or not a prefix", i, len(got), before)
				}
				before = len(got)
				for _, err := range errs {
					if !typed(err) || i > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Fatalf("cut at %d: scanner: %v", i, err)
					}
				}
				if len(errs) > 1 {
					t.Fatalf("cut at %d: scanner: %v", i, errs)
				}
				if _, err := openBag(cut); !typed(err) {
					t.Fatalf("cut at %d: reader: %v", i, err)
				}
			}
			if before != len(want) {
				t.Errorf("%d of %d messages before the last byte", before, len(want))
			}
		})
	}
}

// TestBitFlips flips bits in each byte of a bag: a message that is not as it was must not
// come without an error. Only what no checksum covers may change: the index
// section, the index times of chunks, and headers.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			full := sampleBag(t, comp)
			want, _ := scanAll(t, full)
			known := make(map[msg]int)
			for _, m := range want {
				known[m]++
			}
			index := recordsOf(t, full, 7)[0].off
			conn1 := rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.ID == 1 }}
			of1 := make(map[msg]int)
			for _, m := range want {
				if m.Topic == "/odom" {
					of1[m]++
				}
			}
			for i, mask := range flips(full, 0, index, 1, 2) {
				b := flipped(full, i, mask)
				got, errs := readAll(t, b, rosbag.Query{})
				checkFlip(t, "reader", i, known, len(want), got, errs)
				got, errs = readAll(t, b, conn1)
				checkFlip(t, "reader of one connection", i, of1, 10, got, errs)
				got, errs = scanAll(t, b)
				checkFlip(t, "scanner", i, known, len(want), got, errs)
			}
		})
	}
}

// TestIndexFlips flips bits in the index section. No checksum covers it, so that
// topics may change; but no message may change or go missing without an error.
func TestIndexFlips(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionLZ4)
	want, _ := scanAll(t, full)
	anon := func(list []msg) (out []msg, count map[msg]int) {
		count = make(map[msg]int)
		for _, m := range list {
			m.Topic = ""
			out = append(out, m)
			count[m]++
		}
		return out, count
	}
	_, known := anon(want)
	odom, _ := anon(slices.DeleteFunc(slices.Clone(want), func(m msg) bool { return m.Topic != "/odom" }))
	_, of1 := anon(odom)
	conn1 := rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.ID == 1 }}
	for i, mask := range flips(full, recordsOf(t, full, 7)[0].off, len(full), 1, 8) {
		b := flipped(full, i, mask)
		got, errs := readAll(t, b, rosbag.Query{})
		got, _ = anon(got)
		checkFlip(t, "reader", i, known, len(want), got, errs)
		got, errs = readAll(t, b, conn1)
		got, _ = anon(got)
		checkFlip(t, "reader of one connection", i, of1, len(odom), got, errs)
	}
}

// TestIndexTwice has the index of one connection twice in a chunk, and in a chunk
// info: the other connection must not be lost without a word.
func TestIndexTwice(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	index, infos := recordsOf(t, full, 4), recordsOf(t, full, 6)
	if index[0].data == nil || len(index[0].data) != len(index[1].data) {
		t.Fatal("the sample has changed")
	}
	for id := range rosbag.ConnID(3) {
		q := rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.ID == id }}
		b := setU32(full, index[1].fields["conn"], 0)
		msgs, errs := readAll(t, b, q)
		var c *rosbag.CorruptError
		if len(msgs) != 10 || len(errs) != 1 || !errors.As(errs[0], &c) || c.Offset != int64(index[1].off) || !c.Recovered {
			t.Errorf("connection %d: %d messages, %v", id, len(msgs), errs)
		}
	}
	if _, err := openBag(setU32(full, infos[0].dataAt+4+8, 0)); !errors.Is(err, rosbag.ErrCorrupt) {
		t.Errorf("connection twice in a chunk info: %v", err)
	}
}

func checkFlip(t *testing.T, who string, at int, known map[msg]int, count int, got []msg, errs []error) {
	t.Helper()
	for _, err := range errs {
		if !typed(err) {
			t.Fatalf("%s, byte %d: untyped %v", who, at, err)
		}
	}
	for _, m := range got {
		if known[m] == 0 {
			t.Fatalf("%s, byte %d: wrong message %v, errors %v", who, at, m, errs)
		}
	}
	if len(got) < count && len(errs) == 0 {
		t.Fatalf("%s, byte %d: %d of %d messages without an error", who, at, len(got), count)
	}
}

// damage is one row of the table of corruptions.
type damage struct {
	bag     []byte
	offset  int64 // of the reported record, -1 if there is no error
	op      rosbag.Op
	scanned int  // messages that the scanner finds
	read    int  // messages that the reader finds
	reader  bool // whether it is the reader that reports
}

// corruptions is the table: what is wrong with a bag, and what comes of it.
func corruptions(t *testing.T) map[string]damage {
	t.Helper()
	full := sampleBag(t, rosbag.CompressionNone)
	lz := sampleBag(t, rosbag.CompressionLZ4)
	chunk := recordsOf(t, full, 5)
	lzChunk := recordsOf(t, lz, 5)
	index := recordsOf(t, full, 4)
	conns := recordsOf(t, full, 7)
	infos := recordsOf(t, full, 6)
	head := recordsOf(t, full, 3)[0]
	in := func(b []byte, r record) int { return countMessages(t, b, r) }
	last := len(chunk) - 1
	if last < 2 {
		t.Fatalf("only %d chunks", len(chunk))
	}
	flip := func(b []byte, at int) []byte { b = slices.Clone(b); b[at] ^= 8; return b }
	return map[string]damage{
		"sound":                     {full, -1, 0, 30, 30, false},
		"crc32c flipped":            {flip(full, chunk[1].fields["crc32c"]), int64(chunk[1].off), 5, 30 - in(full, chunk[1]), 30 - in(full, chunk[1]), true},
		"data flipped":              {flip(full, chunk[1].dataAt+60), int64(chunk[1].off), 5, 30 - in(full, chunk[1]), 30 - in(full, chunk[1]), true},
		"lz4 data flipped":          {flip(lz, lzChunk[1].dataAt+30), int64(lzChunk[1].off), 5, 30 - in(lz, lzChunk[1]), 30 - in(lz, lzChunk[1]), true},
		"lz4 size too big":          {setU32(lz, lzChunk[1].fields["size"], 5000), int64(lzChunk[1].off), 5, 30 - in(lz, lzChunk[1]), 30 - in(lz, lzChunk[1]), true},
		"lz4 size too small":        {setU32(lz, lzChunk[1].fields["size"], 500), int64(lzChunk[1].off), 5, 30 - in(lz, lzChunk[1]), 30 - in(lz, lzChunk[1]), true},
		"lz4 size of 4 GiB":         {setU32(lz, lzChunk[1].fields["size"], 1<<32-1), int64(lzChunk[1].off), 5, 30 - in(lz, lzChunk[1]), 30 - in(lz, lzChunk[1]), true},
		"unknown compression":       {replace(lz, lzChunk[0].fields["compression"], "zip"), int64(lzChunk[0].off), 5, 0, 30 - in(lz, lzChunk[0]), true},
		"size of an uncompressed":   {setU32(full, chunk[1].fields["size"], 1), -1, 0, 30, 30, false},
		"index count too big":       {setU32(full, index[0].fields["count"], 1<<31), int64(index[0].off), 4, 30, 30, true},
		"index count off by one":    {setU32(full, index[0].fields["count"], 2), int64(index[0].off), 4, 30, 30, true},
		"index length 0":            {cutData(full, index[0]), int64(index[0].off), 4, 30, 0, false},
		"index version 2":           {setU32(full, index[0].fields["ver"], 2), int64(index[0].off), 4, 30, 30, true},
		"index of another":          {setU32(full, index[0].fields["conn"], 77), int64(index[0].off), 4, 30, 30, true},
		"index offset wrong":        {setU32(full, index[0].dataAt+4+8, 3), int64(chunk[0].off), 5, 30, 30, true},
		"index offset outside":      {setU32(full, index[0].dataAt+4+8, 1<<31), int64(chunk[0].off), 5, 30, 30, true},
		"index time wrong":          {setU32(full, index[1].dataAt+4, 9), int64(chunk[0].off), 5, 30, 30, true},
		"chunk length too big":      {setU32(full, chunk[last].dataAt, 1<<20), int64(chunk[last].off), 5, 30, 30 - in(full, chunk[last]), true},
		"chunk header too long":     {setU32(full, chunk[1].off, 1<<21), int64(chunk[1].off), 0, in(full, chunk[0]), 30 - in(full, chunk[1]), false},
		"chunk header length 0":     {setU32(full, chunk[1].off, 0), int64(chunk[1].off), 0, in(full, chunk[0]), 30 - in(full, chunk[1]), false},
		"chunk header length 3":     {setU32(full, chunk[1].off, 3), int64(chunk[1].off), 0, in(full, chunk[0]), 30 - in(full, chunk[1]), false},
		"chunk op unknown":          {setOp(full, chunk[1], 99), int64(chunk[1].off), 99, 30 - in(full, chunk[1]), 30 - in(full, chunk[1]), true},
		"chunk skipped":             {setOp(full, chunk[1], 99), int64(chunk[1].dataAt + 4 + len(chunk[1].data)), 4, 30 - in(full, chunk[1]), 30 - in(full, chunk[1]), false},
		"index position 0":          {setU64(full, head.fields["index_pos"], 0), -1, 0, 30, 0, true},
		"index position past end":   {setU64(full, head.fields["index_pos"], 1<<40), 13, 3, 30, 0, true},
		"index position 1<<63":      {setU64(full, head.fields["index_pos"], 1<<63), 13, 3, 30, 0, true},
		"index position in header":  {setU64(full, head.fields["index_pos"], 5), 13, 3, 30, 0, true},
		"index position in a chunk": {setU64(full, head.fields["index_pos"], uint64(chunk[1].dataAt+9)), int64(chunk[1].dataAt + 9), 0, 30, 0, true},
		"connection count 2^32-1":   {setU32(full, head.fields["conn_count"], 1<<32-1), 13, 3, 30, 0, true},
		"chunk count too big":       {setU32(full, head.fields["chunk_count"], uint32(len(chunk)+1)), int64(len(full)), 0, 30, 0, true},
		"chunk info version":        {setU32(full, infos[0].fields["ver"], 2), int64(infos[0].off), 6, 30, 0, true},
		"chunk info count":          {setU32(full, infos[0].fields["count"], 1<<32-1), int64(infos[0].off), 6, 30, 0, true},
		"chunk info position":       {setU64(full, infos[1].fields["chunk_pos"], uint64(chunk[0].off)), int64(infos[1].off), 6, 30, 0, true},
		"chunk info position -1":    {setU64(full, infos[1].fields["chunk_pos"], 1<<64-1), int64(infos[1].off), 6, 30, 0, true},
		"chunk info not at a chunk": {setU64(full, infos[1].fields["chunk_pos"], uint64(index[0].off)), int64(chunk[0].off), 5, 30, 30 - in(full, chunk[1]), true},
		"chunk info of nobody":      {setU32(full, infos[0].dataAt+4, 50), int64(infos[0].off), 6, 30, 0, true},
		"connection field too long": {setU32(full, conns[0].dataAt+4, 1<<31), int64(conns[0].off), 7, 30, 0, true},
		"connection defined twice":  {setU32(full, conns[1].fields["conn"], 0), int64(conns[1].off), 7, 30, 0, true},
		"connection topic missing":  {bytes.Replace(full, []byte("topic=/odom\x8b"), []byte("tapic=/odom\x8b"), 1), -1, 0, 30, 30, false},
		"zero tail":                 {append(slices.Clone(full[:conns[0].off]), make([]byte, 5000)...), int64(conns[0].off), 0, 30, 0, false},
		"garbage after the bag":     {append(slices.Clone(full), bytes.Repeat([]byte("garbage"), 99)...), -1, 0, 30, 30, false},
		"another bag after the bag": {slices.Concat(full, full), int64(len(full)), 0, 30, 30, false},
	}
}

func TestCorruptions(t *testing.T) {
	t.Parallel()
	for name, tc := range corruptions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msgs, errs := scanAll(t, tc.bag)
			if len(msgs) != tc.scanned {
				t.Errorf("scanner: %d messages, want %d, errors %v", len(msgs), tc.scanned, errs)
			}
			read, rerrs := readAll(t, tc.bag, rosbag.Query{})
			if len(read) != tc.read {
				t.Errorf("reader: %d messages, want %d, errors %v", len(read), tc.read, rerrs)
			}
			for _, err := range slices.Concat(errs, rerrs) {
				if !typed(err) {
					t.Errorf("untyped error %v", err)
				}
			}
			if tc.reader {
				errs = rerrs
			}
			checkDamage(t, tc, errs)
		})
	}
}

// checkDamage compares the first error with what the table says.
func checkDamage(t *testing.T, tc damage, errs []error) {
	t.Helper()
	if tc.offset < 0 {
		if len(errs) > 0 && !errors.Is(errs[0], rosbag.ErrUnindexed) {
			t.Errorf("got %v", errs)
		}
		return
	}
	if len(errs) == 0 {
		t.Fatal("no error")
	}
	var c *rosbag.CorruptError
	var l *rosbag.LimitError
	switch {
	case errors.As(errs[0], &c):
		if c.Offset != tc.offset || c.Op != tc.op {
			t.Errorf("offset %d, op %d, want %d, %d: %v", c.Offset, c.Op, tc.offset, tc.op, errs[0])
		}
	case errors.As(errs[0], &l):
		if l.Offset != tc.offset || l.Op != tc.op {
			t.Errorf("offset %d, op %d, want %d, %d: %v", l.Offset, l.Op, tc.offset, tc.op, errs[0])
		}
	default:
		t.Errorf("got %v", errs[0])
	}
}

// countMessages counts the messages of a chunk by the index data records after it.
func countMessages(t *testing.T, b []byte, c record) int {
	t.Helper()
	n, after := 0, false
	for _, r := range records(t, b) {
		if r.op == 4 && after {
			n += int(binary.LittleEndian.Uint32(b[r.fields["count"]:]))
		}
		if r.op != 4 {
			after = r.off == c.off
		}
	}
	return n
}

func replace(b []byte, at int, s string) []byte {
	b = slices.Clone(b)
	copy(b[at:], s)
	return b
}

func setOp(b []byte, r record, op byte) []byte {
	return replace(b, r.fields["op"], string([]byte{op}))
}

// cutData removes the data of r, which claims it still.
func cutData(b []byte, r record) []byte {
	return slices.Concat(b[:r.dataAt], make([]byte, 4), b[r.dataAt+4+len(r.data):])
}

// allocConst is what buffers and codecs may take beside a multiple of the input.
const allocConst = 16 << 20

func TestNotABag(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want error
	}{
		"empty":          {"", rosbag.ErrNotBag},
		"text":           {"hello world\n", rosbag.ErrNotBag},
		"no line":        {strings.Repeat("x", 1000), rosbag.ErrNotBag},
		"half a line":    {"#ROSBAG", rosbag.ErrCorrupt},
		"version 1.3":    {"#ROSBAG V1.3\nxxxx", rosbag.ErrVersion},
		"version 2.1":    {"#ROSBAG V2.1\nxxxx", rosbag.ErrVersion},
		"version 3.0":    {"#ROSBAG V3.0\nxxxx", rosbag.ErrVersion},
		"only a line":    {"#ROSBAG V2.0\n", rosbag.ErrCorrupt},
		"no bag header":  {"#ROSBAG V2.0\n" + string(rec(fields.List{{Key: "op", Value: "\x05"}, {Key: "compression", Value: "none"}, {Key: "size", Value: u32s(0)}}, nil)), rosbag.ErrCorrupt},
		"half a version": {"#ROSBAG V2\n", rosbag.ErrNotBag},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, errs := scanAll(t, []byte(tc.in)); len(errs) != 1 || !errors.Is(errs[0], tc.want) {
				t.Errorf("scanner: %v, want %v", errs, tc.want)
			}
			if _, err := openBag([]byte(tc.in)); !errors.Is(err, tc.want) {
				t.Errorf("reader: %v, want %v", err, tc.want)
			}
		})
	}
	var v *rosbag.VersionError
	_, err := openAny([]byte("#ROSBAG V1.3\n"))
	if !errors.As(err, &v) || v.Version != "1.3" || !strings.Contains(err.Error(), "never released") {
		t.Errorf("got %v, want version 1.3, never released", err)
	}
}

// brokenReader fails after n bytes with an error that is not the end.
type brokenReader struct {
	b []byte
	n int
}

func (r *brokenReader) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, errInjected
	}
	n := copy(p, r.b[:r.n])
	r.b, r.n = r.b[n:], r.n-n
	return n, nil
}

// TestReadErrors checks that a failing disk is told from a damaged file.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	for _, n := range []int{0, 5, 13, 20, 100, 4117, 4120, 4300, 5000, 7000} {
		s, err := bagfmt.NewScanner(&brokenReader{full, n}, bagfmt.ScannerOptions{})
		for range 1000 {
			if err != nil {
				break
			}
			_, err = s.Next()
		}
		if !errors.Is(err, errInjected) || errors.Is(err, rosbag.ErrCorrupt) {
			t.Errorf("after %d bytes: %v, want the injected error", n, err)
		}
		if s != nil {
			if _, again := s.Next(); !errors.Is(again, io.EOF) || errors.Is(again, errInjected) {
				t.Errorf("after %d bytes, again: %v, want the end", n, again)
			}
		}
	}
}

// TestCrowdedIndex has many index entries that point at the same records, so that
// reading them one by one would take minutes.
func TestCrowdedIndex(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	conn := rec(fields.List{{Key: "op", Value: "\x07"}, {Key: "conn", Value: u32s(0)}, {Key: "topic", Value: conns[0].Topic}}, fields.List(conns[0].Header).Append(nil))
	message := func(more ...fields.Field) []byte {
		return rec(append(fields.List{{Key: "op", Value: "\x02"}, {Key: "conn", Value: u32s(0)}, {Key: "time", Value: u32s(1, 0)}}, more...), []byte("data"))
	}
	var long []fields.Field
	for range 20_000 {
		long = append(long, fields.Field{Key: "k", Value: ""})
	}
	tests := map[string]struct {
		chunk []byte
		good  bool
	}{
		"one connection record":  {slices.Concat(conn, message()), true},
		"16 connection records":  {slices.Concat(bytes.Repeat(conn, 16), message()), true},
		"17 connection records":  {slices.Concat(bytes.Repeat(conn, 17), message()), false},
		"long run":               {slices.Concat(bytes.Repeat(conn, 23_590), message()), false},
		"message with many keys": {message(long...), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := uint32(20_000)
			if tc.good {
				count = 1
			}
			one := bomb(t, rosbag.CompressionNone, tc.chunk, uint32(len(tc.chunk)))
			head, tail := recordsOf(t, one, 3)[0], recordsOf(t, one, 7)[0].off
			index := rec(fields.List{{Key: "op", Value: "\x04"}, {Key: "ver", Value: u32s(1)}, {Key: "conn", Value: u32s(0)}, {Key: "count", Value: u32s(count)}},
				bytes.Repeat([]byte(u32s(1, 0, 0)), int(count)))
			b := slices.Concat(one[:tail], index, one[tail:])
			b = setU64(b, head.fields["index_pos"], uint64(tail+len(index)))
			b = setU32(b, len(b)-4, count)
			msgs, errs := readAll(t, b, rosbag.Query{})
			if len(msgs) != 1 || (len(errs) == 0) != tc.good {
				t.Errorf("%d messages, %v", len(msgs), errs)
			}
		})
	}
}
