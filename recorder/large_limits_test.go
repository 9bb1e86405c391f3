package recorder

import (
	"testing"
	"time"
)

// claim makes a large message that needs and holds so many bytes.
func claim(need, holds int64) *turn {
	f := &turn{need: need}
	if holds > 0 {
		f.chunk = &chunk{counted: holds}
	}
	return f
}

// TestLeasesAtTheirLimits: leases fill the room to the last byte. Who is first in the queue is
// waited for if there will be room for it, also to the last byte.
func TestLeasesAtTheirLimits(t *testing.T) {
	t.Parallel()
	room := func(int64, int64) int64 { return 100 }
	for need, want := range map[int64]bool{40: true, 41: false} {
		var l turns
		l.grant(claim(60, 10), 1, time.Now())
		f := claim(need, 0)
		if l.enqueue(f); l.grants(f, room) != want {
			t.Errorf("a lease for %d bytes beside one for 60 of 100: %v, want %v", need, !want, want)
		}
	}
	for need, want := range map[int64]bool{60: false, 61: true} {
		var l turns
		l.grant(claim(10, 10), 1, time.Now())
		slow := claim(90, 40)
		l.grant(slow, 1, time.Now())
		slow.granted = false
		first, second := claim(need, 0), claim(10, 0)
		l.enqueue(first)
		l.enqueue(second)
		if l.grants(first, room) {
			t.Errorf("a lease for %d bytes, of 100 of which 50 are taken", need)
		}
		if l.grants(second, room) != want {
			t.Errorf("behind one that needs %d of the 60 that will be free: a lease %v, want %v", need, !want, want)
		}
	}
}

// TestStuckMessages: the latest is given up, and only if all that hold memory wait for a
// lease and none of those that wait can have one.
func TestStuckMessages(t *testing.T) {
	t.Parallel()
	room := func(int64, int64) int64 { return 100 }
	for name, c := range map[string]struct {
		change func(l *turns, first, last *turn)
		want   bool
	}{
		"all wait":              {func(*turns, *turn, *turn) {}, true},
		"one moves":             {func(_ *turns, first, _ *turn) { first.waiting = false }, false},
		"one has a lease":       {func(_ *turns, first, _ *turn) { first.granted = true }, false},
		"one can have a lease":  {func(_ *turns, first, _ *turn) { first.need = 50 }, false},
		"all can have a lease":  {func(_ *turns, first, last *turn) { first.need, last.need = 50, 50 }, false},
		"a later one needs few": {func(l *turns, _, _ *turn) { l.enqueue(claim(1, 0)) }, true},
	} {
		var l turns
		first, last := claim(80, 50), claim(80, 50)
		for _, f := range []*turn{first, last} {
			l.grant(f, 1, time.Now())
			f.granted, f.waiting = false, true
			l.enqueue(f)
		}
		if c.change(&l, first, last); l.stuck(last, room) != c.want {
			t.Errorf("%s: the latest is given up: %v, want %v", name, !c.want, c.want)
		}
		if l.stuck(first, room) {
			t.Errorf("%s: the first is given up", name)
		}
	}
}

// TestRoomForLargeMessages: what is left beside the latched messages and the shared chunks; a
// message that needs more can have the room of the chunks, then that of the latched ones
// instead, and then all.
func TestRoomForLargeMessages(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	in.pool.latched = 1000
	for need, want := range map[int64]int64{
		1: 8800, 8800: 8800,
		8801: 9000, 9000: 9000,
		9001: 9800, 9800: 9800,
		9801: 10_000, 20_000: 10_000,
	} {
		for _, slow := range []int64{0, need - 1} {
			if got := in.pool.largeRoom(need-slow, slow); got != want {
				t.Errorf("for %d bytes beside %d that are slow there is room of %d, want %d", need-slow, slow, got, want)
			}
		}
	}
}

// largeOf is a large message of a link of its own, which needs so many bytes.
func largeOf(in *intake, need int64) *largeFrame {
	l := &link{in: in, connection: &connection{topic: new(topic)}}
	l.frame = largeFrame{link: l, blocks: true, turn: turn{need: need}}
	return &l.frame
}

// TestRoomBesideLargeMessages: latched messages may have what large ones, with what they need
// in all, and the shared chunks leave.
func TestRoomBesideLargeMessages(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	if got := in.pool.leftByLarge(); got != 10_000 {
		t.Errorf("%d bytes are left without large messages", got)
	}
	in.pool.turns.grant(claim(6000, 100), 1, time.Now())
	if got := in.pool.leftByLarge(); got != 10_000-6000-200 {
		t.Errorf("%d bytes are left beside one of 6000 bytes, want 3800", got)
	}
	for bytes, want := range map[int]bool{1900: true, 1901: false} {
		c := latchingConnection(in, "/a")
		if in.rememberLatched(c, make([]byte, bytes)); (c.last != nil) != want {
			t.Errorf("a latched message of %d bytes is remembered: %v", bytes, !want)
		}
		in.forgetLatched(c)
	}
}

// TestWhoReusesABuffer: a publisher that has sent such a message before, up to an eighth of
// the whole buffer, as long as there is room for all that others were promised.
func TestWhoReusesABuffer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proven    bool
		budgetOff int64 // beside eight times what the buffer counts
		othersOff int64 // beside what others may have at most
		endless   bool
		want      bool
	}{
		"an eighth":            {proven: true, want: true},
		"more than an eighth":  {proven: true, budgetOff: -1},
		"not proven":           {},
		"all promised":         {proven: true, othersOff: 1},
		"not proven, no limit": {endless: true, want: true},
	} {
		in := bareIntake(-1, 100)
		free := usedChunk(t, &in.pool, 5000)
		in.pool.put(free)
		in.pool.latched = 50
		if !c.endless {
			in.pool.budget = reuseDivisor*free.counted + c.budgetOff
			in.pool.turns.grant(claim(in.pool.budget-free.counted-200-50+c.othersOff, 0), 1, time.Now())
		}
		want := -1
		if c.want {
			want = 0
		}
		if got := in.pool.reusable(c.proven, 5000); got != want {
			t.Errorf("%s: buffer %d, want %d", name, got, want)
		}
		if got := in.pool.reusable(c.proven, 1_000_000); got != -1 {
			t.Errorf("%s: buffer %d for a message that it is too small for", name, got)
		}
	}
}

// TestBufferOfTheMessageBefore: where links wait for room, too, a message takes the buffer
// that the one before has left.
func TestBufferOfTheMessageBefore(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000_000, 100)
	in.overflow, in.pool.blocks, in.state = OverflowBlock, true, StateRecording
	free := usedChunk(t, &in.pool, 50_000)
	in.pool.put(free)
	f := largeOf(in, free.counted)
	f.link.connection.proven = true
	in.mu.Lock()
	defer in.mu.Unlock()
	if got := in.awaitChunk(f, 50_000, 1000); got != free {
		t.Error("it has another buffer")
	}
	if f.turn.waiting || !f.turn.granted || len(in.pool.turns.queue) != 0 {
		t.Errorf("afterwards it waits: %v, has a lease: %v, and %d are in the queue", f.turn.waiting, f.turn.granted, len(in.pool.turns.queue))
	}
}

// TestLeaseKeepsSharedChunks: but for a message that needs their room as well.
func TestLeaseKeepsSharedChunks(t *testing.T) {
	t.Parallel()
	for need, want := range map[int64]int64{9000: 100, 9001: 100, 9800: 100, 9801: 0} {
		in := bareIntake(10_000, 100)
		in.state, in.pool.latched = StateRecording, 1000
		f := largeOf(in, need)
		f.blockage.topic = f.link.connection.topic
		in.mu.Lock()
		if !in.awaitLease(f) || f.turn.shared != want {
			t.Errorf("a lease for %d bytes keeps %d for a shared chunk, want %d", need, f.turn.shared, want)
		}
		in.mu.Unlock()
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
			in.ended = true // so that nobody waits
			in.pool.held, in.pool.shared = 9000, c.shared
			f := largeOf(in, 5000)
			f.blockage.topic, f.turn.shared = f.link.connection.topic, 100
			in.mu.Lock()
			if got := in.awaitMemory(f, more); got != want {
				t.Errorf("with %d shared chunks there is room for %d bytes of 1000: %v, want %v", c.shared, more, got, want)
			}
			in.mu.Unlock()
		}
	}
}

// TestWhoWaitsForMemoryIsCounted: as long as it waits, and as one that needs the shared
// chunks' memory only if it does.
func TestWhoWaitsForMemoryIsCounted(t *testing.T) {
	t.Parallel()
	for shared, alone := range map[int64]int{100: 0, 0: 1} {
		in := bareIntake(10_000, 100)
		in.state, in.overflow, in.pool.held = StateRecording, OverflowBlock, 10_000
		f := largeOf(in, 5000)
		f.blockage.topic, f.turn.shared = f.link.connection.topic, shared
		took := make(chan bool, 1)
		go func() {
			in.mu.Lock()
			defer in.mu.Unlock()
			took <- in.awaitMemory(f, 1000)
		}()
		counts := func() (blocked, short, alone int) {
			in.mu.Lock()
			defer in.mu.Unlock()
			return len(in.blocked), in.pool.turns.short, in.pool.turns.alone
		}
		waitFor(t, func() bool { blocked, _, _ := counts(); return blocked == 1 })
		if _, n, m := counts(); n != 1 || m != alone {
			t.Errorf("with %d bytes kept for a shared chunk: %d wait, %d of them alone; want 1 and %d", shared, n, m, alone)
		}
		in.mu.Lock()
		in.pool.held = 0
		in.room.Broadcast()
		in.mu.Unlock()
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
	in.rememberLatched(c, make([]byte, 500)) // 1000 with its copy
	in.pool.turns.grant(claim(9000, 8000), 1, time.Now())
	if in.forgetLatchedFor(1000) || c.last == nil {
		t.Error("forgotten, though there is room")
	}
	if !in.forgetLatchedFor(1001) || c.last != nil || in.pool.latched != 0 {
		t.Errorf("not forgotten: %d bytes are held", in.pool.latched)
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
		in.state = StateRecording
		taken := largeOf(in, 8000)
		in.pool.turns.grant(&taken.turn, 1, time.Now())
		leases := make(chan bool, 2)
		for i, need := range needs {
			f := largeOf(in, need)
			f.blockage.topic = f.link.connection.topic
			f.turn.proven = need == 6000 // that is the first in the queue
			go func() {
				in.mu.Lock()
				defer in.mu.Unlock()
				leases <- in.awaitLease(f)
			}()
			waitFor(t, func() bool { in.mu.Lock(); defer in.mu.Unlock(); return len(in.blocked) == i+1 })
		}
		in.mu.Lock()
		in.pool.endTurn(&taken.turn)
		in.mu.Unlock()
		for range needs {
			if !<-leases {
				t.Error("a message has no lease")
			}
		}
	}
}
