package intake

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// largeOf is a large message of a link of its own, which needs so many bytes.
func largeOf(in *Intake, need int64) *LargeFrame {
	l := bareLink(in, 100)
	l.frame = LargeFrame{link: l, blocks: true, turn: memory.NewTurn(need)}
	return &l.frame
}

// waits reports whether a link of a topic waits. The caller has the lock.
func waits(t *account.Topic) bool { return t.HeldUp(time.Now().Add(time.Hour)) >= time.Hour }

// TestLatchedMessagesBesideLargeOnes: where links wait, latched messages leave half of the buffer to
// large ones, whether there are some or not.
func TestLatchedMessagesBesideLargeOnes(t *testing.T) {
	t.Parallel()
	for _, large := range []bool{false, true} {
		in := bareIntakeWith(memory.Options{Limit: 10_000, ChunkBytes: 100, Blocks: true})
		if large {
			grantTo(t, in, holding(in, 5000, 100))
		}
		for bytes, want := range map[int]bool{2400: true, 2401: false} {
			c := latchingConnection(in, "/a")
			if in.Buffers.latched.Remember(c.Source(), make([]byte, bytes)); c.Source().Remembered() != want {
				t.Errorf("a latched message of %d bytes is remembered: %v", bytes, !want)
			}
			in.Buffers.latched.Forget(c.Source())
		}
	}
}

// TestBufferOfTheMessageBefore: where links wait for room, too, a message takes the buffer
// that the one before has left.
func TestBufferOfTheMessageBefore(t *testing.T) {
	t.Parallel()
	in := bareIntakeWith(memory.Options{Limit: 10_000_000, ChunkBytes: 100, Blocks: true})
	in.mode.State = control.StateRecording
	free := usedChunk(t, in.Buffers.pool, 50_000)
	in.Buffers.pool.Put(free)
	f := largeOf(in, free.Counted())
	f.link.connection.Arrived(time.Now(), nil)
	in.mu.Lock()
	defer in.mu.Unlock()
	if got := f.awaitChunkLocked(50_000, 1000); got != free {
		t.Error("it has another buffer")
	}
	if f.turn.Waits() || !f.turn.HasLease() || queuedTurns(in) != 0 {
		t.Errorf("afterwards it waits: %v, has a lease: %v, and %d are in the queue", f.turn.Waits(), f.turn.HasLease(), queuedTurns(in))
	}
}

// TestMemoryBesideSharedChunks: a message with a lease leaves room for the shared chunks that
// there are not yet.
func TestMemoryBesideSharedChunks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shared int // chunks in use
		most   int64
	}{{0, 800}, {1, 900}, {2, 1000}, {3, 1000}} {
		for more, want := range map[int64]bool{c.most: true, c.most + 1: false} {
			in := bareIntakeWith(memory.Options{Limit: 10_000, ChunkBytes: 100, Blocks: true})
			in.mode.Ended = true // so that nobody waits
			f := largeOf(in, 5000)
			grantTo(t, in, &f.turn)
			for range c.shared {
				in.Buffers.pool.Open()
			}
			setHeld(in, 9000)
			in.mu.Lock()
			if got := f.awaitMemoryLocked(more); got != want {
				t.Errorf("with %d shared chunks there is room for %d bytes of 1000: %v, want %v", c.shared, more, got, want)
			}
			in.mu.Unlock()
		}
	}
}

// TestWhoWaitsForMemoryIsCounted as long as it waits.
func TestWhoWaitsForMemoryIsCounted(t *testing.T) {
	t.Parallel()
	in := bareIntakeWith(memory.Options{Limit: 10_000, ChunkBytes: 100, Blocks: true})
	in.mode.State = control.StateRecording
	f := largeOf(in, 5000)
	grantTo(t, in, &f.turn)
	setHeld(in, 10_000)
	took := make(chan bool, 1)
	go func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		took <- f.awaitMemoryLocked(1000)
	}()
	counts := func() (waiting bool, short int) {
		in.mu.Lock()
		defer in.mu.Unlock()
		_, short = in.Buffers.pool.Turns().Waits()
		return waits(f.link.connection.Topic()), short
	}
	testlink.WaitFor(t, func() bool { waiting, _ := counts(); return waiting })
	if _, n := counts(); n != 1 {
		t.Errorf("%d wait for memory, want 1", n)
	}
	in.mu.Lock()
	setHeld(in, 0)
	in.room.Broadcast()
	in.mu.Unlock()
	if !<-took {
		t.Error("no memory, though all came back")
	}
	if _, n := counts(); n != 0 {
		t.Errorf("afterwards %d wait", n)
	}
}

// TestLatchedMessagesStay: a large message that takes all of its half of the buffer costs no latched
// message its place in the next file.
func TestLatchedMessagesStay(t *testing.T) {
	t.Parallel()
	in := bareIntakeWith(memory.Options{Limit: 10_000, ChunkBytes: 100, Blocks: true})
	c := latchingConnection(in, "/a")
	in.Buffers.latched.Remember(c.Source(), make([]byte, 2400)) // 4800 with its copy
	f := largeOf(in, 5000)
	in.mu.Lock()
	defer in.mu.Unlock()
	if !f.awaitLeaseLocked() || !f.awaitMemoryLocked(5000) || !c.Source().Remembered() {
		t.Errorf("no memory, or the latched message is forgotten: %d of %d bytes are held", in.Buffers.pool.Usage().Held, in.Buffers.pool.Budget())
	}
}

// TestChunkWithoutMessagesMakesRoom: an open chunk that has nothing but a connection record gives its
// memory to a large message.
func TestChunkWithoutMessagesMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a message that waits forever ends the test
		in := bareIntakeWith(memory.Options{Limit: 100_000, ChunkBytes: 40_000, Blocks: true})
		in.mode.State = control.StateRecording
		f := largeOf(in, 50_000)
		in.mu.Lock()
		defer in.mu.Unlock()
		if !in.openChunkLocked() || !f.awaitLeaseLocked() {
			t.Fatal("no chunk, or no lease")
		}
		in.filling.Open.Builder().AppendRun(testlink.Connection(), rosbag.Time{}, nil, 0)
		if in.Buffers.pool.Fits(in.Buffers.pool.Turns().Beside(&f.turn, 50_000)) {
			t.Fatal("there is room beside the chunk")
		}
		if !f.awaitMemoryLocked(50_000) || in.filling.Open != nil {
			t.Errorf("the chunk keeps its memory: %+v", in.Buffers.pool.Usage())
		}
	})
}

// TestNextInTheQueueIsTold when the one before it has its lease: it may have looked before,
// whichever came first.
func TestNextInTheQueueIsTold(t *testing.T) {
	t.Parallel()
	for _, needs := range [][]int64{{3000, 6000}, {6000, 3000}} {
		in := bareIntake(10_000, 100)
		in.mode.State = control.StateRecording
		taken := largeOf(in, 8000)
		grantTo(t, in, &taken.turn)
		leases := make(chan bool, 2)
		for _, need := range needs {
			f := largeOf(in, need)
			f.turn.WaitBegan(need == 6000) // that is the first in the queue
			go func() {
				in.mu.Lock()
				defer in.mu.Unlock()
				leases <- f.awaitLeaseLocked()
			}()
			testlink.WaitFor(t, func() bool { in.mu.Lock(); defer in.mu.Unlock(); return waits(f.link.connection.Topic()) })
		}
		in.mu.Lock()
		in.Buffers.pool.Turns().End(&taken.turn)
		in.mu.Unlock()
		for range needs {
			if !<-leases {
				t.Error("a message has no lease")
			}
		}
	}
}
