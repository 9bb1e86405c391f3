package recorder

import (
	"math"
	"testing"
	"time"
)

// TestLargeMessageLeavesRoomForLightTopics: a large message that fits only into what is
// kept free for topics with little traffic is dropped itself, and they lose nothing.
func TestLargeMessageLeavesRoomForLightTopics(t *testing.T) {
	t.Parallel()
	const chunkBytes = 200_000
	d := newSlowDisk(t, Options{BufferBytes: 8 << 20, ChunkBytes: chunkBytes, Sync: SyncNone})
	p := d.pipe
	first, second, imu := open(t, p, "/camera", "/p"), open(t, p, "/map", "/p"), open(t, p, "/imu", "/p")
	offer(first, frame(0, 0, 5_000_000))
	// There would be room for it, but for little else.
	if m := second.Large(int(bytesLeft(p.intake)) - largeOverhead - chunkBytes/2); m != nil {
		t.Error("a large message that takes the last room of the buffer was begun")
		m.Abort()
	}
	for range 2 { // chunks
		for n := range uint32(100) {
			imu.Frames(frame(1, n, 300), 1, time.Now())
		}
		flushOpen(p)
	}
	d.turn(math.MaxInt64 / 2)
	closePipeline(t, p)
	if n := lost(imu); n != 0 {
		t.Errorf("the IMU lost %d of 200 messages to one large message of another topic", n)
	}
	if n := accountOf(second).dropped[dropBufferFull]; n != 1 {
		t.Errorf("the large message was dropped %d times, want once: it takes the last room of the buffer", n)
	}
	if n := lost(first); n != 0 {
		t.Errorf("a message that fits was dropped")
	}
}

// testReserve is a reserve that gives up its memory in pieces.
type testReserve struct {
	most  int64 // bytes
	asked bool  // new messages get none
	piece int64
	yield func() // called for each piece
}

func (r *testReserve) held() int64 { return r.most }

func (r *testReserve) reclaimable() int64 {
	if r.asked {
		return 0
	}
	return r.most
}

func (r *testReserve) reclaim(purpose, int64) bool {
	if r.most == 0 {
		return false
	}
	r.most -= r.piece
	r.yield()
	return true
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
			p := pool{budget: 10_000, chunkBytes: 100, held: s.used + s.idle, idle: s.idle, twice: s.twice, waiting: s.all, waiters: s.topics, blocks: s.blocks}
			if s.open {
				p.filling = new(chunk)
			}
			if s.tiny {
				p.chunkBytes = 4000
			}
			if s.endless {
				p.budget = -1
			}
			if s.ring > 0 {
				p.reserve = &testReserve{most: s.ring, asked: s.asked && s.only}
			}
			if got := p.admits(&account{waiting: s.waits}, s.n, !s.own); got != s.admitted {
				t.Errorf("let in: %v, want %v", got, s.admitted)
			}
		})
	}
}

// TestWhatATopicHasWaiting: from the moment its chunk is sealed until that is written, of
// each topic in a shared chunk its own bytes, and nothing of a chunk that is given up.
func TestWhatATopicHasWaiting(t *testing.T) {
	t.Parallel()
	var p pool
	a, b := new(account), new(account)
	first, second, given := new(chunk), new(chunk), new(chunk)
	check := func(when string, bytesA, bytesB int64, topics int) {
		t.Helper()
		if a.waiting != bytesA || b.waiting != bytesB || p.waiting != bytesA+bytesB || p.waiters != topics {
			t.Errorf("%s: %d and %d bytes wait, %d in all of %d topics; want %d and %d of %d", when, a.waiting, b.waiting, p.waiting, p.waiters, bytesA, bytesB, topics)
		}
	}
	first.add(a, 10)
	first.add(b, 5)
	first.add(a, 10)
	check("in the open chunk", 0, 0, 0)
	p.charge(first)
	check("sealed", 20, 5, 2)
	second.add(a, 100)
	p.charge(second)
	check("two chunks", 120, 5, 2)
	given.add(a, 1000)
	given.add(b, 1000)
	p.discharge(given)
	check("one given up", 120, 5, 2)
	given.usage = given.usage[:0] // it is used again, too
	if given.add(b, 3); len(given.usage) != 1 || given.usage[0] != (chunkUsage{b, 3}) {
		t.Errorf("in the chunk that was given up: %v", given.usage)
	}
	p.discharge(given)
	p.discharge(first)
	check("the first is written", 100, 0, 1)
	first.usage = first.usage[:0] // its buffer goes back to the pool, and is used again
	first.add(b, 7)
	first.add(b, 7)
	p.charge(first)
	check("again", 100, 14, 2)
	p.discharge(second)
	p.discharge(first)
	check("all is written", 0, 0, 0)
}

// TestRoomThatNobodyWants: an open chunk is no room for a topic that is not recorded.
func TestRoomThatNobodyWants(t *testing.T) {
	t.Parallel()
	p := bareIntake(-1, 100)
	p.open = new(chunk)
	for state, want := range map[State]bool{StateRecording: true, StatePaused: false} {
		p.state = state
		if got := p.waitForChunk(new(topic)); got != want {
			t.Errorf("in state %v there is room: %v, want %v", state, got, want)
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
		{0, 0, keptChunks, true},
		{0, 1, keptChunks - 1, true},
		{0, 1, keptChunks, false},
		{1, 1, 0, false},
		{1, 1, keptChunks, false},
	} {
		p := bareIntake(-1, 100) // it drops rather than to wait
		p.state = StateRecording
		p.pool.turns.alone, p.pool.turns.short, p.pool.shared = c.alone, c.waits, c.shared
		if got := p.waitForChunk(new(topic)); got != c.want || got != (p.open != nil) {
			t.Errorf("%+v: there is a chunk: %v", c, got)
		}
	}
}
