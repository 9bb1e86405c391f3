package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestRingNeedsNoMemoryOfItsOwn: while all memory waits for the sink, a chunk comes into
// the ring as it is, not as a copy for which there is no room.
func TestRingNeedsNoMemoryOfItsOwn(t *testing.T) {
	t.Parallel()
	in := queueing(memory.Options{Limit: 2 << 20, ChunkBytes: 50 << 10, Blocks: true}, &ring.Options{Most: 3 << 19, Only: true})
	l := linkOf(t, in, testlink.Info("/t", "/p"))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for n := range uint32(1000) {
			l.Frames(testlink.Frame(1, n, 5000), 1, time.Now())
		}
	}()
	testlink.WaitFor(t, func() bool { return heldUp(l) })
	next, _ := in.Next()
	next.Chunk.Seal(nil)
	if kept := toRing(in, next.Chunk); kept.Buffer() != next.Chunk {
		t.Error("a copy was made beyond the buffer")
	}
	in.UnblockLinks()
	<-sent
}

// TestRingForgetsTheOld: what is older than the pre-roll takes no memory.
func TestRingForgetsTheOld(t *testing.T) {
	t.Parallel()
	in := queueing(memory.Options{Limit: 64 << 20, ChunkBytes: 1}, &ring.Options{Most: 48 << 20, Window: 10 * time.Second, Only: true})
	l := linkOf(t, in, testlink.Info("/t", "/p"))
	start := time.Now()
	for n := range uint32(100) {
		l.Frames(testlink.Frame(1, n, 100), 1, start.Add(time.Duration(n)*time.Second))
	}
	executeQueued(t, in)
	chunks := takeRing(t, in, beginSnapshot(t, in))
	if n, first := len(chunks), chunks[0].FirstAt().Sub(start); n != 11 || first != 89*time.Second {
		t.Errorf("the ring has %d chunks, from %v on; want 11 from 89 s on", n, first)
	}
}

// beginSnapshot begins a snapshot, whose command is queued.
func beginSnapshot(t *testing.T, in *Intake) *ring.Snapshot {
	t.Helper()
	now := time.Now()
	sn := &ring.Snapshot{At: now, Last: now}
	if !in.BeginSnapshot(sn) {
		t.Fatal("the recording has ended")
	}
	return sn
}

// takeRing executes what is queued before a snapshot, and gives the ring to the snapshot.
func takeRing(t *testing.T, in *Intake, sn *ring.Snapshot) []*latch.Chunk {
	t.Helper()
	for {
		next, _ := in.Next()
		if c := next.Command; c != nil && c.Kind == queue.Snapshot {
			return in.Buffers.TakeRing(sn)
		}
		execute(in, next)
	}
}

// TestTriggerKeepsWhatWasThere: what comes while the sink is behind takes no memory
// of what a snapshot was asked for before.
func TestTriggerKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	in := queueing(memory.Options{Limit: 2 << 20, ChunkBytes: 50 << 10}, &ring.Options{Most: 3 << 19, Only: true})
	l := linkOf(t, in, testlink.Info("/t", "/p"))
	const before = 400
	start := time.Now()
	at := func(n uint32) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	send := func(from, to uint32) {
		for n := from; n < to; n++ {
			l.Frames(testlink.Frame(1, n, 5000), 1, at(n))
		}
	}
	for n := uint32(0); n < before; n += 10 {
		send(n, n+10)
		executeQueued(t, in)
	}
	sn := beginSnapshot(t, in)
	send(before, 5*before)
	chunks, messages := takeRing(t, in, sn), uint32(0)
	for _, c := range chunks {
		messages += uint32(c.MessageCount())
	}
	first, last := chunks[0].FirstAt(), chunks[len(chunks)-1].LastAt()
	if messages < 200 || !first.Equal(at(before-messages)) || !last.Equal(at(before-1)) {
		t.Errorf("%d messages, from %v to %v", messages, first.Sub(start), last.Sub(start))
	}
}

// TestSnapshotBeforeLarge: what a snapshot was asked for is not given up for a large message
// that comes after it, nor what the ring holds for one that was only announced.
func TestSnapshotBeforeLarge(t *testing.T) {
	t.Parallel()
	for _, blocks := range []bool{true, false} {
		in := queueing(memory.Options{Limit: 16 << 20, ChunkBytes: 768 << 10, Blocks: blocks}, &ring.Options{Most: 12 << 20, Only: true})
		small := linkOf(t, in, testlink.Info("/small", "/p"))
		for range 20 {
			testlink.PublishPlain(small, 50)
			executeQueued(t, in)
		}
		held := in.Buffers.ring.Stats(time.Now()).Bytes
		if held <= 9<<20 {
			t.Fatalf("the ring has %d bytes", held)
		}
		if f := linkOf(t, in, testlink.Info("/liar", "/p")).Large(7 << 20); f != nil {
			f.Abort()
		}
		if less := held - in.Buffers.ring.Stats(time.Now()).Bytes; less > 3<<20 {
			t.Errorf("links wait %v: announced bytes take %d bytes of the ring", blocks, less)
		}
		held = in.Buffers.ring.Stats(time.Now()).Bytes
		sn := beginSnapshot(t, in)
		l := linkOf(t, in, testlink.Info("/large", "/p"))
		received := make(chan struct{})
		go func() {
			defer close(received)
			testlink.SendLarge(l, testlink.Frame(2, 0, 7<<20))
		}()
		testlink.WaitFor(t, func() bool { // it waits for the snapshot, or is dropped
			return heldUp(l) || lost(l) > 0
		})
		taken := takeRing(t, in, sn)
		var left int64
		for _, c := range taken {
			left += c.Bytes()
			in.Buffers.GiveBack(c)
		}
		if left < held {
			t.Errorf("links wait %v: %d of %d bytes are left", blocks, left, held)
		}
		<-received
		if n := lost(l); (n == 0) != blocks {
			t.Errorf("links wait %v: %d large messages lost", blocks, n)
		}
	}
}
