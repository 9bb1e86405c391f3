package bagfmt_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestParallelWriteIsTheSame writes bags with any number of workers: every byte is
// the same, also of the connection records, which are repeated within a budget, and
// with chunks from elsewhere between the messages.
func TestParallelWriteIsTheSame(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			serial := mixedBag(t, comp, 0)
			got, errs := scanAll(t, serial)
			if len(got) != 1520 || errs != nil {
				t.Fatalf("%d messages, want 1520, errors %v", len(got), errs)
			}
			for _, workers := range []int{1, 2, 8} {
				if b := mixedBag(t, comp, workers); !bytes.Equal(b, serial) {
					t.Errorf("%d workers: %d bytes, other than the %d of none", workers, len(b), len(serial))
				}
			}
		})
	}
}

// mixedBag holds 1500 messages of Write in chunks of 2 kB and more, and 20
// chunks of one message each of WriteChunk.
func mixedBag(tb testing.TB, comp rosbag.Compression, workers int) []byte {
	tb.Helper()
	var f memFile
	most := 977 // numbers in a message
	o := bagfmt.WriterOptions{Compression: comp, ChunkBytes: 2000, Workers: workers}
	if comp == rosbag.CompressionBZ2 {
		o.ChunkBytes, most = 20_000, 197 // it is slow to begin a chunk, and slow
	}
	w, err := bagfmt.NewWriter(&f, o)
	if err != nil {
		tb.Fatal(err)
	}
	var own []*rosbag.Connection
	for i := range 5 {
		c, err := w.AddConnection(fmt.Sprintf("/t%d", i), header("a/A"))
		if err != nil {
			tb.Fatal(err)
		}
		own = append(own, c)
	}
	var builder chunk.Builder
	for i := range 1500 {
		now := rosbag.Time{Sec: uint32(i)}
		data := strings.Repeat(fmt.Sprint(i), i%most)
		if err := w.Write(own[i*i%5], now, []byte(data)); err != nil {
			tb.Fatal(err)
		}
		if i%75 == 74 {
			builder.Reset(nil)
			builder.AppendRun(own[0], now, frame("elsewhere"), 1)
			if err := w.WriteChunk(seal(tb, &builder, nil)); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

// TestParallelWriteAllocs checks that writing costs no memory per message and that
// a bag of many chunks is written in the memory of a few.
func TestParallelWriteAllocs(t *testing.T) {
	testkit.SkipInRace(t, "memory is measured, and the detector makes sync.Pool throw buffers away")
	for _, comp := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		for _, workers := range []int{0, 2} {
			var f discard
			w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{Compression: comp, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			c, err := w.AddConnection("/t", header("a/A"))
			if err != nil {
				t.Fatal(err)
			}
			data := []byte(halfRandom(1 << 10))
			write := func() { // two chunks and a bit
				for range 2000 {
					if err := w.Write(c, rosbag.Time{Sec: 1}, data); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 4 {
				write()
			}
			if n := testing.AllocsPerRun(10, write); n > 60 {
				t.Errorf("%s, %d workers: %v allocations for 2000 messages", comp, workers, n)
			}
			least := uint64(math.MaxUint64) // the lz4 package pools its blocks, and a collection empties the pool
			for range 10 {
				least = min(least, allocatedBy(write))
			}
			if least > 64<<10 {
				t.Errorf("%s, %d workers: %d bytes allocated for 2000 messages", comp, workers, least)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if f.n < 500_000 { // 25 times 2000 messages of the same content
				t.Errorf("%d bytes written", f.n)
			}
		}
	}
}

// discard counts what is written to it.
type discard struct{ n int }

func (d *discard) Write(b []byte) (int, error) { d.n += len(b); return len(b), nil }

// allocatedBy returns the bytes that f allocates.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
