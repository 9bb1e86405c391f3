package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// seeds adds small bags of every kind, whole and damaged.
func seeds(f *testing.F) {
	f.Helper()
	for _, comp := range compressions {
		b := sampleBag(f, comp)
		f.Add(b)
		f.Add(b[:len(b)-100])
		chunk := recordsOf(f, b, 5)[1]
		f.Add(setU32(b, chunk.fields["size"], 1<<31))
		f.Add(setU32(b, chunk.dataAt, 1<<31))
		f.Add(setU32(b, recordsOf(f, b, 4)[0].fields["count"], 1<<31))
	}
	for _, count := range []uint32{1, 2, 1<<32 - 1} {
		b := repeatedBag(f, rosbag.Repeated{Count: count, Time: cutAt})
		f.Add(b)
		f.Add(renamed(f, b, "repeated_time=\n", "repeated_count="))
	}
	names, err := filepath.Glob("testdata/*.bag*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(nil))
	f.Add([]byte("#ROSBAG V2.0\n"))
}

const fuzzChunkBytes = 1 << 20 // so that a fuzzed bomb is a small one

// fuzzScan scans b and checks what must hold for any input.
func fuzzScan(t *testing.T, b []byte) (msgs []msg, errs []error) {
	t.Helper()
	s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{MaxChunkBytes: fuzzChunkBytes})
	if err != nil {
		if !typed(err) {
			t.Fatalf("untyped error %v", err)
		}
		return nil, []error{err}
	}
	for {
		m, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return msgs, errs
		case err != nil && !typed(err):
			t.Fatalf("untyped error %v", err)
		case err != nil:
			if errs = append(errs, err); len(errs) > len(b) {
				t.Fatal("errors without end")
			}
		default:
			if int(binary.LittleEndian.Uint32(m.Frame)) != len(m.Data()) {
				t.Fatalf("frame of %d bytes says %d", len(m.Data()), binary.LittleEndian.Uint32(m.Frame))
			}
			msgs = append(msgs, asMsg(m))
		}
		if s.Offset() > int64(len(b)) {
			t.Fatalf("offset %d in %d bytes", s.Offset(), len(b))
		}
	}
}

// FuzzScanner: any input ends, in messages and typed errors, the same with Reuse, and
// costs no more memory than it has bytes, chunks apart. A prefix of a sound bag gives a
// prefix of its messages.
func FuzzScanner(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzSame(t, func(workers int) (func() (*rosbag.Message, error), func()) {
			s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{MaxChunkBytes: fuzzChunkBytes, Reuse: workers > 0})
			if err != nil {
				return func() (*rosbag.Message, error) { return nil, io.EOF }, func() {}
			}
			return s.Next, s.Close
		})
		msgs, errs := fuzzScan(t, b)
		checkFuzzAllocs(t, b, func() { fuzzScan(t, b) })
		if errs != nil {
			return // a torn chunk gives what its checksum, at the end, would refuse
		}
		half := len(b) / 2
		if got, _ := fuzzScan(t, b[:half:half]); len(got) > len(msgs) || !slices.Equal(got, msgs[:len(got)]) {
			t.Fatalf("first half gives %d messages, not the first of all %d", len(got), len(msgs))
		}
	})
}

// checkFuzzAllocs is checkAllocs for bags whose chunks unpack to at most
// fuzzChunkBytes each: one needs 50 bytes in the file.
func checkFuzzAllocs(t *testing.T, b []byte, f func()) {
	t.Helper()
	unpacked := bytes.Count(b, []byte("size=")) * 3 * fuzzChunkBytes
	checkAllocs(t, b[:min(len(b), 1<<20)], func() {
		if unpacked > allocConst {
			return // legal bombs
		}
		f()
	})
}

// fuzzSame compares what open gives to read, with and without workers.
func fuzzSame(t *testing.T, open func(workers int) (next func() (*rosbag.Message, error), stop func())) {
	t.Helper()
	serial, _ := open(0)
	parallel, stop := open(2)
	defer stop()
	for {
		want, wantErr := serial()
		got, err := parallel()
		switch {
		case (wantErr == nil) != (err == nil) || err != nil && err.Error() != wantErr.Error():
			t.Fatalf("error %v, with workers %v", wantErr, err)
		case errors.Is(err, io.EOF):
			return
		case err == nil && (got.Conn.ID != want.Conn.ID || got.Time != want.Time || !bytes.Equal(got.Frame, want.Frame)):
			t.Fatalf("message %v, with workers %v", asMsg(want), asMsg(got))
		}
	}
}

// FuzzReader: opening and reading any input ends, in messages and typed errors, the
// same with workers. On a bag that both read without an error the scanner finds what the reader finds.
func FuzzReader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{MaxChunkBytes: fuzzChunkBytes, CacheBytes: fuzzChunkBytes})
		if err != nil {
			if !typed(err) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		var read []msg
		var errs []error
		for m, err := range rosbag.Messages(r, rosbag.Query{}) {
			switch {
			case err != nil && !typed(err):
				t.Fatalf("untyped error %v", err)
			case err != nil:
				if errs = append(errs, err); len(errs) > len(b) {
					t.Fatal("errors without end")
				}
			default:
				read = append(read, asMsg(m))
			}
		}
		is, repeated := rosbag.FindRepeats(r), uint64(0)
		for m, err := range rosbag.Messages(r, rosbag.Query{}) {
			if err == nil && is.Is(m) {
				repeated++
			}
		}
		if repeated > uint64(r.Info().Repeated.Count) {
			t.Fatalf("%d repeated messages, the bag says %+v", repeated, r.Info().Repeated)
		}
		fuzzSame(t, func(workers int) (func() (*rosbag.Message, error), func()) {
			c := r.Cursor(rosbag.Query{Workers: workers, Reuse: workers > 0})
			return c.Next, c.Close
		})
		for _, c := range r.Connections() {
			if _, err := lastOf(r, c.ID, r.Info().End); err != nil && !typed(err) {
				t.Fatalf("Latest: untyped error %v", err)
			}
		}
		for i := range r.NumSpans() {
			if _, err := r.ChunkHeader(i); err != nil && !typed(err) {
				t.Fatalf("ChunkHeader: untyped error %v", err)
			}
		}
		if errs != nil {
			return
		}
		scanned, serrs := fuzzScan(t, b)
		if serrs != nil {
			return
		}
		// Without a checksum the index may rename times and have one message for another, so that
		// only contents compare.
		found := make(map[string]bool)
		for _, m := range scanned {
			found[m.Data] = true
		}
		for _, m := range read {
			if !found[m.Data] {
				t.Fatalf("the scanner lacks %v", m)
			}
		}
	})
}

// FuzzRecord: what is written from any header and data is read as it was.
func FuzzRecord(f *testing.F) {
	f.Add("/topic", "callerid", "/node", []byte("data"), uint32(1), uint32(2), uint32(3))
	f.Add("", "", "", []byte(nil), uint32(0), uint32(0), uint32(0))
	f.Add("a=b\x00", "type", "x\n", bytes.Repeat([]byte("y"), 3000), uint32(1<<31), uint32(1<<32-1), uint32(1<<32-1))
	f.Fuzz(func(t *testing.T, topic, key, value string, data []byte, id, sec, nsec uint32) {
		if key == "" || len(key) > 256 || bytes.Contains([]byte(key), []byte("=")) {
			key = "key"
		}
		c := &rosbag.Connection{ID: rosbag.ConnID(id), Topic: topic, Header: header("a/A", rosbag.Field{Key: key, Value: value})}
		at := rosbag.Time{Sec: sec, Nsec: nsec}
		var b chunk.Builder
		b.Reset(nil)
		b.AppendRun(c, at, frame(string(data)), 1)
		bag := bagOf(t, seal(t, &b, nil))
		want := []msg{{topic, at, string(data)}}
		got, errs := readAll(t, bag, rosbag.Query{})
		if !slices.Equal(got, want) || errs != nil {
			t.Fatalf("reader: %v, %v", got, errs)
		}
		got, errs = scanAll(t, bag)
		if !slices.Equal(got, want) || errs != nil {
			t.Fatalf("scanner: %v, %v", got, errs)
		}
		r, err := openBag(bag)
		if err != nil {
			t.Fatal(err)
		}
		if rc := r.Connections()[0]; rc.ID != c.ID || rc.Topic != topic || !slices.Equal(rc.Header, c.Header) {
			t.Fatalf("connection %v, want %v", rc, c)
		}
	})
}

// FuzzChunk: any bytes as the stored data of a chunk, with any claimed size, end in
// messages and typed errors, and a chunk that is read is as long as it says.
func FuzzChunk(f *testing.F) {
	for n, comp := range compressions {
		chunk := recordsOf(f, sampleBag(f, comp), 5)[0]
		f.Add(uint8(n), uint32(len(chunk.data)), chunk.data)
		f.Add(uint8(n), uint32(1<<20), chunk.data[:len(chunk.data)/2])
	}
	f.Add(uint8(2), uint32(100), []byte("BZh9\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, n uint8, size uint32, stored []byte) {
		b := bomb(t, compressions[int(n)%3], stored, size)
		msgs, errs := fuzzScan(t, b)
		if errs == nil && compressions[int(n)%3] != rosbag.CompressionNone {
			total := 0
			for _, m := range msgs {
				total += len(m.Data)
			}
			if uint32(total) > size {
				t.Fatalf("%d bytes of messages in a chunk of %d", total, size)
			}
		}
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{MaxChunkBytes: fuzzChunkBytes})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range rosbag.Messages(r, rosbag.Query{}) {
			if err != nil && !typed(err) {
				t.Fatalf("untyped error %v", err)
			}
		}
	})
}
