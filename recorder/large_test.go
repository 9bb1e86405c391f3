package recorder

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/tcpros"
)

// beginLarge begins a large message of which only some bytes come. The goroutine that waits
// for more ends with the test.
func beginLarge(t *testing.T, l *link, size, sent int) tcpros.LargeFrame {
	t.Helper()
	f := l.Large(size)
	if f == nil {
		t.Fatalf("a message of %d bytes was refused", size)
	}
	fillFrame(f, frame(0, 0, size-4)[:sent])
	return f
}

// fillFrame gives a large message its next bytes, and reports whether it took them all.
func fillFrame(f tcpros.LargeFrame, b []byte) bool {
	for len(b) > 0 {
		room := f.Room(len(b))
		if room == nil {
			return false
		}
		b = b[copy(room, b):]
	}
	return true
}

// TestAnnouncedBytesBlockNobody: two publishers that announce nearly the whole buffer each
// and then send next to nothing hold up neither small messages nor large ones, where links
// wait for room.
func TestAnnouncedBytesBlockNobody(t *testing.T) {
	t.Parallel()
	const size = 14 << 20
	p := testPipeline(t, Options{BufferBytes: 16 << 20, Overflow: OverflowBlock}, nil)
	small, image := open(t, p, "/small", "/p"), open(t, p, "/image", "/p")
	first := beginLarge(t, open(t, p, "/liar1", "/p"), size, 200_000)
	second := make(chan tcpros.LargeFrame, 1)
	liar := open(t, p, "/liar2", "/p")
	go func() { second <- liar.Large(size) }() // waits for the first
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.pool.turns.queue) == 1
	})
	const messages = 2000 // more than the buffer holds
	publishPlain(small, messages)
	var images sync.WaitGroup
	images.Go(func() {
		for n := range uint32(5) {
			sendLarge(image, frame(2, n, 5<<20))
		}
	})
	p.mu.Lock()
	later := time.Now().Add(leaseTime) // the liars lose their leases
	p.mu.Unlock()
	p.tick(later)
	second2 := <-second
	fillFrame(second2, make([]byte, 200_000))
	later = time.Now().Add(2 * leaseTime) // the second may have come to its lease late
	waitFor(t, func() bool {
		p.tick(later)
		return accountOf(image).recorded == 5
	})
	images.Wait()
	first.Abort()
	second2.Abort()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := accountOf(small).recorded; got != messages {
		t.Errorf("%d of %d small messages", got, messages)
	}
	if n := lost(small) + lost(image); n != 0 {
		t.Errorf("%d messages lost", n)
	}
}

// TestAnnouncedLatchedBytes: a latched message that is announced takes memory as it
// arrives, whatever its copy for the next files will take, and whatever overflow does.
func TestAnnouncedLatchedBytes(t *testing.T) {
	t.Parallel()
	for _, overflow := range []Overflow{OverflowDrop, OverflowBlock} {
		p := testPipeline(t, Options{BufferBytes: 16 << 20, Overflow: overflow}, nil)
		l := openLatched(t, p, "/map", "/p")
		f := beginLarge(t, l, 4<<20, 200_000)
		if used, forLatched := bytesInUse(p.intake); used > 2<<20 || forLatched != 0 {
			t.Errorf("%d bytes in use, %d for latched messages, of 200 kB that came", used, forLatched)
		}
		f.Abort()
		sendLarge(l, frame(1, 0, 2<<20))
		if _, forLatched := bytesInUse(p.intake); forLatched < 2<<20 {
			t.Errorf("%d bytes for latched messages: it was not remembered", forLatched)
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
				sendLarge(l, frame(i, n, int(7+2*i)<<20))
			}
		})
	}
	small := open(t, p, "/small", "/p")
	all.Go(func() {
		for n := range uint32(3000) {
			small.Frames(frame(publishers, n, 10_000), 1, time.Now())
		}
	})
	stop := tickAlong(p)
	all.Wait()
	stop()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := numbers(t, p.out.Target())
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

// TestHalfReceivedMessages: should messages that are half received ever come to wait for
// each other's memory, the latest is given up and counted.
func TestHalfReceivedMessages(t *testing.T) {
	t.Parallel()
	const size, come = 12 << 20, 6 << 20
	p := testPipeline(t, Options{BufferBytes: 32 << 20, Overflow: OverflowBlock}, nil)
	links := [2]*link{open(t, p, "/a", "/p"), open(t, p, "/b", "/p")}
	var frames [2]tcpros.LargeFrame
	for i, l := range links {
		frames[i] = beginLarge(t, l, size, come)
	}
	p.mu.Lock()
	p.pool.budget = 18 << 20 // leases see to it that this cannot happen
	for _, f := range p.pool.turns.active {
		f.granted = false
	}
	p.mu.Unlock()
	var took [2]bool
	var all sync.WaitGroup
	for i, f := range frames {
		all.Go(func() {
			if took[i] = fillFrame(f, make([]byte, size-come)); took[i] {
				f.Abort()
			}
		})
	}
	all.Wait()
	if took != [2]bool{true, false} {
		t.Errorf("completed: %v, want the first", took)
	}
	if d := accountOf(links[1]).dropped[dropBufferFull]; d != 1 {
		t.Errorf("%d counted as lost, want 1", d)
	}
	closePipeline(t, p)
}

// TestLeases decides who may be received, without a pipeline.
func TestLeases(t *testing.T) {
	t.Parallel()
	now := time.Now()
	room := func(int64, int64) int64 { return 100 }
	message := func(l *turns, need, counted int64) *turn {
		f := &turn{chunk: &chunk{counted: counted}, need: need}
		l.grant(f, 1, now)
		return f
	}
	var l turns
	fast := message(&l, 60, 10)
	big, fits := &turn{need: 60}, &turn{need: 30}
	l.enqueue(big)
	l.enqueue(fits)
	if l.grants(big, room) || l.grants(fits, room) {
		t.Error("more than there is room for, or out of turn")
	}
	if l.expire(now.Add(leaseTime - 1)) {
		t.Error("a lease ended early")
	}
	fast.arrived.Store(leaseBytes)
	if l.expire(now.Add(leaseTime)) || l.expire(now.Add(2*leaseTime-1)) {
		t.Error("the lease of a message that moves ended")
	}
	if !l.expire(now.Add(2*leaseTime)) || l.expire(now.Add(2*leaseTime)) {
		t.Error("the lease of a message that stands still goes on, or ended twice")
	}
	if !l.grants(big, room) {
		t.Error("no lease although what has arrived leaves room")
	}
	fast.chunk.counted = 50 // a slow message holds so much that the first cannot come
	if l.grants(big, room) || !l.grants(fits, room) {
		t.Error("a message waits behind one for which there will be no room")
	}
	l.dequeue(big)
	proven := &turn{need: 1, proven: true}
	l.enqueue(proven)
	l.enqueue(fast)
	if l.queue[0] != fast || l.queue[1] != proven || l.queue[2] != fits {
		t.Error("the order is not: begun, proven, others")
	}
	l.dequeue(proven)
	l.dequeue(fast)
	l.dequeue(fits)
	l.grant(fast, 1, now)
	if l.expire(now.Add(time.Hour)) {
		t.Error("a lease ended although nobody waits")
	}
	l.end(fast)
	if len(l.active)+len(l.queue) != 0 {
		t.Error("something is left")
	}
}

// TestBlockageIsReported: publishers that wait for three seconds are named, once and again
// when they go on, and in the account.
func TestBlockageIsReported(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{Log: zap.New(core), BufferBytes: 1, ChunkBytes: 10 << 10, Overflow: OverflowBlock}, func(f bagfile.Handle) bagfile.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	var sending sync.WaitGroup
	sending.Go(func() { publishPlain(l, 20) })
	var now time.Time // when it began to wait, which may be a while ago
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.blocked) == 0 {
			return false
		}
		now = p.blocked[0].since
		return true
	})
	const text = "a publisher is held up"
	said := func() int {
		return logs.Filter(func(e observer.LoggedEntry) bool { return len(e.Message) > len(text) && e.Message[:len(text)] == text }).Len()
	}
	if p.tick(now.Add(blockageReport - time.Second)); said() != 0 {
		t.Error("a short wait was reported")
	}
	p.tick(now.Add(blockageReport))
	p.tick(now.Add(blockageReport + time.Second))
	if said() != 1 {
		t.Errorf("reported %d times, want once", said())
	}
	p.mu.Lock()
	p.blocked[0].since = now.Add(-blockageReport) // as if it had really taken so long
	p.mu.Unlock()
	close(g.open)
	sending.Wait()
	p.tick(time.Now())
	if logs.FilterMessage("a publisher goes on").Len() != 1 {
		t.Error("the end was not reported")
	}
	p.mu.Lock()
	held := p.accounts(time.Now())[0].HeldUp
	p.mu.Unlock()
	if held < blockageReport {
		t.Errorf("held up for %v in the account, want %v or more", held, blockageReport)
	}
	closePipeline(t, p)
}
