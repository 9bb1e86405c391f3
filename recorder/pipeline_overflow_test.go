package recorder

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// gate is a file whose writes wait while it is shut.
type gate struct {
	disk.Handle
	open chan struct{}
}

func (g gate) WriteAt(p []byte, off int64) (int, error) {
	<-g.open
	return g.Handle.WriteAt(p, off)
}

func TestOverflowDropsTheNewestAndCounts(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 1 << 20, ChunkBytes: 100 << 10}, func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	const messages = 1000
	for n := range uint32(messages) {
		l.Frames(testlink.Frame(1, n, 10_000), 1, time.Now())
	}
	if l.Large(5<<20) != nil {
		t.Error("a message larger than the buffer was taken")
	}
	if held := p.Usage().Held; held > 1<<20 {
		t.Errorf("%d bytes held, more than the budget", held)
	}
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := testlink.Numbers(t, p.Current().Target())
	kept := len(byTime[1])
	for i, v := range byTime[1] {
		if int(v) != i {
			t.Fatalf("message %d at place %d: not the newest were dropped", v, i)
		}
	}
	topic := accountOf(p, l)
	if kept == 0 || kept > 110 || topic.Messages != uint64(kept) {
		t.Errorf("kept %d, counted %d; the buffer holds about 100", kept, topic.Messages)
	}
	if d := topic.Dropped[control.DropBufferFull.String()]; d != uint64(messages-kept) {
		t.Errorf("%d dropped counted, %d kept of %d", d, kept, messages)
	}
	if topic.Dropped[control.DropOversize.String()] != 1 {
		t.Errorf("oversize counted %d times, want once", topic.Dropped[control.DropOversize.String()])
	}
}

func TestOverflowBlocksAndLosesNothing(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 1 << 20, ChunkBytes: 100 << 10, Overflow: OverflowBlock}, func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	done := make(chan struct{})
	go func() {
		defer close(done)
		testlink.PublishPlain(l, 300)
	}()
	testlink.WaitFor(t, func() bool { return heldUp(p, "/t") })
	select {
	case <-done:
		t.Error("the publisher was not held up")
	default:
	}
	close(g.open)
	<-done
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, byFile := testlink.Numbers(t, p.Current().Target())
	checkCount(t, "by time", byTime, 1, 300)
	checkCount(t, "in the file", byFile, 1, 300)
}

// TestLastCallReleasesALargeMessage: at the end a link that waits for room for a
// large message must not wait for a chunk that nobody seals any more.
func TestLastCallReleasesALargeMessage(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 100 << 10, Overflow: OverflowBlock, FlushInterval: time.Hour}, func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	small, large, other := open(t, p, "/small", "/p"), open(t, p, "/large", "/p"), open(t, p, "/large", "/q")
	small.Frames(testlink.Frame(1, 0, 10_000), 1, time.Now())
	first := other.Large(900_000)
	if first == nil {
		t.Fatal("the first large message was refused")
	}
	second := make(chan tcpros.LargeFrame)
	go func() { second <- large.Large(900_000) }()
	testlink.WaitFor(t, func() bool { return heldUp(p, "/large") })
	p.UnblockLinks()
	if f := <-second; f != nil {
		f.Abort()
	}
	first.Abort()
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	_, byFile := testlink.Numbers(t, p.Current().Target())
	checkCount(t, "in the file", byFile, 1, 1)
}

func TestEndReleasesABlockedPublisher(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 1, ChunkBytes: 10 << 10, Overflow: OverflowBlock}, func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	var wg sync.WaitGroup
	wg.Go(func() { testlink.PublishPlain(l, 100) })
	closed := make(chan error)
	go func() { closed <- p.close() }()
	wg.Wait() // close ends the intake although the file hangs
	close(g.open)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestHurrySkipsTheQueueAndCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionBZ2} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			testHurry(t, c)
		})
	}
}

func testHurry(t *testing.T, c rosbag.Compression) {
	t.Helper()
	g := gate{open: make(chan struct{})}
	hurry := make(chan struct{})
	p := testPipeline(t, Options{ChunkBytes: 10 << 10, Hurry: hurry, Compression: c}, func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	testlink.PublishPlain(l, 100)
	close(hurry)
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := testlink.Numbers(t, p.Current().Target())
	topic := accountOf(p, l)
	if got := uint64(len(byTime[1])); got != topic.Messages || topic.Dropped[control.DropAborted.String()] != 100-got || got > 2 {
		t.Errorf("%d messages in the bag, %d counted, %d dropped", got, topic.Messages, topic.Dropped[control.DropAborted.String()])
	}
}

// TestOversizeNamesTheBuffer: the warning says which -b the largest of the messages needs that were
// too large.
func TestOversizeNamesTheBuffer(t *testing.T) {
	t.Parallel()
	for overflow, want := range map[Overflow]string{OverflowDrop: "-b 9", OverflowBlock: "-b 17"} {
		core, logs := observer.New(zapcore.WarnLevel)
		p := testPipeline(t, Options{Log: zap.New(core), BufferBytes: 8 << 20, Overflow: overflow}, nil)
		l := open(t, p, "/map", "/p")
		for _, size := range []int{8<<20 + 1, 8<<20 + 400_000, 8<<20 + 1} {
			if l.Large(size) != nil {
				t.Fatalf("%v: a message of %d bytes is received", overflow, size)
			}
		}
		p.tick(time.Now())
		dropped := logs.FilterMessage("messages dropped").All()
		if len(dropped) != 1 || dropped[0].ContextMap()["needed"] != want || dropped[0].ContextMap()["cause"] != "oversize" {
			t.Errorf("%v: %v, want one warning that names %s", overflow, dropped, want)
		}
		closePipeline(t, p)
	}
}
