package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// events tells everything that next returns, in order.
func events(tb testing.TB, next func() (*rosbag.Message, error)) (list []string) {
	tb.Helper()
	for len(list) < 1_000_000 {
		m, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			list = append(list, "error: "+err.Error())
		default:
			list = append(list, fmt.Sprintf("%d %s %s %x %d", m.Conn.ID, m.Conn.Topic, m.Time, m.Frame, m.Share))
		}
	}
	tb.Fatal("no end")
	return nil
}

// sequences maps names to bags of all sorts: those of testdata, some with chunks that
// overlap in time, and bags without an index.
func sequences(t *testing.T) map[string][]byte {
	t.Helper()
	bags := map[string][]byte{}
	files, err := filepath.Glob("testdata/*.bag")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		bags[filepath.Base(f)] = readFile(t, f)
	}
	for _, comp := range compressions {
		bags["sample "+string(comp)] = sampleBag(t, comp)
		bags["unindexed "+string(comp)] = unindexed(t, sampleBag(t, comp))
		bags["without index data "+string(comp)] = withoutIndexData(t, sampleBag(t, comp))
		conns, msgs := sample(90)
		for i := range msgs { // three runs of the same times, each in several chunks
			msgs[i].Time = rosbag.Time{Sec: uint32(i%30) + 1, Nsec: uint32(i)}
		}
		b := writeBag(t, bagfmt.WriterOptions{Compression: comp, ChunkBytes: 600}, conns, msgs)
		bags["overlapping "+string(comp)] = b
		bags["overlapping without index data "+string(comp)] = withoutIndexData(t, b)
	}
	return bags
}

// TestParallelReadOfDamage reads the bags of the table of corruptions, and old ones.
func TestParallelReadOfDamage(t *testing.T) {
	t.Parallel()
	bags := smallOldBags()
	for name, tc := range corruptions(t) {
		bags[name] = tc.bag
	}
	for _, name := range oldBags(t) {
		bags[name] = readFile(t, name)
	}
	for n, name := range slices.Sorted(maps.Keys(bags)) {
		bag := bags[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameInParallel(t, name, bag, []int{1, 3}, n)
			sameScan(t, name, bag, n)
			way := n
			for at := len(bag); at > 0; at -= 1 + len(bag)/10*stride(1) {
				way++
				sameInParallel(t, fmt.Sprintf("%s, cut at %d", name, at), bag[:at:at], []int{2}, way)
				sameScan(t, fmt.Sprintf("%s, cut at %d", name, at), bag[:at:at], way)
			}
		})
	}
}

// TestParallelReadIsTheSame reads bags, sound and damaged, with any number of workers
// and little and much memory: the messages and errors are the same in the same order.
func TestParallelReadIsTheSame(t *testing.T) {
	t.Parallel()
	bags := sequences(t)
	for n, name := range slices.Sorted(maps.Keys(bags)) {
		full := bags[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameInParallel(t, name, full, []int{2}, everyWay)
			sameScan(t, name, full, everyWay)
			sameInParallel(t, name, full, []int{1, 8}, n)
			step := max(1, len(full)*stride(1)/40)
			for at := 0; at < len(full); at += step {
				bad := flipped(full, at, 1<<(at%8))
				sameInParallel(t, fmt.Sprintf("%s, flip at %d", name, at), bad, []int{1 + at%3}, at/step)
				sameScan(t, fmt.Sprintf("%s, flip at %d", name, at), bad, at/step)
				sameScan(t, fmt.Sprintf("%s, cut at %d", name, at), full[:at:at], at/step)
			}
		})
	}
}

// everyWay is all the ways in which a bag can be read. With GOROSBAG_FULL each bag is read
// in all of them, else many are in one, the next bag in the next.
const everyWay = -1

// wanted reports whether n is the way to be used, of so many.
func wanted(way, n, of int) bool {
	return testkit.Full() || way == everyWay || n%of == way%of
}

var errUnreadable = errors.New("unreadable")

// brokenAt is a file of which bytes cannot be read.
type brokenAt struct {
	io.ReaderAt
	from, to int64
}

func (b *brokenAt) ReadAt(p []byte, off int64) (int, error) {
	if off < b.to && off+int64(len(p)) > b.from {
		return 0, errUnreadable
	}
	return b.ReaderAt.ReadAt(p, off)
}

// sameInParallel compares what a Cursor returns with and without workers, with little
// and much memory, small segments and large ones, and from a file that cannot be read
// somewhere: in one of these ways, with a number of it, or everyWay.
func sameInParallel(t *testing.T, name string, bag []byte, workers []int, way int) {
	t.Helper()
	n := 0
	for _, o := range []bagfmt.ReaderOptions{{}, {CacheBytes: 2500}, {CacheBytes: 1, MaxChunkBytes: 400}} {
		for _, broken := range []int64{-1, int64(len(bag)) / 3} {
			if n++; !wanted(way, n, 6) {
				continue
			}
			file := &brokenAt{ReaderAt: bytes.NewReader(bag)}
			r, err := bagfmt.NewReader(file, int64(len(bag)), o)
			if err != nil {
				return
			}
			if broken >= 0 {
				file.from, file.to = broken, broken+10
			}
			sameCursor(t, fmt.Sprintf("%s, %v, broken at %d", name, o, broken), r, workers)
		}
	}
}

func sameCursor(t *testing.T, name string, r *bagfmt.Reader, workers []int) {
	t.Helper()
	middle := r.Info().Start
	middle.Sec += uint32(r.Info().End.Sub(r.Info().Start) / 2 / time.Second)
	for i, q := range []rosbag.Query{
		{},
		{Keep: func(c *rosbag.Connection) bool { return c.ID == 1 }},
		{Start: rosbag.Time{Sec: 102}, End: rosbag.Time{Sec: 105}},
		{Start: middle},
	} {
		want := events(t, r.Cursor(q).Next)
		for _, n := range workers {
			for _, memory := range []rosbag.Memory{nil, new(mangledMemory)} {
				for _, reuse := range []bool{false, true} {
					q.Workers, q.Reuse, q.Memory = n, reuse, memory
					c := r.Cursor(q)
					got := events(t, c.Next)
					c.Close()
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("%s, query %d, %d workers, reuse %v, memory %v:\n%.2000s", name, i, n, reuse, memory != nil, d)
					}
				}
			}
		}
	}
}

// mangledMemory overwrites what it gets back, and returns it at once.
type mangledMemory struct {
	mu    sync.Mutex
	free  [][]byte
	taken int
}

func (m *mangledMemory) Take(n int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, b := range m.free {
		if cap(b) >= n {
			m.free = slices.Delete(m.free, i, i+1)
			m.taken++
			return b
		}
	}
	return nil
}

func (m *mangledMemory) Left(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range b {
		b[i] = 0xdb
	}
	m.free = append(m.free, b)
}

// A cursor takes the memory of nearly all chunks from Query.Memory, and gives all of it back, except what the
// cache of the reader has.
func TestMemoryOfChunks(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		bag := uniformBag(t, bagfmt.WriterOptions{Compression: comp, ChunkBytes: 30_000}, 6000)
		for _, cached := range []bool{false, true} {
			o := bagfmt.ReaderOptions{}
			if cached {
				o.Cache = bagfmt.NewCache(1<<20, 1<<20)
			}
			r, err := bagfmt.NewReader(bytes.NewReader(bag), int64(len(bag)), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{0, 2} {
				m := new(mangledMemory)
				c := r.Cursor(rosbag.Query{Workers: workers, Memory: m})
				events(t, c.Next)
				c.Close()
				chunks := r.NumSpans()
				if cached && comp == rosbag.CompressionBZ2 {
					chunks = 0
				}
				// At the beginning as many chunks are fresh as are open at the same time.
				if most := min(workers+2, chunks); m.taken < chunks-most || len(m.free) > most {
					t.Errorf("%s, cached %v, %d workers: %d chunks, %d in memory that was used before; %d are back",
						comp, cached, workers, r.NumSpans(), m.taken, len(m.free))
				}
			}
		}
	}
}

// sameScan compares what a Scanner returns with and without Reuse, from readers
// that give much at a time and little, and one that fails halfway: in one of these ways,
// with a number of it, or everyWay.
func sameScan(t *testing.T, name string, bag []byte, way int) {
	t.Helper()
	readers := []func() io.Reader{
		func() io.Reader { return bytes.NewReader(bag) },
		func() io.Reader { return iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(bag))) },
		func() io.Reader {
			return io.MultiReader(bytes.NewReader(bag[:len(bag)/2]), iotest.ErrReader(errUnreadable))
		},
	}
	ways := 0
	for how, reader := range readers {
		scan := func(o bagfmt.ScannerOptions) (list []string, end int64) {
			s, err := bagfmt.NewScanner(reader(), o)
			if err != nil {
				return []string{err.Error()}, 0
			}
			defer s.Close()
			return events(t, s.Next), s.Offset()
		}
		for _, most := range []int64{0, 500} {
			if ways++; !wanted(way, ways, 6) {
				continue
			}
			want, wantEnd := scan(bagfmt.ScannerOptions{MaxChunkBytes: most})
			got, end := scan(bagfmt.ScannerOptions{MaxChunkBytes: most, Reuse: true})
			if d := cmp.Diff(want, got); d != "" || end != wantEnd {
				t.Fatalf("%s, reader %d, chunks up to %d, with Reuse: end %d, want %d:\n%.2000s", name, how, most, end, wantEnd, d)
			}
		}
	}
}

// TestScannerClose leaves scanners at every place.
func TestScannerClose(t *testing.T) {
	t.Parallel()
	bag := sampleBag(t, rosbag.CompressionLZ4)
	for at := range 30 {
		s, err := bagfmt.NewScanner(bytes.NewReader(bag), bagfmt.ScannerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range at {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		s.Close()
		if m, err := s.Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("after Close: message %v, error %v", m, err)
		}
	}
}

// TestReuse checks that memory is used again where that is allowed, and only there.
func TestReuse(t *testing.T) {
	testkit.SkipInRace(t, "memory is measured, and the detector makes sync.Pool throw buffers away")
	for _, comp := range compressions {
		bag := uniformBag(t, bagfmt.WriterOptions{Compression: comp, ChunkBytes: 30_000}, 6000)
		r, err := openBag(bag)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{0, 2} {
			for how, open := range map[string]func(reuse bool) (func() (*rosbag.Message, error), func()){
				"cursor": func(reuse bool) (func() (*rosbag.Message, error), func()) {
					c := r.Cursor(rosbag.Query{Workers: workers, Reuse: reuse})
					return c.Next, c.Close
				},
				"scanner": func(reuse bool) (func() (*rosbag.Message, error), func()) {
					s, err := bagfmt.NewScanner(bytes.NewReader(bag), bagfmt.ScannerOptions{Reuse: reuse})
					if err != nil {
						t.Fatal(err)
					}
					return s.Next, s.Close
				},
			} {
				read := func(reuse bool) func() {
					return func() {
						next, stop := open(reuse)
						defer stop()
						for {
							if _, err := next(); errors.Is(err, io.EOF) {
								return
							} else if err != nil {
								t.Fatal(err)
							}
						}
					}
				}
				fresh, again := allocatedBy(read(false)), uint64(math.MaxUint64)
				for range 5 { // the lz4 package pools its blocks, and a collection empties the pool
					again = min(again, allocatedBy(read(true)))
				}
				if unpacked := uint64(6000 * 100); fresh < unpacked || again > fresh-unpacked*2/3 {
					t.Errorf("%s, %s, %d workers: %d bytes allocated, with Reuse %d", how, comp, workers, fresh, again)
				}
				if n := testing.AllocsPerRun(1, read(true)); n > 600 {
					t.Errorf("%s, %s, %d workers: %v allocations for 6000 messages", how, comp, workers, n)
				}
			}
		}
	}
}

// Workers leave small chunks that are not compressed to the cursor: with them, the file is read no more often than without.
func TestSmallPlainChunksStayWithTheCursor(t *testing.T) {
	t.Parallel()
	for comp, more := range map[rosbag.Compression]bool{rosbag.CompressionNone: false, rosbag.CompressionLZ4: true} {
		conns, msgs := sample(2000)
		for i := range msgs {
			msgs[i].Time = rosbag.Time{Sec: uint32(i / 4)} // chunks of the same time
		}
		b := writeBag(t, bagfmt.WriterOptions{Compression: comp, ChunkBytes: 1}, conns, msgs)
		var reads [2]int64
		for i, workers := range []int{0, 2} {
			file := &countingReader{r: bytes.NewReader(b)}
			r, err := bagfmt.NewReader(file, int64(len(b)), bagfmt.ReaderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c := r.Cursor(rosbag.Query{Workers: workers})
			if got := events(t, c.Next); len(got) != len(msgs) {
				t.Errorf("%s, %d workers: %d messages, want %d", comp, workers, len(got), len(msgs))
			}
			c.Close()
			reads[i] = file.reads.Load()
		}
		if got := reads[1] > reads[0]+4; got != more {
			t.Errorf("%s: %d reads without workers, %d with 2", comp, reads[0], reads[1])
		}
	}
}

type countingReader struct {
	r     io.ReaderAt
	reads atomic.Int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	c.reads.Add(1)
	return c.r.ReadAt(b, off)
}
