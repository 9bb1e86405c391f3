package ring

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// ringOf returns a ring with chunks of 100 bytes, one a second, in a buffer of 10,000 bytes.
func ringOf(chunks int, start time.Time) *Ring { return ringWhere(false, chunks, start) }

// ringWhere is a ringOf where links may wait.
func ringWhere(linksWait bool, chunks int, start time.Time) *Ring {
	mem := memory.New(memory.Options{Limit: 10_000, ChunkBytes: 100, Blocks: linksWait})
	var r *Ring
	latched := latch.New(mem, false, func(c *latch.Chunk) { r.Free(c) })
	r = New(Options{Most: 1 << 40}, mem, &latched)
	mem.KeepReserve(r)
	for i := range chunks {
		at := start.Add(time.Duration(i) * time.Second)
		r.push(latch.InMemory(new(chunk.Sealed), make([]byte, 0, 100), at, at.Add(500*time.Millisecond)))
		mem.Use(100)
	}
	return r
}

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
		r := ringOf(5, start)
		r.o.Window = c.window
		r.expire(c.now)
		if len(r.chunks) != c.left || r.bytes != int64(100*c.left) || r.short {
			t.Errorf("%s: %d chunks of %d bytes left, want %d; too short: %v", name, len(r.chunks), r.bytes, c.left, r.short)
		}
		if c.left > 0 && r.reach(c.now) != c.now.Sub(start.Add(time.Duration(5-c.left)*time.Second)) {
			t.Errorf("%s: it reaches %v back", name, r.reach(c.now))
		}
		if c.left == 0 && r.reach(c.now) != 0 {
			t.Errorf("%s: an empty ring reaches %v back", name, r.reach(c.now))
		}
	}
}

// TestRingKeepsItsSize: it may have as much as was given to it, and what does not fit
// pushes out the oldest, which is told.
func TestRingKeepsItsSize(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for most, want := range map[int64]int{600: 6, 599: 5, 100: 1, 99: 0} {
		r := ringOf(5, start)
		r.o.Most = most
		at := start.Add(5 * time.Second)
		r.Add(latch.InMemory(new(chunk.Sealed), make([]byte, 0, 100), at, at))
		if len(r.chunks) != want || r.short != (want < 6) {
			t.Errorf("of %d bytes: %d chunks, want %d; told that it is too short: %v", most, len(r.chunks), want, r.short)
		}
		if want > 0 && !r.chunks[want-1].FirstAt().Equal(at) {
			t.Errorf("of %d bytes: the newest chunk is not kept", most)
		}
	}
}

// TestRingGivesMemory: first what is spare, then the oldest chunks, until there is none.
func TestRingGivesMemory(t *testing.T) {
	t.Parallel()
	r := ringOf(3, time.Now())
	second := r.chunks[1].FirstAt()
	r.spare = [][]byte{make([]byte, 0, 70)}
	r.mem.Use(70)
	if r.Held() != 370 || r.Reclaimable() != 370 {
		t.Errorf("the ring holds %d bytes, of which the intake may have %d; want 370", r.Held(), r.Reclaimable())
	}
	if !r.Reclaim(memory.ForAny, 0) || r.mem.Usage().Held != 300 || len(r.spare) != 0 || r.short {
		t.Errorf("with spare memory: %d held, %d pieces spare, too short: %v", r.mem.Usage().Held, len(r.spare), r.short)
	}
	if r.spare[:1][0] != nil {
		t.Error("the memory that was given up is still there")
	}
	r.mem.SetBudget(250) // so that nothing is spare
	before := r.chunks
	if !r.Reclaim(memory.ForAny, 0) || r.mem.Usage().Held != 200 || !r.short || !r.chunks[0].FirstAt().Equal(second) || before[0] != nil {
		t.Errorf("without: %d held, too short: %v", r.mem.Usage().Held, r.short)
	}
	for r.Reclaim(memory.ForAny, 0) {
	}
	if r.mem.Usage().Held-r.Held() != 0 || len(r.chunks) != 0 || r.bytes != 0 {
		t.Errorf("at the end %d held, %d chunks", r.mem.Usage().Held, len(r.chunks))
	}
}

// TestSpareMemoryOfTheRing: four pieces are kept to be used again, none while the buffer
// is too full; and a piece is used for what fills at least two thirds of it.
func TestSpareMemoryOfTheRing(t *testing.T) {
	t.Parallel()
	r := ringOf(6, time.Now())
	for range 6 {
		r.dropOldest()
	}
	if len(r.spare) != 4 || r.mem.Usage().Held != 400 {
		t.Errorf("%d pieces spare, %d bytes held; want 4 of 100 bytes", len(r.spare), r.mem.Usage().Held)
	}
	full := ringOf(1, time.Now())
	full.mem.Use(full.mem.Budget() + 1 - full.mem.Usage().Held)
	full.dropOldest()
	if len(full.spare) != 0 || full.mem.Usage().Held != full.mem.Budget()-99 {
		t.Errorf("beyond the budget %d pieces are kept, %d bytes held", len(full.spare), full.mem.Usage().Held)
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
		r := ringWhere(s.blocks, 3, time.Now())
		r.o.Most = 7500
		r.mem.Use(s.filled)
		r.mem.UseLatched(60)
		if s.only {
			r.o.Only = true
		}
		if s.asked {
			r.pending = 1
		}
		if got := r.mem.ReclaimFor(memory.ForMessages); got != s.want {
			t.Errorf("%s: memory of the ring was given: %v, want %v", name, got, s.want)
		}
	}
	if memory.New(memory.Options{Limit: 100, ChunkBytes: 100}).ReclaimFor(memory.ForMessages) {
		t.Error("without snapshots there is a ring")
	}
}

// TestRingIsTakenWhole: a snapshot gets all chunks in order, and the next begins anew.
func TestRingIsTakenWhole(t *testing.T) {
	t.Parallel()
	start := time.Now()
	r := ringOf(3, start)
	all := r.TakeFor(&Snapshot{})
	if len(all) != 3 || len(r.chunks) != 0 || r.bytes != 0 {
		t.Fatalf("%d taken, %d chunks of %d bytes left", len(all), len(r.chunks), r.bytes)
	}
	r.push(latch.InMemory(new(chunk.Sealed), make([]byte, 0, 7), time.Time{}, time.Time{}))
	for i, c := range all {
		if !c.FirstAt().Equal(start.Add(time.Duration(i) * time.Second)) {
			t.Errorf("chunk %d is of %v", i, c.FirstAt())
		}
	}
	if r.bytes != 7 {
		t.Errorf("%d bytes in the ring, want 7", r.bytes)
	}
}

// TestMemoryForCopiesInTheRing: they may displace the oldest chunks, but not those of a snapshot
// that was requested.
func TestMemoryForCopiesInTheRing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		budget  int64 // of which the ring has 200
		pending int
		want    bool
		chunks  int // left
	}{
		"there is room":                     {300, 0, true, 2},
		"there is room beside the snapshot": {300, 1, true, 2},
		"in place of a chunk":               {299, 0, true, 1},
		"not in place of the snapshot":      {299, 1, false, 2},
	} {
		r := ringOf(2, time.Now())
		r.mem.SetBudget(tc.budget)
		r.pending = tc.pending
		if got := r.Claim(100); got != tc.want || len(r.chunks) != tc.chunks {
			t.Errorf("%s: %v, %d chunks are left; want %v, %d", name, got, len(r.chunks), tc.want, tc.chunks)
		}
	}
}

// TestPostRoll: it lasts for its time after the last trigger, and later triggers extend it.
func TestPostRoll(t *testing.T) {
	t.Parallel()
	start := time.Now()
	after := start.Add
	var none *Ring
	r := ringOf(0, start)
	r.o.PostRoll, r.o.Window = 5*time.Second, 10*time.Second
	if none.Due(after(time.Hour)) || r.Due(after(time.Hour)) || none.End() != nil || r.End() != nil {
		t.Error("a post-roll is over that did not begin")
	}
	r.Trigger(after(time.Hour))
	r.Trigger(after(2 * time.Hour))
	if !r.requested.Equal(after(time.Hour)) {
		t.Errorf("the ring keeps the window before %v", r.requested.Sub(start))
	}
	first := &Snapshot{At: start, Last: after(time.Second)}
	r.Begin(first, latch.State{})
	if !first.From.Equal(after(-10*time.Second)) || !r.requested.IsZero() {
		t.Errorf("the snapshot begins %v after its trigger", first.From.Sub(start))
	}
	for _, c := range []struct {
		trigger, end time.Duration
	}{
		{0, 6 * time.Second}, // an earlier trigger shortens nothing
		{time.Second, 6 * time.Second},
		{2 * time.Second, 7 * time.Second},
		{0, 7 * time.Second},
	} {
		r.Trigger(after(c.trigger))
		if r.Due(after(c.end-1)) || !r.Due(after(c.end)) {
			t.Errorf("with a trigger after %v, messages after %v belong to the snapshot: %v; want until then", c.trigger, c.end, !r.Due(after(c.end)))
		}
	}
	if r.End() != first || r.End() != nil || r.Due(after(time.Hour)) {
		t.Error("the snapshot is not taken once")
	}
	if r.taken != 1 || r.pending != 1 || !r.Writing() || none.Writing() {
		t.Errorf("%d snapshots taken, %d pending", r.taken, r.pending)
	}
}

// TestShortageIsToldOnce: again only after the ring has reached back to the window.
func TestShortageIsToldOnce(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var none *Ring
	r := ringOf(5, start)
	r.short = true
	if none.TakeShortage(start) != nil || r.TakeShortage(start) != nil {
		t.Error("a shortage without a window")
	}
	r.o.Window = 10 * time.Second
	for _, c := range []struct {
		name    string
		reclaim bool
		reach   time.Duration
		told    bool
	}{
		{"nothing was reclaimed", false, 4 * time.Second, false},
		{"reclaimed", true, 6 * time.Second, true},
		{"still", false, 7 * time.Second, false},
		{"reclaimed again", true, 8 * time.Second, false},
		{"reclaimed while it reaches back", true, 10 * time.Second, false},
		{"reclaimed afterwards", true, 9 * time.Second, true},
	} {
		r.short = c.reclaim
		r.chunks[0] = latch.InMemory(new(chunk.Sealed), nil, start, start)
		got := r.TakeShortage(start.Add(c.reach))
		if (got != nil) != c.told || c.told && *got != (Shortage{10 * time.Second, c.reach, r.o.Most}) {
			t.Errorf("%s: %+v, want one: %v", c.name, got, c.told)
		}
	}
}

// TestWhatTheRingNeeds: the connections of messages that came since its oldest chunk began.
func TestWhatTheRingNeeds(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var none *Ring
	r := ringOf(2, start)
	if none.Needs(start) || ringOf(0, start).Needs(start) || r.Needs(start.Add(-1)) || !r.Needs(start) {
		t.Error("the ring needs what it does not hold, or does not need what it holds")
	}
}

// TestSnapshotStats: a ring holds no more than its window, and names the file of its snapshot.
func TestSnapshotStats(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var none *Ring
	if got := none.Stats(start); got != (control.SnapshotStats{}) {
		t.Errorf("without a ring: %+v", got)
	}
	r := ringOf(2, start)
	r.o.Most = 1000
	now := start.Add(20 * time.Second)
	want := control.SnapshotStats{Mode: control.SnapshotBeside, Held: 20 * time.Second, Bytes: 200, Most: 1000}
	if got := r.Stats(now); got != want {
		t.Errorf("without a window: %+v, want %+v", got, want)
	}
	r.o.Window, r.o.Only = 15*time.Second, true
	r.Begin(&Snapshot{Target: func() string { return "x.bag" }}, latch.State{})
	want.Mode, want.Held, want.Taken, want.File = control.SnapshotOnly, 15*time.Second, 1, "x.bag"
	if got := r.Stats(now); got != want {
		t.Errorf("with a window: %+v, want %+v", got, want)
	}
}
