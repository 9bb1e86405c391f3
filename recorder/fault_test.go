package recorder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// volume is a disk of a few bytes. After so many operations somebody else takes all of
// it that is free, then and later.
type volume struct {
	mu    sync.Mutex
	free  int64
	ops   int
	after int
	files []*int64 // what each owns
}

// volumeFile is a file on it, in the way of ext4: what is reserved is its own, also if
// that was not all.
type volumeFile struct {
	disk.Handle
	*volume
	owns *int64
}

func (v *volume) wrap(inner disk.Handle) disk.Handle {
	owns := int64(8 << 10) // the head of the bag
	v.files = append(v.files, &owns)
	return volumeFile{inner, v, &owns}
}

// take makes the file own its bytes up to end, or as many as there are.
func (f volumeFile) take(end int64) (got int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ops++; f.ops > f.after {
		f.free = 0
	}
	more := min(max(end-*f.owns, 0), f.free)
	f.free -= more
	*f.owns += more
	return *f.owns
}

func (f volumeFile) Reserve(_, end int64) error {
	if f.take(end) < end {
		return syscall.ENOSPC
	}
	return nil
}

func (f volumeFile) WriteAt(p []byte, off int64) (int, error) {
	got := f.take(off + int64(len(p)))
	if got >= off+int64(len(p)) {
		return f.Handle.WriteAt(p, off)
	}
	n, err := f.Handle.WriteAt(p[:max(got-off, 0)], off)
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f volumeFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free += max(*f.owns-size, 0)
	*f.owns = min(*f.owns, size)
	return f.Handle.Truncate(size)
}

// TestFullDiskAlwaysHasRoomForTheIndex: whenever somebody else fills the disk, every
// bag is closed, and what is in the bags is what is counted.
func TestFullDiskAlwaysHasRoomForTheIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			step := 1
			if testing.Short() {
				step = 5
			}
			const topics, messages = 30, 20 // the records of the topics are most of the index
			var frames [messages][topics][]byte
			for n := range frames {
				for i := range frames[n] {
					frames[n][i] = noise(testlink.Frame(uint32(i), uint32(n), 3000))
				}
			}
			for after := 1; after < 40; after += step {
				v := &volume{free: 900_000, after: 3 * after} // too little to reserve much ahead
				p := testPipeline(t, Options{Compression: c, ChunkBytes: 20 << 10}, v.wrap)
				var links []*intake.Link
				for i := range topics {
					links = append(links, open(t, p, fmt.Sprintf("/t%d", i), fmt.Sprintf("/p%d", i)))
				}
				for n := range frames {
					for i, l := range links {
						l.Frames(frames[n][i], 1, time.Now())
					}
				}
				err := p.close()
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("after %d operations: %v, want a full disk", v.after, err)
				}
				kept := 0
				var used, size int64
				for _, owns := range v.files {
					used += *owns
				}
				for _, path := range filesOf(t, p) {
					st, err := os.Stat(path)
					if err != nil {
						t.Fatal(err)
					}
					size += max(st.Size(), 8<<10)
					byTime, _ := testlink.Numbers(t, path)
					for _, list := range byTime {
						kept += len(list)
					}
				}
				var counted, dropped uint64
				for _, topic := range accountsNow(p) {
					counted += topic.Messages
					dropped += topic.Dropped[control.DropDisk.String()]
				}
				if used != size {
					t.Errorf("after %d operations: the closed bags have %d bytes and take %d of the disk", v.after, size, used)
				}
				if uint64(kept) != counted || counted+dropped != messages*uint64(len(links)) {
					t.Errorf("after %d operations: %d messages kept, %d counted, %d dropped", v.after, kept, counted, dropped)
				}
			}
		})
	}
}

// noise makes a frame that does not get shorter by compression.
func noise(f []byte) []byte {
	words := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(f[4:]), 1))
	for i := 12; i < len(f); i++ {
		f[i] = byte(words.Uint32())
	}
	return f
}

// TestHangingDisk: the buffer fills and no more, losses are counted, and an end that is
// asked for comes.
func TestHangingDisk(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	g := gate{open: make(chan struct{})}
	const budget = 1 << 20
	// Without syncs: one that takes long on a busy disk would be said, too.
	o := Options{BufferBytes: budget, ChunkBytes: 100 << 10, Sync: SyncNone, Log: zap.New(core)}
	p := testPipeline(t, o, func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	p.Bags.Outputs.Watchdog.Limit = 200 * time.Millisecond
	node, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "rec", MasterURI: "http://127.0.0.1:1/", Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close(context.Background()) })
	o.Select.All, o.Node = true, node
	if o, err = o.withDefaults(); err != nil {
		t.Fatal(err)
	}
	o.Select = Selection{} // subscribes to nothing
	r := sessionOn(p, o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.record(ctx) }()
	l := open(t, p, "/t", "/p")
	const messages = 300
	for n := range uint32(messages) {
		l.Frames(testlink.Frame(1, n, 10_000), 1, time.Now())
	}
	if held := p.Usage().Held; held > budget {
		t.Errorf("%d bytes held, more than the budget", held)
	}
	testlink.WaitFor(t, func() bool { return logs.FilterMessageSnippet("has not answered").Len() == 1 })
	if s := r.stats(); s.Buffered == 0 || s.Ending { // a watchdog asks for them: it must not take this for a crashed recorder
		t.Errorf("while the disk hangs: %+v", s)
	}
	cancel()
	if err := <-done; !errors.Is(err, ErrDiskHangs) || !strings.Contains(err.Error(), "write of "+p.Current().Path()) {
		t.Errorf("got %v", err)
	}
	if sum := r.summary(time.Second); sum.File != p.Current().Path() || len(sum.Files) != 1 {
		t.Errorf("the summary knows the files %v", sum.Files)
	}
	topic := accountOf(p, l)
	if n := topic.Dropped[control.DropDisk.String()] + topic.Dropped[control.DropBufferFull.String()]; topic.Messages != 0 || n != messages {
		t.Errorf("%d messages, dropped %v of %d", topic.Messages, topic.Dropped, messages)
	}
	close(g.open) // for the end of the test
	testlink.WaitFor(t, func() bool { return p.Bags.Finished.Number() == 1 })
}

// TestClockJump: an hour to and fro makes no files but those of the wall clock, messages
// stay in order, the chunks know their times, and it is said once.
func TestClockJump(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.WarnLevel)
			p := testPipeline(t, Options{Split: true, Duration: 10 * time.Second, Log: zap.New(core)}, nil)
			l := open(t, p, "/t", "/p")
			start := time.Now()
			at := func(n uint32) time.Time { // 100 messages in a second; the clock is wrong from the 50th on
				now := start.Add(time.Duration(n) * 10 * time.Millisecond)
				if n >= 50 {
					now = testlink.SetClock(t, now, by)
				}
				return now
			}
			for n := range uint32(100) {
				p.tick(at(n))
				l.Frames(testlink.Frame(1, n, 100), 1, at(n))
			}
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			paths := filesOf(t, p)
			if len(paths) != 1 {
				t.Fatalf("files %v", paths)
			}
			byTime, byFile := testlink.Numbers(t, paths[0])
			checkCount(t, "in the file", byFile, 1, 100)
			if by > 0 {
				checkCount(t, "by time", byTime, 1, 100)
			} else if !slices.Equal(byTime[1][:2], []uint32{50, 51}) || len(byTime[1]) != 100 {
				t.Errorf("by their stamps, which are of the clock: %v", byTime[1])
			}
			if n := logs.FilterMessageSnippet("the clock was set").Len(); n != 1 {
				t.Errorf("said %d times", n)
			}
		})
	}
}

// TestNoSplitOnAFullDisk: the space is looked at before each split, too.
func TestNoSplitOnAFullDisk(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true, Duration: time.Hour, MinSpace: 1000, MinSpaceText: "1000"}, nil)
	p.Bags.Disk.Free = func() (int64, error) { return 999, nil }
	l := open(t, p, "/t", "/p")
	testlink.PublishPlain(l, 3)
	l.Frames(testlink.Frame(1, 3, 100), 1, p.begun.Add(time.Hour))
	<-p.Bags.Disk.Full
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := testlink.Numbers(t, filesOf(t, p)[0])
	if checkCount(t, "in the only file", byTime, 1, 4); p.Bags.Finished.Number() != 1 {
		t.Errorf("%d files", p.Bags.Finished.Number())
	}
}
