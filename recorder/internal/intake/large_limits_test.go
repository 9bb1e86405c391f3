package intake

import (
	"testing"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// largeOf is a large message of a link of its own, which needs so many bytes.
func largeOf(in *Intake, need int64) *LargeFrame {
	l := &Link{In: in, Connection: &account.Connection{Topic: new(Topic)}}
	l.frame = LargeFrame{link: l, blocks: true, Turn: memory.Turn{Need: need}}
	return &l.frame
}

// TestRoomBesideLargeMessages: latched messages may have what large ones, with what they need
// in all, and the shared chunks leave.
func TestRoomBesideLargeMessages(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	if got := in.Pool.LeftByLarge(); got != 10_000 {
		t.Errorf("%d bytes are left without large messages", got)
	}
	grantTo(t, in, holding(in, 6000, 100))
	if got := in.Pool.LeftByLarge(); got != 10_000-6000-200 {
		t.Errorf("%d bytes are left beside one of 6000 bytes, want 3800", got)
	}
	for bytes, want := range map[int]bool{1900: true, 1901: false} {
		c := latchingConnection(in, "/a")
		if in.Latched.Remember(&c.Source, make([]byte, bytes)); (c.Last != nil) != want {
			t.Errorf("a latched message of %d bytes is remembered: %v", bytes, !want)
		}
		in.Latched.Forget(&c.Source)
	}
}

// TestBufferOfTheMessageBefore: where links wait for room, too, a message takes the buffer
// that the one before has left.
func TestBufferOfTheMessageBefore(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000_000, 100)
	in.Pool.Blocks, in.State = true, StateRecording
	free := usedChunk(t, &in.Pool, 50_000)
	in.Pool.Put(free)
	f := largeOf(in, free.Counted)
	f.link.Connection.Proven = true
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if got := in.awaitChunk(f, 50_000, 1000); got != free {
		t.Error("it has another buffer")
	}
	if f.Turn.Waiting || !f.Turn.Granted || queuedTurns(in) != 0 {
		t.Errorf("afterwards it waits: %v, has a lease: %v, and %d are in the queue", f.Turn.Waiting, f.Turn.Granted, queuedTurns(in))
	}
}

// TestLeaseKeepsSharedChunks: but for a message that needs their room as well.
func TestLeaseKeepsSharedChunks(t *testing.T) {
	t.Parallel()
	for need, want := range map[int64]int64{9000: 100, 9001: 100, 9800: 100, 9801: 0} {
		in := bareIntake(10_000, 100)
		in.State, in.Pool.Latched = StateRecording, 1000
		f := largeOf(in, need)
		f.wait.Topic = f.link.Connection.Topic
		in.Mu.Lock()
		if !in.awaitLease(f) || f.Turn.Shared != want {
			t.Errorf("a lease for %d bytes keeps %d for a shared chunk, want %d", need, f.Turn.Shared, want)
		}
		in.Mu.Unlock()
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
			in := bareIntake(10_000, 100)
			in.Ended = true // so that nobody waits
			in.Pool.Held, in.Pool.Shared = 9000, c.shared
			f := largeOf(in, 5000)
			f.wait.Topic, f.Turn.Shared = f.link.Connection.Topic, 100
			in.Mu.Lock()
			if got := in.awaitMemory(f, more); got != want {
				t.Errorf("with %d shared chunks there is room for %d bytes of 1000: %v, want %v", c.shared, more, got, want)
			}
			in.Mu.Unlock()
		}
	}
}

// TestWhoWaitsForMemoryIsCounted: as long as it waits, and as one that needs the shared
// chunks' memory only if it does.
func TestWhoWaitsForMemoryIsCounted(t *testing.T) {
	t.Parallel()
	for shared, alone := range map[int64]int{100: 0, 0: 1} {
		in := bareIntake(10_000, 100)
		in.State, in.Pool.Blocks, in.Pool.Held = StateRecording, true, 10_000
		f := largeOf(in, 5000)
		f.wait.Topic, f.Turn.Shared = f.link.Connection.Topic, shared
		took := make(chan bool, 1)
		go func() {
			in.Mu.Lock()
			defer in.Mu.Unlock()
			took <- in.awaitMemory(f, 1000)
		}()
		counts := func() (blocked, short, alone int) {
			in.Mu.Lock()
			defer in.Mu.Unlock()
			_, short, alone = in.Pool.Waits()
			return len(in.Account.Waits), short, alone
		}
		testlink.WaitFor(t, func() bool { blocked, _, _ := counts(); return blocked == 1 })
		if _, n, m := counts(); n != 1 || m != alone {
			t.Errorf("with %d bytes kept for a shared chunk: %d wait, %d of them alone; want 1 and %d", shared, n, m, alone)
		}
		in.Mu.Lock()
		in.Pool.Held = 0
		in.Room.Broadcast()
		in.Mu.Unlock()
		if !<-took {
			t.Error("no memory, though all came back")
		}
		if _, n, m := counts(); n != 0 || m != 0 {
			t.Errorf("afterwards %d wait, %d of them alone", n, m)
		}
	}
}

// TestLatchedMessagesGoForLargeOnes: when these could never have their memory otherwise, and
// not a byte before.
func TestLatchedMessagesGoForLargeOnes(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	c := latchingConnection(in, "/a")
	in.Latched.Remember(&c.Source, make([]byte, 500)) // 1000 with its copy
	grantTo(t, in, holding(in, 9000, 8000))
	if in.forgetLatchedFor(1000) || c.Last == nil {
		t.Error("forgotten, though there is room")
	}
	if !in.forgetLatchedFor(1001) || c.Last != nil || in.Pool.Latched != 0 {
		t.Errorf("not forgotten: %d bytes are held", in.Pool.Latched)
	}
	if in.forgetLatchedFor(5000) {
		t.Error("forgotten twice")
	}
}

// TestNextInTheQueueIsTold when the one before it has its lease: it may have looked before,
// whichever came first.
func TestNextInTheQueueIsTold(t *testing.T) {
	t.Parallel()
	for _, needs := range [][]int64{{3000, 6000}, {6000, 3000}} {
		in := bareIntake(10_000, 100)
		in.State = StateRecording
		taken := largeOf(in, 8000)
		grantTo(t, in, &taken.Turn)
		leases := make(chan bool, 2)
		for i, need := range needs {
			f := largeOf(in, need)
			f.wait.Topic = f.link.Connection.Topic
			f.Turn.Proven = need == 6000 // that is the first in the queue
			go func() {
				in.Mu.Lock()
				defer in.Mu.Unlock()
				leases <- in.awaitLease(f)
			}()
			testlink.WaitFor(t, func() bool { in.Mu.Lock(); defer in.Mu.Unlock(); return len(in.Account.Waits) == i+1 })
		}
		in.Mu.Lock()
		in.Pool.EndTurn(&taken.Turn)
		in.Mu.Unlock()
		for range needs {
			if !<-leases {
				t.Error("a message has no lease")
			}
		}
	}
}
