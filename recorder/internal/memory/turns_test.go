package memory

import (
	"testing"
	"time"
)

// TestLeasesAtTheirLimits: leases fill the room to the last byte. Who is first in the queue is
// waited for if there will be room for it, also to the last byte.
func TestLeasesAtTheirLimits(t *testing.T) {
	t.Parallel()
	room := func(int64, int64) int64 { return 100 }
	for need, want := range map[int64]bool{40: true, 41: false} {
		var l Turns
		l.grant(claim(60, 10), 1, time.Now())
		f := claim(need, 0)
		if l.enqueue(f); l.grants(f, room) != want {
			t.Errorf("a lease for %d bytes beside one for 60 of 100: %v, want %v", need, !want, want)
		}
	}
	for need, want := range map[int64]bool{60: false, 61: true} {
		var l Turns
		l.grant(claim(10, 10), 1, time.Now())
		slow := claim(90, 40)
		l.grant(slow, 1, time.Now())
		slow.Granted = false
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
		change func(l *Turns, first, last *Turn)
		want   bool
	}{
		"all wait":              {func(*Turns, *Turn, *Turn) {}, true},
		"one moves":             {func(_ *Turns, first, _ *Turn) { first.Waiting = false }, false},
		"one has a lease":       {func(_ *Turns, first, _ *Turn) { first.Granted = true }, false},
		"one can have a lease":  {func(_ *Turns, first, _ *Turn) { first.Need = 50 }, false},
		"all can have a lease":  {func(_ *Turns, first, last *Turn) { first.Need, last.Need = 50, 50 }, false},
		"a later one needs few": {func(l *Turns, _, _ *Turn) { l.enqueue(claim(1, 0)) }, true},
	} {
		var l Turns
		first, last := claim(80, 50), claim(80, 50)
		for _, f := range []*Turn{first, last} {
			l.grant(f, 1, time.Now())
			f.Granted, f.Waiting = false, true
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
	p := Memory{Options: Options{ChunkBytes: 100}, Usage: Usage{Latched: 1000}, Budget: 10_000}
	for need, want := range map[int64]int64{
		1: 8800, 8800: 8800,
		8801: 9000, 9000: 9000,
		9001: 9800, 9800: 9800,
		9801: 10_000, 20_000: 10_000,
	} {
		for _, slow := range []int64{0, need - 1} {
			if got := p.largeRoom(need-slow, slow); got != want {
				t.Errorf("for %d bytes beside %d that are slow there is room of %d, want %d", need-slow, slow, got, want)
			}
		}
	}
}

// TestLeases decides who may be received, without a pipeline.
func TestLeases(t *testing.T) {
	t.Parallel()
	now := time.Now()
	room := func(int64, int64) int64 { return 100 }
	message := func(l *Turns, need, counted int64) *Turn {
		f := &Turn{Chunk: &Chunk{Counted: counted}, Need: need}
		l.grant(f, 1, now)
		return f
	}
	var l Turns
	fast := message(&l, 60, 10)
	big, fits := &Turn{Need: 60}, &Turn{Need: 30}
	l.enqueue(big)
	l.enqueue(fits)
	if l.grants(big, room) || l.grants(fits, room) {
		t.Error("more than there is room for, or out of turn")
	}
	if l.expire(now.Add(LeaseTime - 1)) {
		t.Error("a lease ended early")
	}
	fast.Arrived.Store(leaseBytes)
	if l.expire(now.Add(LeaseTime)) || l.expire(now.Add(2*LeaseTime-1)) {
		t.Error("the lease of a message that moves ended")
	}
	if !l.expire(now.Add(2*LeaseTime)) || l.expire(now.Add(2*LeaseTime)) {
		t.Error("the lease of a message that stands still goes on, or ended twice")
	}
	if !l.grants(big, room) {
		t.Error("no lease although what has arrived leaves room")
	}
	fast.Chunk.Counted = 50 // a slow message holds so much that the first cannot come
	if l.grants(big, room) || !l.grants(fits, room) {
		t.Error("a message waits behind one for which there will be no room")
	}
	l.dequeue(big)
	proven := &Turn{Need: 1, Proven: true}
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
		in := Memory{Options: Options{ChunkBytes: 100}, Budget: -1}
		free := grownChunk(t, &in, 5000)
		in.Put(free)
		in.Latched = 50
		if !c.endless {
			in.Budget = reuseDivisor*free.Counted + c.budgetOff
			in.turns.grant(claim(in.Budget-free.Counted-200-50+c.othersOff, 0), 1, time.Now())
		}
		want := -1
		if c.want {
			want = 0
		}
		if got := in.reusable(c.proven, 5000); got != want {
			t.Errorf("%s: buffer %d, want %d", name, got, want)
		}
		if got := in.reusable(c.proven, 1_000_000); got != -1 {
			t.Errorf("%s: buffer %d for a message that it is too small for", name, got)
		}
	}
}

// TestSharedChunksBesideLargeMessages: while large messages wait for memory there are two
// chunks for small ones, and none where one of those needs their room as well.
func TestSharedChunksBesideLargeMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		alone, waits, shared int
		want                 bool
	}{
		{0, 0, 0, true},
		{0, 0, KeptChunks, true},
		{0, 1, KeptChunks - 1, true},
		{0, 1, KeptChunks, false},
		{1, 1, 0, false},
		{1, 1, KeptChunks, false},
	} {
		p := Memory{Usage: Usage{Shared: c.shared}, turns: Turns{alone: c.alone, short: c.waits}}
		if got := !p.LargeFirst(); got != c.want {
			t.Errorf("%+v: there is a chunk: %v", c, got)
		}
	}
}
