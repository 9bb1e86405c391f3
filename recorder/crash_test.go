package recorder

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// diary is what a file was told to do, in order.
type diary struct {
	mu  sync.Mutex
	ops []diskOp
}

// diskOp is a write of data at off, a truncation to off if data is nil, or a sync.
type diskOp struct {
	off  int64
	data []byte
	sync bool
}

type diaryFile struct {
	disk.Handle
	*diary
}

func (d *diary) note(op diskOp) {
	d.mu.Lock()
	d.ops = append(d.ops, op)
	d.mu.Unlock()
}

func (f diaryFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.Handle.WriteAt(p, off)
	f.note(diskOp{off: off, data: bytes.Clone(p)})
	return n, err
}

func (f diaryFile) Truncate(size int64) error {
	f.note(diskOp{off: size})
	return f.Handle.Truncate(size)
}

func (f diaryFile) Sync() error {
	err := f.Handle.Sync()
	f.note(diskOp{sync: true})
	return err
}

// image is a disk after a power cut.
type image []byte

// apply does what op says, of a write the first torn bytes only. Holes are zeros.
func (m image) apply(op diskOp, torn int) image {
	if op.data == nil {
		if !op.sync && op.off < int64(len(m)) {
			m = m[:op.off]
		}
		return m
	}
	data := op.data[:min(torn, len(op.data))]
	if end := int(op.off) + len(data); end > len(m) {
		m = append(m, make([]byte, end-len(m))...)
	}
	copy(m[op.off:], data)
	return m
}

// readable returns the numbers of what recovery finds in the image, in file order, and
// fails if a message is not as it was sent.
func (m image) readable(t *testing.T) []uint32 {
	t.Helper()
	var out bytes.Buffer
	w, err := bagfmt.NewWriter(&out, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.Recover(bytes.NewReader(m), int64(len(m)), w, recovery.Options{}); err != nil {
		return nil // no bag
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := bagfmt.NewScanner(&out, bagfmt.ScannerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []uint32
	for {
		msg, err := s.Next()
		if err != nil {
			return all
		}
		n := binary.LittleEndian.Uint32(msg.Data()[4:])
		if n >= crashMessages || !bytes.Equal(msg.Data(), crashFrame(n)[4:]) {
			t.Fatalf("message %d is not as it was sent", n)
		}
		all = append(all, n)
	}
}

// crashFrame returns the frame with the number n, which nobody changes.
func crashFrame(n uint32) []byte { return crashFrames()[n] }

var crashFrames = sync.OnceValue(func() (all [crashMessages][]byte) {
	for n := range uint32(crashMessages) {
		all[n] = noise(testlink.Frame(1, n, 1500))
	}
	return all
})

// TestPowerCut looks at what a power cut can leave: the disk has done all until the last
// sync, and of what was asked for since then any part, in any order, the last write torn
// anywhere. Whatever was there at the last sync is there, and nothing is wrong or twice.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			if c != rosbag.CompressionNone {
				testkit.SkipUnlessFull(t, "the same operations as without compression, for two seconds of processor time")
			}
			ops := recordForPowerCut(t, c)
			images := 0
			var safe image            // as of the last sync
			seen := map[uint64]bool{} // since then
			var durable []uint32
			var since []diskOp
			for _, op := range ops {
				if op.sync {
					for _, done := range since {
						safe = safe.apply(done, len(done.data))
					}
					since = nil
					clear(seen)
					durable = safe.readable(t)
					continue
				}
				since = append(since, op)
				images += cutHere(t, safe, durable, since, seen)
			}
			if len(durable) != crashMessages {
				t.Errorf("%d messages at the end", len(durable))
			}
			t.Logf("%d operations, %d images", len(ops), images)
			if images < 2500 && !testing.Short() {
				t.Errorf("only %d images", images)
			}
		})
	}
}

const crashMessages = 42

var imageSeed = maphash.MakeSeed()

// recordForPowerCut records crashMessages with a sync now and then.
func recordForPowerCut(t *testing.T, c rosbag.Compression) []diskOp {
	t.Helper()
	d := new(diary)
	p := testPipeline(t, Options{Compression: c, ChunkBytes: 3000}, func(f disk.Handle) disk.Handle { return diaryFile{f, d} })
	p.Current().Mode = -1 // none of the modes: it is synced as below, and not each second beside that
	l := open(t, p, "/t", "/p")
	head, err := p.Bags.Outputs.Dir.ReadFile("test.bag.active") // was written before
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint32(crashMessages) {
		l.Frames(crashFrame(n), 1, time.Now())
		if n%14 == 13 {
			testlink.WaitFor(t, p.written)
			p.Bags.Sync(p.Current())
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	return append([]diskOp{{data: head}}, d.ops...)
}

// cutHere cuts the power when the last of since was asked for, and returns how many
// images that leaves. It looks at those that were not seen yet.
func cutHere(t *testing.T, safe image, durable []uint32, since []diskOp, seen map[uint64]bool) (images int) {
	t.Helper()
	last := since[len(since)-1]
	step := 1
	if testing.Short() {
		step = 7
	}
	for kept := 0; kept < 1<<(len(since)-1); kept += step {
		for _, torn := range []int{0, 1, 512, 4096, len(last.data) / 2, len(last.data)} {
			m := slices.Clone(safe)
			for i, op := range since[:len(since)-1] {
				if kept>>i&1 == 1 {
					m = m.apply(op, len(op.data))
				}
			}
			m = m.apply(last, torn)
			images++
			key := maphash.Bytes(imageSeed, m)
			if seen[key] {
				continue
			}
			seen[key] = true
			got := m.readable(t)
			sorted := slices.Sorted(slices.Values(got))
			if len(slices.Compact(slices.Clone(sorted))) != len(got) {
				t.Fatalf("a message comes twice: %v", got)
			}
			for _, n := range durable {
				if _, ok := slices.BinarySearch(sorted, n); !ok {
					t.Fatalf("message %d was on the disk and is lost; kept %b of %d, torn at %d: %v", n, kept, len(since), torn, got)
				}
			}
			if !slices.IsSorted(got) {
				t.Fatalf("not in order: %v", got)
			}
		}
	}
	return images
}
