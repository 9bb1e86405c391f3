package memory

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLeasesAtTheirLimits: leases fill the room to the last byte. Who is first in the queue is
// waited for if there will be room for it, also to the last byte.
func TestLeasesAtTheirLimits(t *testing.T) {
	t.Parallel()
	const room = 100
	for need, want := range map[int64]bool{40: true, 41: false} {
		l := Turns{mem: new(Memory)}
		l.grant(claim(60, 10), 1, time.Now())
		f := claim(need, 0)
		if l.Enqueue(f); l.grants(f, room) != want {
			t.Errorf("a lease for %d bytes beside one for 60 of 100: %v, want %v", need, !want, want)
		}
	}
	for need, want := range map[int64]bool{60: false, 61: true} {
		l := Turns{mem: new(Memory)}
		l.grant(claim(10, 10), 1, time.Now())
		slow := claim(90, 40)
		l.grant(slow, 1, time.Now())
		slow.granted = false
		first, second := claim(need, 0), claim(10, 0)
		l.Enqueue(first)
		l.Enqueue(second)
		if l.grants(first, room) {
			t.Errorf("a lease for %d bytes, of 100 of which 50 are taken", need)
		}
		if l.grants(second, room) != want {
			t.Errorf("after one that needs %d of the 60 that will be free: a lease %v, want %v", need, !want, want)
		}
	}
}

// TestOneCanAlwaysGoOn: whatever messages get, hold and lose, of those that hold memory and wait for a
// lease one can have it as soon as no other has a lease. Memory grows under a lease only.
func TestOneCanAlwaysGoOn(t *testing.T) {
	t.Parallel()
	const room, rounds = 1000, 3000
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, seed))
	l := Turns{mem: new(Memory)}
	for range rounds {
		if len(l.active) < 8 && random.IntN(3) == 0 { // a message is announced
			f := &Turn{need: 1 + random.Int64N(room), chunk: new(Chunk)}
			l.Enqueue(f)
			if l.grants(f, room) {
				l.grant(f, 1, time.Now())
			}
			l.Dequeue(f)
		}
		for _, f := range slices.Clone(l.active) {
			switch random.IntN(4) {
			case 0: // bytes arrive
				if f.granted {
					f.chunk.counted += random.Int64N(f.need - f.chunk.counted + 1)
				}
			case 1: // too few
				f.granted = false
			case 2:
				if f.granted && f.chunk.counted == f.need {
					l.End(f)
				}
			}
		}
		if slices.ContainsFunc(l.active, func(f *Turn) bool { return f.granted }) || len(l.active) == 0 {
			continue
		}
		for _, f := range l.active {
			l.Enqueue(f)
		}
		if !slices.ContainsFunc(l.active, func(f *Turn) bool { return l.grants(f, room) }) {
			t.Fatalf("seed %d: none of %d messages can go on", seed, len(l.active))
		}
		for _, f := range l.active {
			l.Dequeue(f)
		}
	}
}

// TestHalfOfTheBuffer: where links wait, large messages have half of the buffer together, and one
// of them has no more; latched messages have what the shared chunks leave of the other half, but at
// least an eighth of the buffer.
func TestHalfOfTheBuffer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o              Options
		large, latched int64 // at most; negative means no bound
		limit          int64 // that a message of 600 bytes needs
	}{
		"links wait":           {Options{Limit: 10_000, ChunkBytes: 100, Blocks: true}, 5000, 4800, 1200},
		"compressed":           {Options{Limit: 10_000, ChunkBytes: 100, Blocks: true, Twice: true}, 5000, 4600, 1200},
		"with large chunks":    {Options{Limit: 10_000, ChunkBytes: 2000, Blocks: true}, 5000, 1250, 1200},
		"messages are dropped": {Options{Limit: 10_000, ChunkBytes: 100}, 10_000, 4950, 600},
		"without a limit":      {Options{Limit: -1, ChunkBytes: 100, Blocks: true}, -1, -1, 1200},
	} {
		p := New(c.o)
		if got := p.MostLarge(); got != c.large {
			t.Errorf("%s: a large message has %d bytes at most, want %d", name, got, c.large)
		}
		if got := p.LimitFor(600); got != c.limit {
			t.Errorf("%s: a message of 600 bytes needs a buffer of %d, want %d", name, got, c.limit)
		}
		if c.latched < 0 {
			if !p.LatchedFits(1 << 40) {
				t.Errorf("%s: latched messages have a bound", name)
			}
			continue
		}
		if !p.LatchedFits(c.latched) || p.LatchedFits(c.latched+1) {
			t.Errorf("%s: latched messages do not have %d bytes at most", name, c.latched)
		}
	}
}

// TestWhatALeaseKeepsFree: a shared chunk's size for each of the kept ones, or what the latched
// messages leave of their half for it.
func TestWhatALeaseKeepsFree(t *testing.T) {
	t.Parallel()
	for latched, want := range map[int64]int64{0: 100, 4800: 100, 4801: 99, 5000: 0, 6000: 0} {
		p := New(Options{Limit: 10_000, ChunkBytes: 100, Blocks: true})
		p.used.Latched = latched
		f := claim(5000, 0)
		p.turns.Enqueue(f)
		if !p.turns.Grant(f, time.Now()) || f.shared != want {
			t.Errorf("beside %d bytes of latched messages a lease keeps %d bytes free for a chunk, want %d", latched, f.shared, want)
		}
	}
}

// TestNextMayBeFirst: who leaves the queue wakes those behind.
func TestNextMayBeFirst(t *testing.T) {
	t.Parallel()
	woken := 0
	p := New(Options{Limit: 10_000, ChunkBytes: 100})
	p.o.Freed = func() { woken++ }
	first, second := claim(1, 0), claim(1, 0)
	p.turns.Enqueue(first)
	p.turns.Enqueue(second)
	if p.turns.Dequeue(first); woken != 1 {
		t.Errorf("the second message was woken %d times, want once", woken)
	}
	if p.turns.Dequeue(second); woken != 1 {
		t.Error("the last message of the queue woke somebody")
	}
}

// TestBesideALease: a large message leaves room for each shared chunk that is not in use yet.
func TestBesideALease(t *testing.T) {
	t.Parallel()
	for shared, want := range map[int]int64{0: 5200, 1: 5100, 2: 5000, 3: 5000} {
		p := Memory{used: Usage{Shared: shared}}
		f := &Turn{shared: 100}
		p.turns.mem = &p
		if got := p.turns.Beside(f, 5000); got != want {
			t.Errorf("with %d shared chunks %d bytes have to be free, want %d", shared, got, want)
		}
	}
}

// TestLeases decides who may be received, without a pipeline.
func TestLeases(t *testing.T) {
	t.Parallel()
	now := time.Now()
	const room = 100
	message := func(l *Turns, need, counted int64) *Turn {
		f := &Turn{chunk: &Chunk{counted: counted}, need: need}
		l.grant(f, 1, now)
		return f
	}
	signals := 0
	l := Turns{mem: New(Options{Freed: func() { signals++ }})}
	fast := message(&l, 60, 10)
	big, fits := &Turn{need: 60}, &Turn{need: 30}
	l.Enqueue(big)
	l.Enqueue(fits)
	if l.grants(big, room) || l.grants(fits, room) {
		t.Error("more than there is room for, or out of turn")
	}
	if l.Expire(now.Add(LeaseTime - 1)); !fast.granted {
		t.Error("a lease ended early")
	}
	fast.arrived.Store(leaseBytes)
	l.Expire(now.Add(LeaseTime))
	if l.Expire(now.Add(2*LeaseTime - 1)); !fast.granted || signals != 0 {
		t.Error("the lease of a message that moves ended")
	}
	l.Expire(now.Add(2 * LeaseTime))
	if l.Expire(now.Add(2 * LeaseTime)); fast.granted || signals != 1 {
		t.Errorf("the lease of a message that stands still goes on, or ended %d times", signals)
	}
	if !l.grants(big, room) {
		t.Error("no lease although what has arrived leaves room")
	}
	fast.chunk.counted = 50 // a slow message holds so much that the first cannot come
	if l.grants(big, room) || !l.grants(fits, room) {
		t.Error("a message waits behind one for which there will be no room")
	}
	l.Dequeue(big)
	proven := &Turn{need: 1, proven: true}
	l.Enqueue(proven)
	l.Enqueue(fast)
	if l.queue[0] != fast || l.queue[1] != proven || l.queue[2] != fits {
		t.Error("the order is not: begun, proven, others")
	}
	l.Dequeue(proven)
	l.Dequeue(fast)
	l.Dequeue(fits)
	l.grant(fast, 1, now)
	if l.Expire(now.Add(time.Hour)); !fast.granted {
		t.Error("a lease ended although nobody waits")
	}
	l.End(fast)
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
		blocks    bool
		want      bool
	}{
		"an eighth":            {proven: true, want: true},
		"more than an eighth":  {proven: true, budgetOff: -1},
		"not proven":           {},
		"all promised":         {proven: true, othersOff: 1},
		"half promised":        {proven: true, blocks: true, want: true},
		"more than half":       {proven: true, blocks: true, othersOff: 1},
		"not proven, no limit": {endless: true, want: true},
	} {
		in := New(Options{Limit: -1, ChunkBytes: 100})
		free := grownChunk(t, in, 5000)
		in.Put(free)
		in.used.Latched = 50
		if !c.endless {
			in.budget = reuseDivisor*free.counted + c.budgetOff
			room := in.budget - 200 - 50
			if in.o.Blocks = c.blocks; c.blocks {
				room = in.budget / 2
			}
			in.turns.grant(claim(room-free.counted+c.othersOff, 0), 1, time.Now())
		}
		if in.turns.Buffer(c.proven, 1_000_000) != nil {
			t.Errorf("%s: a buffer for a message that it is too small for", name)
		}
		if got := in.turns.Buffer(c.proven, 5000); (got == free) != c.want || (got != nil) != c.want {
			t.Errorf("%s: buffer %p, want %p: %v", name, got, free, c.want)
		}
	}
}

// TestSharedChunksBesideLargeMessages: while large messages wait for memory there are two
// chunks for small ones.
func TestSharedChunksBesideLargeMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		waits, shared int
		want          bool
	}{
		{0, 0, true},
		{0, KeptChunks, true},
		{1, KeptChunks - 1, true},
		{1, KeptChunks, false},
	} {
		p := Memory{used: Usage{Shared: c.shared}, turns: Turns{short: c.waits}}
		if got := !p.LargeFirst(); got != c.want {
			t.Errorf("%+v: there is a chunk: %v", c, got)
		}
	}
}
