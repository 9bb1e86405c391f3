package bagfmt_test

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestRecoverMemory bounds what hostile lengths can make Recover allocate.
func TestRecoverMemory(t *testing.T) {
	full := tinyBag(t, rosbag.CompressionNone)
	var lengths []int
	for _, r := range records(t, full) {
		lengths = append(lengths, r.off, r.dataAt)
		for _, at := range r.fields {
			lengths = append(lengths, at)
		}
	}
	for _, at := range lengths {
		for _, v := range []uint32{0, 1, 2, 3, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 2, 1<<32 - 1} {
			if at+4 > len(full) {
				continue
			}
			b := setU32(full, at, v)
			w, err := bagfmt.NewWriter(struct{ io.Writer }{io.Discard}, bagfmt.WriterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{})
			runtime.ReadMemStats(&after)
			if err != nil && !typed(err) {
				t.Fatalf("%d at %d: %v", v, at, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > uint64(8*len(b)+1<<20) {
				t.Errorf("%d at %d: %d bytes allocated for a bag of %d", v, at, got, len(b))
			}
		}
	}
}

// FuzzRecover checks that the result is a good bag, and that its messages are in the
// input, if that holds no compressed chunk.
func FuzzRecover(f *testing.F) {
	seeds(f)
	b := tinyBag(f, rosbag.CompressionNone)
	f.Add(slices.Concat(b, b[4117:]))
	f.Add(slices.Concat(b, tinyBag(f, rosbag.CompressionLZ4)))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, rep, err := recoverBag(t, b)
		if err != nil {
			if !typed(err) {
				t.Fatalf("untyped %v", err)
			}
			return
		}
		sameRecovery(t, b, 2)
		got := soundBag(t, out)
		if uint64(len(got)) != rep.Messages {
			t.Fatalf("%d messages, reports %d", len(got), rep.Messages)
		}
		if bytes.Contains(b, []byte("lz4")) || bytes.Contains(b, []byte("\x04\x22\x4d\x18")) || bytes.Contains(b, []byte("BZh")) {
			return
		}
		for _, m := range got {
			if !bytes.Contains(b, []byte(m.Data)) {
				t.Fatalf("a message of %d bytes is not in the input", len(m.Data))
			}
		}
	})
}

// TestRecoverBare has damage in chunks without checksum that have no end, or no header:
// what is after it in the chunk is found.
func TestRecoverBare(t *testing.T) {
	t.Parallel()
	zeros := func(b []byte, at, n int) []byte {
		return slices.Concat(b[:at], make([]byte, n), b[at+n:])
	}
	bags := stockBags(t)
	for name, tt := range map[string]struct {
		in   []byte
		lost int // messages, at most
	}{
		"killed, zeros":          {zeros(bags["cpp_killed"], recordsOf(t, bags["cpp_killed"], 2)[50].off, 100), 3},
		"killed, garbage length": {setU32(bags["cpp_killed"], recordsOf(t, bags["cpp_killed"], 2)[50].off, 1<<30), 1},
		"killed, data length":    {setU32(bags["cpp_killed"], recordsOf(t, bags["cpp_killed"], 2)[50].dataAt, 200), 6},
		"header of a chunk":      {zeros(bags["cpp_none"], 4000, 130), 0},
		"header of a later one":  {zeros(bags["python_none"], recordsOf(t, bags["python_none"], 5)[1].off, 20), 0},
	} {
		want, _ := scanAll(t, bags["cpp_killed"])
		if strings.HasPrefix(name, "header") {
			want, _ = scanAll(t, bags["cpp_none"])
		}
		if name == "header of a later one" {
			want, _ = scanAll(t, bags["python_none"])
		}
		out, rep, err := recoverBag(t, tt.in)
		if err != nil {
			t.Fatal(err)
		}
		got := soundBag(t, out)
		if len(got) < len(want)-tt.lost || len(got) > len(want) || !rep.Lossy() {
			t.Errorf("%s: %d of %d messages, %+v", name, len(got), len(want), rep)
		}
		if name != "killed, data length" && !subsequence(got, want) {
			t.Errorf("%s: messages that were never written", name)
		}
	}
}

// readCounter counts what it is asked for.
type readCounter struct {
	io.ReaderAt
	bytes int
}

func (c *readCounter) ReadAt(p []byte, off int64) (int, error) {
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

// TestRecoverHostile has a file full of headers of chunks that it does not hold: little
// is read for each.
func TestRecoverHostile(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		header := rec([]rosbag.Field{
			{Key: "compression", Value: string(comp)},
			{Key: "op", Value: "\x05"},
			{Key: "size", Value: u32s(100)},
		}, nil)
		header = slices.Concat(header[:len(header)-4], []byte(u32s(1<<31-1)))
		in := slices.Concat(tinyBag(t, comp)[:4117], bytes.Repeat(header, 5000))
		w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := &readCounter{ReaderAt: bytes.NewReader(in)}
		rep, err := recovery.Recover(r, int64(len(in)), w, recovery.Options{})
		if err != nil || rep.Messages > 0 {
			t.Fatalf("%+v, %v", rep, err)
		}
		if limit := 300 * len(in); r.bytes > limit {
			t.Errorf("%s: %d bytes read of %d, limit %d", comp, r.bytes, len(in), limit)
		}
	}
}
