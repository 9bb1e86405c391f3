package memory

import (
	"testing"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// testReserve is a reserve that gives up its memory in pieces.
type testReserve struct {
	most   int64 // bytes
	asked  bool  // new messages get none
	piece  int64
	yield  func() // called for each piece
	filled int64  // what the last call of Reclaim was told
}

func (r *testReserve) Reclaim(_ Purpose, filled int64) bool {
	r.filled = filled
	if r.most == 0 {
		return false
	}
	r.most -= r.piece
	r.yield()
	return true
}

func (r *testReserve) Reclaimable() int64 {
	if r.asked {
		return 0
	}
	return r.most
}

func (r *testReserve) Held() int64 { return r.most }

// grownChunk takes a buffer from a pool and lets it grow to n bytes or some more.
func grownChunk(t testing.TB, p *Memory, n int) *Chunk {
	t.Helper()
	c := p.Get(n, n)
	if c == nil {
		t.Fatalf("no buffer of %d bytes", n)
	}
	c.builder.Reset(nil)
	c.builder.AppendRun(testlink.Connection(), rosbag.Time{}, testlink.Frame(0, 0, n), 1)
	p.Count(c)
	return c
}

// claim makes a large message that needs and holds so many bytes.
func claim(need, holds int64) *Turn {
	f := &Turn{need: need}
	if holds > 0 {
		f.chunk = &Chunk{counted: holds}
	}
	return f
}

// TestWhoGetsIn: the rule of ADR 0005 at its limits, in a buffer of 10,000 bytes of which
// two chunks of 100 bytes are kept free.
func TestWhoGetsIn(t *testing.T) {
	t.Parallel()
	type state struct {
		waits    int64 // of the topic
		n        int64 // bytes that come
		own      bool  // in a chunk of their own
		used     int64 // of the buffer
		idle     int64 // free buffers, beside that
		all      int64 // what waits of all topics
		topics   int   // whose it is
		open     bool  // a chunk is open
		twice    bool  // chunks are compressed
		ring     int64 // of what is used, only kept for a snapshot
		asked    bool  // for which somebody has asked
		only     bool  // and nothing else is recorded
		blocks   bool
		endless  bool
		tiny     bool // a chunk would take more than a fourth of the buffer
		admitted bool
	}
	for name, s := range map[string]state{
		"one message into an empty buffer":              {n: 100, own: true, admitted: true},
		"four times what is left":                       {waits: 3000, n: 1000, own: true, used: 8800, admitted: true},
		"a byte more":                                   {waits: 3001, n: 1000, own: true, used: 8800},
		"all that is left":                              {n: 1000, own: true, used: 8800, admitted: true},
		"a byte of what is kept free":                   {n: 1001, own: true, used: 8800},
		"the same beside an open chunk":                 {n: 1100, own: true, used: 8800, open: true, admitted: true},
		"a byte more beside an open chunk":              {n: 1101, own: true, used: 8800, open: true},
		"free buffers are room":                         {n: 1000, own: true, used: 8800, idle: 900, admitted: true},
		"the largest that leaves what is kept":          {n: 9800, own: true, admitted: true},
		"the largest that leaves it, not into the rest": {n: 9800, own: true, used: 1},
		"one that never could":                          {n: 9801, own: true, used: 1, admitted: true},
		"a fourth of the mean, where nothing is left":   {waits: 900, n: 100, used: 10_000, all: 8000, topics: 2, admitted: true},
		"a byte more where nothing is left":             {waits: 900, n: 101, used: 10_000, all: 8000, topics: 2},
		"a light topic's large message":                 {waits: 900, n: 100, own: true, used: 10_000, all: 8000, topics: 2},
		"compressed chunks count double":                {n: 800, own: true, used: 8800, twice: true, admitted: true},
		"compressed, a byte more":                       {n: 801, own: true, used: 8800, twice: true},
		"the ring is room":                              {n: 1000, own: true, used: 9800, ring: 1000, admitted: true},
		"the ring, a byte more":                         {n: 1001, own: true, used: 9800, ring: 1000},
		"the ring beside a recording, asked for":        {n: 1000, own: true, used: 9800, ring: 1000, asked: true, admitted: true},
		"the ring alone, asked for":                     {n: 1000, own: true, used: 9800, ring: 1000, asked: true, only: true},
		"the ring alone":                                {n: 1000, own: true, used: 9800, ring: 1000, only: true, admitted: true},
		"a small buffer keeps half of itself":           {n: 5000, own: true, tiny: true, admitted: true},
		"a small buffer, a byte more":                   {n: 5000, own: true, tiny: true, used: 1},
		"links wait":                                    {waits: 1 << 40, n: 1 << 40, own: true, used: 10_000, blocks: true, admitted: true},
		"no limit":                                      {waits: 1 << 40, n: 1 << 40, own: true, used: 1 << 40, endless: true, admitted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Memory{o: Options{ChunkBytes: 100, Twice: s.twice, Blocks: s.blocks}, used: Usage{Held: s.used + s.idle, Idle: s.idle, Waiting: s.all, Waiters: s.topics}, budget: 10_000}
			if s.open {
				p.filling = new(Chunk)
			}
			if s.tiny {
				p.o.ChunkBytes = 4000
			}
			if s.endless {
				p.budget = -1
			}
			if s.ring > 0 {
				p.reserve = &testReserve{most: s.ring, asked: s.asked && s.only}
			}
			if got := p.Admits(&Account{waiting: s.waits}, s.n, !s.own); got != s.admitted {
				t.Errorf("let in: %v, want %v", got, s.admitted)
			}
		})
	}
}

// TestWhatATopicHasWaiting: from the moment its chunk is sealed until that is written, of
// each topic in a shared chunk its own bytes, and nothing of a chunk that is given up.
func TestWhatATopicHasWaiting(t *testing.T) {
	t.Parallel()
	var p Memory
	a, b := new(Account), new(Account)
	first, second, given := new(Chunk), new(Chunk), new(Chunk)
	check := func(when string, bytesA, bytesB int64, topics int) {
		t.Helper()
		if a.waiting != bytesA || b.waiting != bytesB || p.used.Waiting != bytesA+bytesB || p.used.Waiters != topics {
			t.Errorf("%s: %d and %d bytes wait, %d in all of %d topics; want %d and %d of %d", when, a.waiting, b.waiting, p.used.Waiting, p.used.Waiters, bytesA, bytesB, topics)
		}
	}
	first.Add(a, 10)
	first.Add(b, 5)
	first.Add(a, 10)
	check("in the open chunk", 0, 0, 0)
	p.Charge(first)
	check("sealed", 20, 5, 2)
	second.Add(a, 100)
	p.Charge(second)
	check("two chunks", 120, 5, 2)
	given.Add(a, 1000)
	given.Add(b, 1000)
	p.discharge(given)
	check("one given up", 120, 5, 2)
	given.usage = given.usage[:0] // it is used again, too
	if given.Add(b, 3); len(given.usage) != 1 || given.usage[0] != (chunkUsage{b, 3}) {
		t.Errorf("in the chunk that was given up: %v", given.usage)
	}
	p.discharge(given)
	p.discharge(first)
	check("the first is written", 100, 0, 1)
	first.usage = first.usage[:0] // its buffer goes back to the pool, and is used again
	first.Add(b, 7)
	first.Add(b, 7)
	p.Charge(first)
	check("again", 100, 14, 2)
	p.discharge(second)
	p.discharge(first)
	check("all is written", 0, 0, 0)
}

// TestYoungBufferIsReused for a larger chunk, where both do not fit beside each other.
func TestYoungBufferIsReused(t *testing.T) {
	t.Parallel()
	p := Memory{budget: -1}
	small := grownChunk(t, &p, 1000)
	p.Put(small)
	p.budget = 20_000
	if got := p.Get(20_000, 20_000); got != small || p.used.Held != 20_000 {
		t.Errorf("the buffer is the small one: %v, %d bytes are held", got == small, p.used.Held)
	}
}

// TestBufferBeyondTheBudget is let go, also when the others alone are too much.
func TestBufferBeyondTheBudget(t *testing.T) {
	t.Parallel()
	p := Memory{budget: -1}
	c := grownChunk(t, &p, 1000)
	p.budget = 5000
	p.used.Held += 10_000
	if p.Put(c); len(p.free) != 0 || p.used.Idle != 0 || p.used.Held != 10_000 {
		t.Errorf("%d free buffers of %d bytes, %d are held", len(p.free), p.used.Idle, p.used.Held)
	}
}
