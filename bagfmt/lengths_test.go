package bagfmt_test

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestLengths puts hostile values in every length of a bag.
func TestLengths(t *testing.T) { // not parallel: it looks at what all goroutines allocate
	for _, comp := range compressions {
		full := sampleBag(t, comp)
		var at []int
		for _, r := range records(t, full) {
			at = append(at, r.off, r.dataAt, r.off+4)
			for _, key := range []string{"size", "count", "conn_count", "chunk_count", "chunk_pos", "index_pos"} {
				if off, ok := r.fields[key]; ok {
					at = append(at, off)
				}
			}
			if r.op == 7 {
				at = append(at, r.dataAt+4)
			}
			if r.op == 5 && comp == rosbag.CompressionNone {
				for off := 0; off < len(r.data); {
					in := cutRecord(t, r.data, off)
					at = append(at, r.dataAt+4+in.off, r.dataAt+4+in.off+4, r.dataAt+4+in.dataAt)
					off = in.dataAt + 4 + len(in.data)
				}
			}
		}
		for n, off := range at {
			if n%stride(1) != 0 {
				continue
			}
			for _, v := range []uint32{0, 1, 2, 3, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1} {
				b := setU32(full, off, v)
				checkAllocs(t, b, func() {
					_, errs := scanAll(t, b)
					_, more := readAll(t, b, rosbag.Query{})
					for _, err := range append(errs, more...) {
						if !typed(err) {
							t.Errorf("%s, %d at %d: untyped %v", comp, v, off, err)
						}
					}
				})
			}
		}
	}
}

// checkAllocs fails if f allocates more than hostile lengths may cause.
func checkAllocs(tb testing.TB, in []byte, f func()) {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64*uint64(len(in))+allocConst {
		tb.Errorf("%d bytes allocated for a bag of %d", got, len(in))
	}
}

// TestLongConnection refuses a connection record of 16 MiB in the index section
// before it is in memory.
func TestLongConnection(t *testing.T) { // it counts what is allocated
	const long = 16 << 20
	conns, msgs := sample(3)
	conns[0].Header = append(conns[0].Header[:3:3], rosbag.Field{Key: "callerid", Value: strings.Repeat("c", 1<<20)})
	whole := writeBag(t, bagfmt.WriterOptions{}, conns, msgs)
	index := slices.IndexFunc(records(t, whole), func(r record) bool { return r.op == 7 })
	at := records(t, whole)[index].dataAt
	bag := slices.Concat(setU32(whole, at, uint32(len(records(t, whole)[index].data)+long))[:at+4], make([]byte, long), whole[at+4:])
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := openBag(bag)
	var limit *rosbag.LimitError
	if !errors.As(err, &limit) || limit.What != "connection header" {
		t.Errorf("got %v", err)
	}
	if _, err := openAny(bag); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > long/2 {
		t.Errorf("%d bytes allocated", got)
	}
}

// bomb is a bag of one chunk that says it unpacks to size bytes.
func bomb(tb testing.TB, comp rosbag.Compression, stored []byte, size uint32) []byte {
	tb.Helper()
	full := writeBag(tb, bagfmt.WriterOptions{}, nil, nil)
	conns, _ := sample(0)
	chunk := rec(fields.List{
		{Key: "op", Value: "\x05"},
		{Key: "compression", Value: string(comp)},
		{Key: "size", Value: u32s(size)},
	}, stored)
	conn := rec(fields.List{{Key: "op", Value: "\x07"}, {Key: "conn", Value: u32s(0)}, {Key: "topic", Value: conns[0].Topic}}, fields.List(conns[0].Header).Append(nil))
	info := rec(fields.List{
		{Key: "op", Value: "\x06"},
		{Key: "ver", Value: u32s(1)},
		{Key: "chunk_pos", Value: u32s(4117, 0)},
		{Key: "start_time", Value: u32s(1, 0)},
		{Key: "end_time", Value: u32s(2, 0)},
		{Key: "count", Value: u32s(1)},
	}, []byte(u32s(0, 1)))
	head := records(tb, full)[0]
	full = setU64(full, head.fields["index_pos"], uint64(len(full)+len(chunk)))
	full = setU32(full, head.fields["conn_count"], 1)
	full = setU32(full, head.fields["chunk_count"], 1)
	return slices.Concat(full, chunk, conn, info)
}

// TestBombs unpacks chunks that are much bigger than they look, or lie about it.
func TestBombs(t *testing.T) {
	testkit.SkipInRace(t, "memory is measured, and the detector takes more")
	const unpacked = 4 << 20
	for _, comp := range compressions[1:] {
		z, err := chunk.NewCompressor(comp)
		if err != nil {
			t.Fatal(err)
		}
		conns, _ := sample(0)
		var b chunk.Builder
		b.Reset(nil)
		b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame(strings.Repeat("\x00", unpacked)), 1)
		sealed := seal(t, &b, z)
		stored := cutRecord(t, sealed.Record, 0).data
		size := uint32(sealed.UncompressedBytes)
		tests := map[string]struct {
			size uint32
			want error
		}{
			"right":     {size, nil},
			"one less":  {size - 1, rosbag.ErrCorrupt},
			"one more":  {size + 1, rosbag.ErrCorrupt},
			"tiny":      {10, rosbag.ErrCorrupt},
			"zero":      {0, rosbag.ErrCorrupt},
			"200 MiB":   {200 << 20, rosbag.ErrCorrupt},
			"512 MiB":   {512 << 20, rosbag.ErrCorrupt},
			"too much":  {512<<20 + 1, rosbag.ErrLimit},
			"2 GiB":     {1 << 31, rosbag.ErrLimit},
			"4 GiB - 1": {1<<32 - 1, rosbag.ErrLimit},
		}
		for name, tc := range tests {
			t.Run(string(comp)+"/"+name, func(t *testing.T) {
				bag := bomb(t, comp, stored, tc.size)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				msgs, errs := scanAll(t, bag)
				runtime.ReadMemStats(&after)
				if tc.want == nil && (len(msgs) != 1 || errs != nil) || tc.want != nil && (len(errs) == 0 || !errors.Is(errs[0], tc.want)) {
					t.Errorf("scanner: %d messages, %v", len(msgs), errs)
				}
				if got := after.TotalAlloc - before.TotalAlloc; got > 4*unpacked+allocConst {
					t.Errorf("%d bytes allocated", got)
				}
				if tc.want != nil {
					if _, errs := readAll(t, bag, rosbag.Query{}); len(errs) == 0 {
						t.Error("reader: no error")
					}
				}
			})
		}
		// A small limit holds for what a chunk unpacks to, too.
		s, err := bagfmt.NewScanner(bytes.NewReader(bomb(t, comp, stored, size)), bagfmt.ScannerOptions{MaxChunkBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(); !errors.Is(err, rosbag.ErrLimit) {
			t.Errorf("%s: %v, want ErrLimit", comp, err)
		}
	}
}

// recoverOf returns a function that recovers a bag, and asks f whether to go on.
func recoverOf(bag []byte) func(f func() error) error {
	return func(f func() error) error {
		w, err := bagfmt.NewWriter(new(memFile), bagfmt.WriterOptions{})
		if err == nil {
			_, err = recovery.Recover(bytes.NewReader(bag), int64(len(bag)), w, recovery.Options{Progress: func(int64) error { return f() }})
		}
		return err
	}
}

// TestInterrupted ends the unpacking of a chunk after a few MiB of it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	const unpacked = 64 << 20
	message := frame(strings.Repeat("\x00", unpacked))
	errStop := errors.New("stop")
	for _, comp := range compressions[1:] {
		z, err := chunk.NewCompressor(comp)
		if err != nil {
			t.Fatal(err)
		}
		conns, _ := sample(0)
		var b chunk.Builder
		b.Reset(nil)
		b.AppendRun(conns[0], rosbag.Time{Sec: 1}, message, 1)
		sealed := seal(t, &b, z)
		bag := bomb(t, comp, cutRecord(t, sealed.Record, 0).data, uint32(sealed.UncompressedBytes))
		for name, read := range map[string]func(func() error) error{
			"reader": func(f func() error) error {
				r, err := bagfmt.NewReader(bytes.NewReader(bag), int64(len(bag)), bagfmt.ReaderOptions{Interrupted: f})
				if err == nil {
					_, err = r.Cursor(rosbag.Query{}).Next()
				}
				return err
			},
			"scanner": func(f func() error) error {
				s, err := bagfmt.NewScanner(bytes.NewReader(bag), bagfmt.ScannerOptions{Interrupted: f})
				if err == nil {
					_, err = s.Next()
				}
				return err
			},
			"recover":                    recoverOf(bag),
			"recover a chunk at the end": recoverOf(bag[:recordsOf(t, bag, 7)[0].off]),
		} {
			calls := 0
			if err := read(func() error {
				if calls++; calls > 2 {
					return errStop
				}
				return nil
			}); !errors.Is(err, errStop) || errors.Is(err, rosbag.ErrCorrupt) || calls > 8 {
				t.Errorf("%s, %s: %v, asked %d times", comp, name, err, calls)
			}
		}
	}
}
