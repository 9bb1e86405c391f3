package recorder

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestAnnouncedBytesBlockNobody: two publishers that announce most of the room for large messages each
// and then send next to nothing hold up neither small messages nor large ones, where links
// wait for room.
func TestAnnouncedBytesBlockNobody(t *testing.T) {
	t.Parallel()
	const size = 6 << 20
	p := testPipeline(t, Options{BufferBytes: 16 << 20, Overflow: OverflowBlock}, nil)
	small, image := open(t, p, "/small", "/p"), open(t, p, "/image", "/p")
	first := testlink.BeginLarge(t, open(t, p, "/liar1", "/p"), size, 200_000)
	second := make(chan tcpros.LargeFrame, 1)
	liar := open(t, p, "/liar2", "/p")
	go func() { second <- liar.Large(size) }() // waits for the first
	testlink.WaitFor(t, func() bool { return heldUp(p, "/liar2") })
	const messages = 2000 // more than the buffer holds
	testlink.PublishPlain(small, messages)
	var images sync.WaitGroup
	images.Go(func() {
		for n := range uint32(5) {
			testlink.SendLarge(image, testlink.Frame(2, n, 5<<20))
		}
	})
	later := time.Now().Add(memory.LeaseTime) // the liars lose their leases
	p.tick(later)
	second2 := <-second
	testlink.Fill(second2, make([]byte, 200_000))
	later = time.Now().Add(2 * memory.LeaseTime) // the second may have come to its lease late
	testlink.WaitFor(t, func() bool {
		p.tick(later)
		return accountOf(p, image).Messages == 5
	})
	images.Wait()
	first.Abort()
	second2.Abort()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := accountOf(p, small).Messages; got != messages {
		t.Errorf("%d of %d small messages", got, messages)
	}
	if n := lost(p, small) + lost(p, image); n != 0 {
		t.Errorf("%d messages lost", n)
	}
}

// TestAnnouncedLatchedBytes: a latched message that is announced takes memory as it
// arrives, whatever its copy for the next files will take, and whatever overflow does.
func TestAnnouncedLatchedBytes(t *testing.T) {
	t.Parallel()
	for _, overflow := range []Overflow{OverflowDrop, OverflowBlock} {
		p := testPipeline(t, Options{BufferBytes: 16 << 20, Overflow: overflow}, nil)
		l := latching(t, p, "/map", "/p")
		f := testlink.BeginLarge(t, l, 4<<20, 200_000)
		if u := p.Usage(); u.Held-u.Idle > 2<<20 || u.Latched != 0 {
			t.Errorf("%d bytes in use, %d for latched messages, of 200 kB that came", u.Held-u.Idle, u.Latched)
		}
		f.Abort()
		testlink.SendLarge(l, testlink.Frame(1, 0, 2<<20))
		if n := p.Usage().Latched; n < 2<<20 {
			t.Errorf("%d bytes for latched messages: it was not remembered", n)
		}
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLargeMessagesTakeTurns: where links wait for room, messages that do not fit into the
// buffer together are received one after the other, and none is lost.
func TestLargeMessagesTakeTurns(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 16 << 20, ChunkBytes: 100 << 10, Overflow: OverflowBlock}, nil)
	const publishers, messages = 4, 4
	var all sync.WaitGroup
	for i := range uint32(publishers) {
		l := open(t, p, fmt.Sprintf("/large%d", i), "/p")
		all.Go(func() {
			for n := range uint32(messages) {
				testlink.SendLarge(l, testlink.Frame(i, n, int(7+2*i)<<19))
			}
		})
	}
	small := open(t, p, "/small", "/p")
	all.Go(func() {
		for n := range uint32(3000) {
			small.Frames(testlink.Frame(publishers, n, 10_000), 1, time.Now())
		}
	})
	stop := tickAlong(p)
	all.Wait()
	stop()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := testlink.Numbers(t, p.Current().Target())
	for i := range uint32(publishers) {
		checkCount(t, "large", map[uint32][]uint32{i: byTime[i]}, 1, messages)
	}
	checkCount(t, "small", map[uint32][]uint32{publishers: byTime[publishers]}, 1, 3000)
}

// tickAlong does what the recording's own goroutine does, until stop is called.
func tickAlong(p *pipeline) (stop func()) {
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		each := time.NewTicker(10 * time.Millisecond)
		defer each.Stop()
		for {
			select {
			case now := <-each.C:
				p.tick(now)
			case <-done:
				return
			}
		}
	})
	return func() { close(done); ticking.Wait() }
}

// TestBlockageIsReported: publishers that wait for three seconds are named, once and again
// when they go on, and in the account.
func TestBlockageIsReported(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{Log: zap.New(core), BufferBytes: 1, ChunkBytes: 10 << 10, Overflow: OverflowBlock}, func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	var sending sync.WaitGroup
	sending.Go(func() { testlink.PublishPlain(l, 20) })
	waited := func(at time.Time) time.Duration { return p.Stats(at).Topics[0].HeldUp }
	var since time.Time // when the link began to wait, which may be a while ago
	testlink.WaitFor(t, func() bool {
		at := time.Now().Add(time.Hour)
		since = at.Add(-waited(at))
		return since.Before(at)
	})
	const text = "a publisher is held up"
	said := func() int {
		return logs.Filter(func(e observer.LoggedEntry) bool { return len(e.Message) > len(text) && e.Message[:len(text)] == text }).Len()
	}
	if p.tick(since.Add(account.ReportedWait - time.Second)); said() != 0 {
		t.Error("a short wait was reported")
	}
	p.tick(since.Add(account.ReportedWait))
	p.tick(since.Add(account.ReportedWait + time.Second))
	if said() != 1 {
		t.Errorf("reported %d times, want once", said())
	}
	if got := waited(since.Add(account.ReportedWait)); got != account.ReportedWait {
		t.Errorf("held up for %v in the account, want %v", got, account.ReportedWait)
	}
	close(g.open)
	sending.Wait()
	p.tick(time.Now())
	if logs.FilterMessage("a publisher goes on").Len() != 1 {
		t.Error("the end was not reported")
	}
	closePipeline(t, p)
}
