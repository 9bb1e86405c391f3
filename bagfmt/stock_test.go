package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// rawChunkHeader is what stock's recorder writes when it starts a chunk.
func rawChunkHeader() []byte {
	return rec(fields.List{
		{Key: "compression", Value: "none"},
		{Key: "op", Value: "\x05"},
		{Key: "size", Value: u32s(0)},
	}, nil)
}

// rebuild encodes a bag from records, after edit has changed them: index positions
// and chunk positions are set to where things are then.
func rebuild(tb testing.TB, b []byte, edit func(op byte, h fields.List, data []byte) (before []byte, rh fields.List, rdata []byte)) []byte {
	tb.Helper()
	out := []byte("#ROSBAG V2.0\n")
	headAt, indexPos := 0, 0
	var chunkAt []int
	infos := 0
	for _, r := range records(tb, b) {
		h, err := fields.Parse(b[r.off+4 : r.dataAt])
		if err != nil {
			tb.Fatal(err)
		}
		before, h, data := edit(r.op, h, r.data)
		out = append(out, before...)
		at := len(out)
		out = append(out, rec(h, data)...)
		switch r.op {
		case 3:
			headAt = at
		case 5:
			chunkAt = append(chunkAt, at)
		case 6, 7:
			if indexPos == 0 {
				indexPos = at - len(before)
			}
			if r.op == 6 {
				n := cutRecord(tb, out, at)
				out = setU64(out, n.fields["chunk_pos"], uint64(chunkAt[infos]))
				infos++
			}
		}
	}
	head := cutRecord(tb, out, headAt)
	return setU64(out, head.fields["index_pos"], uint64(indexPos))
}

func keepRecord(_ byte, h fields.List, data []byte) ([]byte, fields.List, []byte) {
	return nil, h, data
}

func set(h fields.List, key, value string) fields.List {
	h = slices.Clone(h)
	for i := range h {
		if h[i].Key == key {
			h[i].Value = value
		}
	}
	return h
}

// TestStockTolerates reads what C++ or Python rosbag read, too.
func TestStockTolerates(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	unknown := rec(fields.List{{Key: "op", Value: "\x77"}, {Key: "what", Value: "ever"}}, []byte("data"))
	edit := func(op byte, f func(h fields.List, data []byte) ([]byte, fields.List, []byte)) []byte {
		return rebuild(t, full, func(o byte, h fields.List, data []byte) ([]byte, fields.List, []byte) {
			if o != op {
				return nil, h, data
			}
			return f(h, data)
		})
	}
	noCRC := func(h fields.List) fields.List {
		return slices.DeleteFunc(slices.Clone(h), func(f fields.Field) bool { return f.Key == "crc32c" })
	}
	tests := map[string][]byte{
		"as it is":         rebuild(t, full, keepRecord),
		"no padding":       edit(3, func(h fields.List, _ []byte) ([]byte, fields.List, []byte) { return nil, h, nil }),
		"trailing garbage": append(slices.Clone(full), "garbage, lots of it"...),
		"python field order": rebuild(t, full, func(_ byte, h fields.List, data []byte) ([]byte, fields.List, []byte) {
			slices.Reverse(h)
			return nil, h, data
		}),
		"unknown fields": rebuild(t, full, func(_ byte, h fields.List, data []byte) ([]byte, fields.List, []byte) {
			return nil, append(h, fields.Field{Key: "zz", Value: "\x00="}), data
		}),
		"unknown records": rebuild(t, full, func(op byte, h fields.List, data []byte) ([]byte, fields.List, []byte) {
			if op == 3 {
				return nil, h, data
			}
			return unknown, h, data
		}),
		"no crc32c": edit(5, func(h fields.List, data []byte) ([]byte, fields.List, []byte) { return nil, noCRC(h), data }),
		"none with a wrong size": edit(5, func(h fields.List, data []byte) ([]byte, fields.List, []byte) {
			return nil, set(h, "size", u32s(uint32(len(data)-10))), data
		}),
		"NoEncryptor": edit(3, func(h fields.List, data []byte) ([]byte, fields.List, []byte) {
			return nil, append(h, fields.Field{Key: "encryptor", Value: "rosbag/NoEncryptor"}), data
		}),
		"unknown encryptor": edit(3, func(h fields.List, data []byte) ([]byte, fields.List, []byte) {
			return nil, append(h, fields.Field{Key: "encryptor", Value: "some/Other"}), data
		}),
		"no message_definition": edit(7, func(h fields.List, data []byte) ([]byte, fields.List, []byte) {
			l, err := fields.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			l = slices.DeleteFunc(l, func(f fields.Field) bool { return f.Key == "message_definition" })
			return nil, h, l.Append(nil)
		}),
		"conn_count too small": edit(3, func(h fields.List, data []byte) ([]byte, fields.List, []byte) {
			return nil, set(h, "conn_count", u32s(1)), data
		}),
		"index length 0":         wrongIndexLength(t, full, 0),
		"index length doubled":   wrongIndexLength(t, full, 2),
		"index in another order": swapIndexes(t, full),
	}
	want, _ := scanAll(t, full)
	for name, b := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, errs := readAll(t, b, rosbag.Query{})
			if !slices.Equal(got, byTime(want)) || errs != nil {
				t.Errorf("reader: %d messages, %v", len(got), errs)
			}
			got, errs = scanAll(t, b)
			if !slices.Equal(got, want) || errs != nil {
				t.Errorf("scanner: %d messages, %v", len(got), errs)
			}
		})
	}
}

// wrongIndexLength states factor times the length in all index data records.
func wrongIndexLength(t *testing.T, b []byte, factor int) []byte {
	t.Helper()
	b = slices.Clone(b)
	for _, r := range recordsOf(t, b, 4) {
		binary.LittleEndian.PutUint32(b[r.dataAt:], uint32(factor*len(r.data)))
	}
	return b
}

// swapIndexes swaps the first two index data records after the first chunk.
func swapIndexes(t *testing.T, b []byte) []byte {
	t.Helper()
	x := recordsOf(t, b, 4)
	a, m, z := x[0].off, x[1].off, x[1].dataAt+4+len(x[1].data)
	return slices.Concat(b[:a], b[m:z], b[a:m], b[z:])
}

// TestIndexTimeWins checks that without a checksum the time of the index counts,
// also time 0, as it does for stock's player.
func TestIndexTimeWins(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	b := rebuild(t, full, func(op byte, h fields.List, data []byte) ([]byte, fields.List, []byte) {
		if op == 5 {
			h = slices.DeleteFunc(h, func(f fields.Field) bool { return f.Key == "crc32c" })
		}
		return nil, h, data
	})
	index := recordsOf(t, b, 4)[0]
	b = setU32(b, index.dataAt+4+12, 0) // sec of the second entry
	got, errs := readAll(t, b, rosbag.Query{})
	if errs != nil || len(got) != 30 {
		t.Fatalf("%d messages, %v", len(got), errs)
	}
	if want := (rosbag.Time{}); got[1].Time != want || got[0].Time != want {
		t.Errorf("first messages at %s and %s, want both at 0", got[0].Time, got[1].Time)
	}
}

func TestFutureVersion(t *testing.T) {
	t.Parallel()
	b := bytes.Replace(sampleBag(t, rosbag.CompressionLZ4), []byte("V2.0"), []byte("V2.1"), 1)
	if _, err := openBag(b); !errors.Is(err, rosbag.ErrVersion) {
		t.Errorf("got %v, want ErrVersion", err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{FutureVersion: true})
	if err != nil || r.Info().Messages != 30 || r.Info().Version != "2.1" {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{FutureVersion: true}); err != nil {
		t.Error(err)
	}
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	b := rebuild(t, sampleBag(t, rosbag.CompressionNone), func(op byte, h fields.List, data []byte) ([]byte, fields.List, []byte) {
		if op == 3 {
			h = append(h, fields.Field{Key: "encryptor", Value: "rosbag/AesCbcEncryptor"})
		}
		return nil, h, data
	})
	if _, err := openBag(b); !errors.Is(err, rosbag.ErrEncrypted) {
		t.Errorf("reader: %v", err)
	}
	if _, errs := scanAll(t, b); len(errs) != 1 || !errors.Is(errs[0], rosbag.ErrEncrypted) {
		t.Errorf("scanner: %v", errs)
	}
}

// TestKilledRecorder scans what stock's recorder leaves when it is killed: chunks
// with their indexes, then a chunk of length 0 with bare records after it.
func TestKilledRecorder(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	want, _ := scanAll(t, full)
	chunks := recordsOf(t, full, 5)
	last := chunks[len(chunks)-1]
	b := slices.Concat(full[:last.off], rawChunkHeader(), last.data)
	head := recordsOf(t, full, 3)[0]
	b = setU64(b, head.fields["index_pos"], 0)
	got, errs := scanAll(t, b)
	if !slices.Equal(got, want) || errs != nil {
		t.Errorf("%d messages, %v", len(got), errs)
	}
	cut := len(b) - 10
	got, errs = scanAll(t, b[:cut:cut])
	if !slices.Equal(got, want[:len(want)-1]) || len(errs) != 1 || !typed(errs[0]) {
		t.Errorf("cut: %d messages, %v", len(got), errs)
	}
}

// TestKilledRecorderOrphans damages the connection record of bare messages: that is
// one fault, and one more for each chunk whose messages are lost by it.
func TestKilledRecorderOrphans(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	full := writeBag(t, bagfmt.WriterOptions{}, nil, nil)
	conn := rec(fields.List{{Key: "op", Value: "\x07"}, {Key: "conn", Value: u32s(0)}, {Key: "topic", Value: conns[0].Topic}}, []byte("damaged"))
	messages := bytes.Repeat(rec(fields.List{{Key: "op", Value: "\x02"}, {Key: "conn", Value: u32s(0)}, {Key: "time", Value: u32s(1, 0)}}, []byte("data")), 10)
	for chunks := range 3 {
		b := slices.Concat(full, conn, messages)
		if chunks > 0 {
			b = slices.Concat(full, rawChunkHeader(), conn, messages)
		}
		if chunks > 1 {
			b = slices.Concat(b, rawChunkHeader(), messages)
		}
		msgs, errs := scanAll(t, b)
		if want := 1 + max(chunks, 1); msgs != nil || len(errs) != want {
			t.Errorf("%d chunks: %d errors, want %d: %v", chunks, len(errs), want, errs)
		}
	}
}
