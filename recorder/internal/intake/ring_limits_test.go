package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// TestRingKeepsTheWindow: a chunk goes when its last message is older than the window, not
// with it; without a window none goes for its age.
func TestRingKeepsTheWindow(t *testing.T) {
	t.Parallel()
	start := time.Now()
	last := func(i int) time.Time { return start.Add(time.Duration(i)*time.Second + 500*time.Millisecond) }
	for name, c := range map[string]struct {
		window time.Duration
		now    time.Time
		left   int
	}{
		"as old as the window": {10 * time.Second, last(1).Add(10 * time.Second), 4},
		"a nanosecond older":   {10 * time.Second, last(1).Add(10*time.Second + 1), 3},
		"all":                  {10 * time.Second, start.Add(time.Hour), 0},
		"no window":            {0, start.Add(time.Hour), 5},
	} {
		p := ringOf(5, start)
		r := p.Ring
		r.Window = c.window
		p.Ring.Expire(c.now)
		if len(r.Chunks) != c.left || r.Bytes != int64(100*c.left) || r.Short {
			t.Errorf("%s: %d chunks of %d bytes left, want %d; too short: %v", name, len(r.Chunks), r.Bytes, c.left, r.Short)
		}
		if c.left > 0 && r.Reach(c.now) != c.now.Sub(start.Add(time.Duration(5-c.left)*time.Second)) {
			t.Errorf("%s: it reaches %v back", name, r.Reach(c.now))
		}
		if c.left == 0 && r.Reach(c.now) != 0 {
			t.Errorf("%s: an empty ring reaches %v back", name, r.Reach(c.now))
		}
	}
}

// TestRingKeepsItsSize: it may have as much as was given to it, and what does not fit
// pushes out the oldest, which is told.
func TestRingKeepsItsSize(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for most, want := range map[int64]int{600: 6, 599: 5, 100: 1, 99: 0} {
		p := ringOf(5, start)
		r := p.Ring
		r.Most = most
		at := start.Add(5 * time.Second)
		p.Ring.Add(ring.Chunk{Sealed: new(chunk.Sealed), Weight: 100, FirstAt: at, LastAt: at})
		if len(r.Chunks) != want || r.Short != (want < 6) {
			t.Errorf("of %d bytes: %d chunks, want %d; told that it is too short: %v", most, len(r.Chunks), want, r.Short)
		}
		if want > 0 && !r.Chunks[want-1].FirstAt.Equal(at) {
			t.Errorf("of %d bytes: the newest chunk is not kept", most)
		}
	}
}

// TestRingGivesMemory: first what is spare, then the oldest chunks, until there is none.
func TestRingGivesMemory(t *testing.T) {
	t.Parallel()
	p := ringOf(3, time.Now())
	r := p.Ring
	second := r.Chunks[1].FirstAt
	r.Spare = [][]byte{make([]byte, 0, 70)}
	p.Pool.Held += 70
	if r.Held() != 370 || p.Pool.Reserve.Reclaimable() != 370 {
		t.Errorf("the ring holds %d bytes, of which the intake may have %d; want 370", r.Held(), p.Pool.Reserve.Reclaimable())
	}
	if !p.Ring.Reclaim(memory.ForAny, 0) || p.Pool.Held != 300 || len(r.Spare) != 0 || r.Short {
		t.Errorf("with spare memory: %d held, %d pieces spare, too short: %v", p.Pool.Held, len(r.Spare), r.Short)
	}
	if r.Spare[:1][0] != nil {
		t.Error("the memory that was given up is still there")
	}
	p.Pool.SetBudget(250) // so that nothing is spare
	before := r.Chunks
	if !p.Ring.Reclaim(memory.ForAny, 0) || p.Pool.Held != 200 || !r.Short || !r.Chunks[0].FirstAt.Equal(second) || before[0].Memory != nil {
		t.Errorf("without: %d held, too short: %v", p.Pool.Held, r.Short)
	}
	for p.Ring.Reclaim(memory.ForAny, 0) {
	}
	if p.Pool.Held-r.Held() != 0 || len(r.Chunks) != 0 || r.Bytes != 0 {
		t.Errorf("at the end %d held, %d chunks", p.Pool.Held, len(r.Chunks))
	}
}

// TestSpareMemoryOfTheRing: four pieces are kept to be used again, none while the buffer
// is too full; and a piece is used for what fills at least two thirds of it.
func TestSpareMemoryOfTheRing(t *testing.T) {
	t.Parallel()
	p := ringOf(6, time.Now())
	r := p.Ring
	for range 6 {
		p.Ring.DropOldest()
	}
	if len(r.Spare) != 4 || p.Pool.Held != 400 {
		t.Errorf("%d pieces spare, %d bytes held; want 4 of 100 bytes", len(r.Spare), p.Pool.Held)
	}
	full := ringOf(1, time.Now())
	full.Pool.Held = full.Pool.Budget + 1
	full.Ring.DropOldest()
	if len(full.Ring.Spare) != 0 || full.Pool.Held != full.Pool.Budget-99 {
		t.Errorf("beyond the budget %d pieces are kept, %d bytes held", len(full.Ring.Spare), full.Pool.Held)
	}
}

// TestWhenTheIntakeGetsTheRing: what a snapshot was asked for is given up only for a
// recording that would lose messages; where links wait they get no more than their own
// part of the buffer.
func TestWhenTheIntakeGetsTheRing(t *testing.T) {
	t.Parallel()
	type state struct {
		blocks, asked, only bool
		filled              int64
		want                bool
	}
	for name, s := range map[string]state{
		"recording loses":                    {want: true},
		"recording loses, asked":             {asked: true, want: true},
		"snapshots only":                     {only: true, want: true},
		"snapshots only, asked":              {only: true, asked: true},
		"links wait":                         {blocks: true, filled: 2500, want: true},
		"links wait with a byte more":        {blocks: true, filled: 2501},
		"links wait, asked":                  {blocks: true, asked: true, filled: 2500},
		"however much is filled, when lossy": {filled: 9000, want: true},
	} {
		p := ringOf(3, time.Now())
		p.Ring.Most = 7500
		p.Pool.Held = 300 + s.filled + 40 + 60
		p.Pool.Idle, p.Pool.Latched = 40, 60
		if s.blocks {
			p.Pool.Blocks = true
		}
		if s.only {
			p.Ring.Only = true
		}
		if s.asked {
			p.Ring.Pending = 1
		}
		if got := p.Pool.ReclaimFor(memory.ForMessages); got != s.want {
			t.Errorf("%s: memory of the ring was given: %v, want %v", name, got, s.want)
		}
	}
	if bareIntake(100, 100).Pool.ReclaimFor(memory.ForMessages) {
		t.Error("without snapshots there is a ring")
	}
}

// TestRingIsTakenWhole: a snapshot gets all chunks in order, and the next begins anew.
func TestRingIsTakenWhole(t *testing.T) {
	t.Parallel()
	start := time.Now()
	p := ringOf(3, start)
	r := p.Ring
	all := r.TakeFor(&ring.Taking{})
	if len(all) != 3 || len(r.Chunks) != 0 || r.Bytes != 0 {
		t.Fatalf("%d taken, %d chunks of %d bytes left", len(all), len(r.Chunks), r.Bytes)
	}
	r.Push(ring.Chunk{Weight: 7})
	for i, c := range all {
		if !c.FirstAt.Equal(start.Add(time.Duration(i) * time.Second)) {
			t.Errorf("chunk %d is of %v", i, c.FirstAt)
		}
	}
	if r.Bytes != 7 {
		t.Errorf("%d bytes in the ring, want 7", r.Bytes)
	}
}

// TestRingChunkInMemoryOfItsOwn: a record that fills less than three quarters of its buffer
// is copied, into as much memory as it needs, which is counted. Where somebody has asked
// for the ring that may go beyond the budget, if the record is not too long.
func TestRingChunkInMemoryOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record  int
		counted int64
		others  int64 // bytes in use beside
		asked   int
		copied  bool
	}{
		"three quarters":             {750, 1000, 0, 0, false},
		"a byte less":                {749, 1000, 0, 0, true},
		"little":                     {33, 1000, 0, 0, true},
		"no room":                    {33, 1000, 8968, 0, false},
		"just room":                  {33, 1000, 8967, 0, true},
		"no room, asked for":         {200, 1000, 9000, 1, true},
		"no room, asked for, longer": {201, 1000, 9000, 1, false},
		"asked for, longer":          {201, 1000, 8000, 1, true},
	} {
		p := ringOf(0, time.Now())
		p.Ring.Pending = c.asked
		p.Pool.Held = c.counted + c.others
		of := &memory.Chunk{Counted: c.counted, Sealed: &chunk.Sealed{Record: make([]byte, c.record)}}
		rc := p.Snapshots().ToRingChunk(of)
		want := c.counted
		if c.copied {
			want = int64(c.record)
		}
		if copied := rc.Chunk == nil; copied != c.copied || rc.Weight != want || p.Pool.Held != want+c.others || copied && cap(rc.Memory) != c.record {
			t.Errorf("%s: copied %v into %d bytes, %d of it in use, counted as %d", name, copied, cap(rc.Memory), p.Pool.Held-c.others, rc.Weight)
		}
	}
}

// TestRingChunkInSpareMemory: spare memory, which is counted already, goes to the next
// record that fits.
func TestRingChunkInSpareMemory(t *testing.T) {
	t.Parallel()
	p := ringOf(0, time.Now())
	r := p.Ring
	r.Spare = [][]byte{make([]byte, 0, 120)}
	p.Pool.Held = 1000 + 120
	rc := p.Snapshots().ToRingChunk(&memory.Chunk{Counted: 1000, Sealed: &chunk.Sealed{Record: make([]byte, 100)}})
	if cap(rc.Memory) != 120 || rc.Weight != 120 || p.Pool.Held != 120 || len(r.Spare) != 0 {
		t.Errorf("in memory of %d bytes, counted as %d; %d held, %d pieces spare", cap(rc.Memory), rc.Weight, p.Pool.Held, len(r.Spare))
	}
}
