package recorder

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestPipelineKeepsEachPublishersOrder(t *testing.T) {
	t.Parallel()
	const publishers, messages = 5, 400
	for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4, rosbag.CompressionBZ2} {
		for _, chunkBytes := range []int{1, 5000, 0} {
			t.Run(fmt.Sprintf("%s/chunk=%d", c, chunkBytes), func(t *testing.T) {
				t.Parallel()
				p := testPipeline(t, Options{Compression: c, ChunkBytes: chunkBytes, Overflow: OverflowBlock, BufferBytes: 4 << 20}, nil)
				var wg sync.WaitGroup
				for i := range publishers {
					l := open(t, p, fmt.Sprintf("/t%d", i%3), fmt.Sprintf("/p%d", i))
					wg.Go(func() { publish(l, uint32(i), messages) })
				}
				wg.Wait()
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
				byTime, byFile := testlink.Numbers(t, p.Current().Target())
				checkCount(t, "by time", byTime, publishers, messages)
				checkCount(t, "in the file", byFile, publishers, messages)
			})
		}
	}
}

// TestAbortedMessageLeavesTheConnection: the record of a connection must be in the
// file before its messages, also when the first chunk that held it was given up.
func TestAbortedMessageLeavesTheConnection(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	topic := p.AddTopic("/t", "/t", time.Time{})
	l, err1 := p.OpenLink(topic, testlink.Info("/t", "/p"))
	f := l.Large(500_000)
	f.Room(1000)
	other, err2 := p.OpenLink(topic, testlink.Info("/t", "/p")) // it came back meanwhile
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	other.Frames(testlink.Frame(1, 0, 10), 1, time.Now())
	f.Abort()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	_, byFile := testlink.Numbers(t, p.Current().Target())
	checkCount(t, "in the file", byFile, 1, 1)
}

// TestClaimsCostNothing: a publisher that announces much and sends little takes no
// room from the others.
func TestClaimsCostNothing(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 8 << 20}, nil)
	liar, honest := open(t, p, "/liar", "/p"), open(t, p, "/honest", "/p")
	f := liar.Large(7 << 20)
	f.Room(1000)
	testlink.PublishPlain(honest, 100)
	if n := accountOf(p, honest).Messages; n != 100 {
		t.Errorf("%d of 100 messages", n)
	}
	f.Abort()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestLargeMessageGivenUpHalfway: two large messages that fit alone but not
// together must not exceed the budget.
func TestLargeMessageGivenUpHalfway(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 16 << 20}, nil)
	var given int
	for i := range 3 {
		l := open(t, p, fmt.Sprintf("/t%d", i), "/p")
		f := l.Large(12 << 20)
		if f == nil {
			given++
			continue
		}
		left := 12 << 20
		for left > 0 {
			room := f.Room(left)
			if room == nil {
				given++
				break
			}
			left -= len(room)
		}
		if d := accountOf(p, l).Dropped[control.DropBufferFull.String()]; left > 0 && d != 1 {
			t.Errorf("message %d: given up, %d counted", i, d)
		}
		if left == 0 {
			defer f.Abort()
		}
	}
	if held := p.Usage().Held; given == 0 || held > 16<<20 {
		t.Errorf("%d given up, %d bytes held", given, held)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
}

var errInjected = errors.New("injected")

func TestFlushSealsAnOldChunk(t *testing.T) {
	t.Parallel()
	written := make(chan struct{}, 10)
	p := testPipeline(t, Options{FlushInterval: time.Second}, func(f disk.Handle) disk.Handle { return told{f, written} })
	l := open(t, p, "/t", "/p")
	now := time.Now()
	l.Frames(testlink.Frame(1, 0, 10), 1, now)
	p.tick(now.Add(999 * time.Millisecond))
	select {
	case <-written:
		t.Error("written before the flush interval")
	default:
	}
	p.tick(now.Add(time.Second))
	<-written
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// told reports each write.
type told struct {
	disk.Handle
	written chan<- struct{}
}

func (f told) WriteAt(p []byte, off int64) (int, error) {
	defer func() {
		select {
		case f.written <- struct{}{}:
		default:
		}
	}()
	return f.Handle.WriteAt(p, off)
}

func TestSameHeaderSameConnection(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	topic := p.AddTopic("/t", "/t", time.Time{})
	info := testlink.Info("/t", "/p")
	first, err1 := p.OpenLink(topic, info)
	again, err2 := p.OpenLink(topic, info)
	info.Header = append(info.Header, fields.Field{Key: "zfoo", Value: "bar"})
	other, err3 := p.OpenLink(topic, info)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if first.Conn() != again.Conn() || first.Conn() == other.Conn() {
		t.Error("a connection is one publisher's header on one topic")
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

func TestLimitStopsAtTheMessage(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Limit: 5}, nil)
	topic := p.AddTopic("/t", "/t", time.Time{})
	l, err := p.OpenLink(topic, testlink.Info("/t", "/p"))
	if err != nil {
		t.Fatal(err)
	}
	for n := uint32(0); n < 8; n += 4 {
		var run []byte
		for i := range uint32(4) {
			run = append(run, testlink.Frame(1, n+i, 20)...)
		}
		l.Frames(run, 4, time.Now())
	}
	<-p.Limited()
	if l.Large(1<<20) != nil || !p.ReachedLimit(topic) {
		t.Error("the topic goes on after its limit")
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := testlink.Numbers(t, p.Current().Target())
	checkCount(t, "by time", byTime, 1, 5)
}

// TestLargeAllocatesNothing: nor does a message with a chunk of its own, from the link to
// the file.
func TestLargeAllocatesNothing(t *testing.T) {
	wrote := make(chan struct{}, 1)
	p := testPipeline(t, Options{FlushInterval: time.Hour, Sync: SyncNone, Overflow: OverflowBlock}, func(f disk.Handle) disk.Handle {
		return told{nowhere{f}, wrote}
	})
	l := open(t, p, "/t", "/p")
	f := testlink.Frame(1, 1, 300_000)
	for range 50 { // the index of the file grows a few times
		offer(l, f)
		<-wrote
	}
	if n := testing.AllocsPerRun(500, func() { offer(l, f); <-wrote }); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestAppendAllocatesNothing: a message costs one copy and no allocation, also where
// some are dropped.
func TestAppendAllocatesNothing(t *testing.T) {
	for _, overflow := range []Overflow{OverflowBlock, OverflowDrop} {
		testAllocations(t, overflow)
	}
}

func testAllocations(t *testing.T, overflow Overflow) {
	t.Helper()
	p := testPipeline(t, Options{FlushInterval: time.Hour, Sync: SyncNone, Overflow: overflow, BufferBytes: 8 << 20}, nil)
	l := open(t, p, "/t", "/p")
	const count = 64
	var run []byte
	for i := range uint32(count) {
		run = append(run, testlink.Frame(1, i, 1000)...)
	}
	now := time.Now()
	for range 200 { // let every buffer grow
		l.Frames(run, count, now)
	}
	// A chunk holds 12 runs.
	if n := testing.AllocsPerRun(600, func() { l.Frames(run, count, now) }); n != 0 {
		t.Errorf("overflow %d: %v allocations for %d messages", overflow, n, count)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("msg=%d", size), func(b *testing.B) {
			p := testPipeline(b, Options{Sync: SyncNone, Overflow: OverflowBlock}, func(f disk.Handle) disk.Handle { return nowhere{f} })
			l := open(b, p, "/t", "/p")
			count := max(64<<10/size, 1)
			var run []byte
			for i := range count {
				run = append(run, testlink.Frame(1, uint32(i), size)...)
			}
			b.SetBytes(int64(len(run)))
			b.ReportAllocs()
			now := time.Now()
			for b.Loop() {
				l.Frames(run, count, now)
			}
			b.StopTimer()
			p.close()
			runtime.GC()
		})
	}
}

// nowhere takes every write.
type nowhere struct{ disk.Handle }

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
