package memory

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// giveFree makes a chunk of another pool a free buffer of p.
func giveFree(p *Memory, c *Chunk) {
	c.counted = 0
	p.Put(c)
}

// TestWhichBufferIsReused: a free buffer that is large enough, but at most four times too
// large; and else one that was sealed young, which grows.
func TestWhichBufferIsReused(t *testing.T) {
	t.Parallel()
	one := grownChunk(t, &Memory{budget: -1}, 100_000)
	have := one.builder.Cap()
	for name, c := range map[string]struct {
		size   int
		reused bool
	}{
		"exactly":             {have, true},
		"too small by a byte": {have + 1, true},
		"fourfold":            {(have + 3) / 4, true},
		"more than fourfold":  {(have+3)/4 - 1, false},
	} {
		p := Memory{budget: -1}
		giveFree(&p, one)
		got := p.Get(c.size, c.size)
		if (got == one) != c.reused {
			t.Errorf("%s: the free buffer is reused: %v, want %v", name, got == one, c.reused)
		}
		if want := max(int64(have), int64(c.size)); got == one && (p.used.Held != want || p.used.Idle != 0 || len(p.free) != 0) {
			t.Errorf("%s: %d bytes held, want %d; %d idle in %d buffers, want none", name, p.used.Held, want, p.used.Idle, len(p.free))
		}
	}
}

// TestLatestBufferIsReused: of buffers that fit about as well, the one that came back last, whether all are large enough
// or all too small by a little.
func TestLatestBufferIsReused(t *testing.T) {
	t.Parallel()
	for _, more := range []int{0, 1} {
		p := Memory{budget: -1}
		var last *Chunk
		for i := range 10 {
			last = grownChunk(t, &Memory{budget: -1}, 100_000-1000*(i%2)*(1-more))
			giveFree(&p, last)
		}
		size := last.builder.Cap() - 1000 + 1001*more
		if got := p.Get(size, size); got != last {
			t.Errorf("for %d bytes not the latest buffer of %d", size, last.builder.Cap())
		}
	}
}

// TestBestBufferIsReused: of several the smallest that is large enough, and of those that
// are too small the largest, in whatever order they came back.
func TestBestBufferIsReused(t *testing.T) {
	t.Parallel()
	var all [3]*Chunk
	for i := range all {
		all[i] = grownChunk(t, &Memory{budget: -1}, 100_000+50_000*i)
	}
	small, middle, large := all[0].builder.Cap(), all[1].builder.Cap(), all[2].builder.Cap()
	if small >= middle || middle >= large {
		t.Fatalf("buffers of %d, %d and %d bytes", small, middle, large)
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for size, want := range map[int]int{small: 0, small + 1: 1, middle: 1, middle + 1: 2, large: 2, large + 1: 2} {
			p := Memory{budget: -1}
			for _, i := range order {
				giveFree(&p, all[i])
			}
			if got := p.Get(size, size); got != all[want] {
				t.Errorf("came back as %v: for %d bytes one of %d, want that of %d", order, size, got.builder.Cap(), all[want].builder.Cap())
			}
			if len(p.free) != 2 {
				t.Errorf("came back as %v: %d are left", order, len(p.free))
			}
		}
	}
}

// TestBufferIsUsedUpToItsLastByte: and not beyond, compressed or not.
func TestBufferIsUsedUpToItsLastByte(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		p := Memory{o: Options{Twice: twice}, budget: 1000}
		all := 1000
		if twice {
			all = 500
		}
		if p.Get(all+1, all+1) != nil || p.used.Held != 0 {
			t.Errorf("twice %v: a byte more than the buffer was had; %d held", twice, p.used.Held)
		}
		if p.Get(all, all) == nil || p.used.Held != 1000 {
			t.Errorf("twice %v: the buffer has no room for %d bytes; %d held", twice, all, p.used.Held)
		}
		if p.Get(1, 1) != nil || !p.MakeRoom(0, ForMessages) || p.MakeRoom(1, ForMessages) {
			t.Errorf("twice %v: a full buffer has room", twice)
		}
	}
	p := Memory{budget: 1000}
	if p.Get(1000, 100) == nil || p.Get(900, 900) == nil || p.used.Held != 1000 {
		t.Errorf("what is only claimed takes room: %d held", p.used.Held)
	}
}

// TestShortageTakesFreeBuffersFirst: what is only kept in case is given up when there is
// no free buffer left to let go of, and no more of it than is needed.
func TestShortageTakesFreeBuffersFirst(t *testing.T) {
	t.Parallel()
	p := Memory{budget: 400_000}
	yields := 0
	kept := &testReserve{most: 200_000, piece: 50_000, yield: func() {
		if len(p.free) > 0 {
			t.Error("memory was taken from the ring while a buffer was free")
		}
		yields++
		p.used.Held -= 50_000
	}}
	p.used.Held, p.reserve = kept.most, kept
	p.Put(grownChunk(t, &p, 30_000))
	p.Put(grownChunk(t, &p, 20_000))
	before := len(p.free)
	if c := p.Get(200_000, 200_000); c == nil || before == 0 || yields != 0 || p.used.Held > p.budget {
		t.Fatalf("%d of the ring given up for what free buffers leave; %d held", yields, p.used.Held)
	}
	if p.Get(50_000, 50_000) == nil || yields != 1 {
		t.Errorf("for as much as one piece %d were given up", yields)
	}
	if p.Get(200_000, 200_000) != nil || yields != 4 || p.used.Held != 250_000 {
		t.Errorf("too much was had: %d given up, %d held", yields, p.used.Held)
	}
}

// TestShortageKeepsTheBound: whatever sizes come and go beside a ring that gives up buffers, each byte that is held is one
// of a buffer in use, of a free one, or of the ring. No buffer is had beyond the budget, and one is refused only when
// nothing is left to give up.
func TestShortageKeepsTheBound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := New(Options{Limit: 1 << 20, ChunkBytes: 10_000})
		kept := &testRing{p: p}
		p.KeepReserve(kept)
		var used []*Chunk
		for range 2000 {
			most := max(p.used.Held, p.budget) // the builders of some buffers have grown beyond what they were had for
			switch size := 100 + random.IntN(1<<random.IntN(18)); {
			case len(used) > 0 && random.IntN(3) == 0:
				i := random.IntN(len(used))
				if c := used[i]; random.IntN(2) == 0 {
					p.Put(c)
				} else {
					kept.all = append(kept.all, c)
				}
				used = slices.Delete(used, i, i+1)
			default:
				c := p.Get(size, size)
				if c == nil {
					if len(p.free)+len(kept.all) > 0 || p.Fits(int64(size)) {
						t.Fatalf("seed %d: %d bytes are refused beside %d free buffers and %d of the ring", seed, size, len(p.free), len(kept.all))
					}
					break
				}
				if p.used.Held > most {
					t.Fatalf("seed %d: %d bytes held after one of %d was had, of %d", seed, p.used.Held, size, p.budget)
				}
				c.builder.Reset(nil)
				c.builder.AppendRun(testlink.Connection(), rosbag.Time{}, testlink.Frame(0, 0, size), 1)
				p.Count(c)
				used = append(used, c)
			}
			held, idle := kept.Held(), int64(0)
			for _, c := range p.free {
				idle += c.counted
			}
			for _, c := range used {
				held += c.counted
			}
			if u := p.Usage(); u.Held != held+idle || u.Idle != idle {
				t.Fatalf("seed %d: %d bytes held, %d idle; buffers have %d and %d", seed, u.Held, u.Idle, held+idle, idle)
			}
		}
	}
}

// testRing is a reserve of chunks, which gives up the oldest.
type testRing struct {
	p   *Memory
	all []*Chunk
}

func (r *testRing) Reclaim(Purpose, int64) bool {
	if len(r.all) == 0 {
		return false
	}
	c := r.all[0]
	r.all = r.all[1:]
	r.p.Put(c)
	return true
}

func (r *testRing) Held() (n int64) {
	for _, c := range r.all {
		n += c.counted
	}
	return n
}

func (r *testRing) Reclaimable() int64 { return r.Held() }

// TestOddFreeBuffersAreGivenUp: without a limit, buffers that a burst of large messages has left do not keep those of
// the usual chunks from being reused.
func TestOddFreeBuffersAreGivenUp(t *testing.T) {
	t.Parallel()
	const usual = 3 << 20
	p := New(Options{Limit: -1, ChunkBytes: usual})
	var large []*Chunk
	for range 3 {
		large = append(large, grownChunk(t, p, keepFree/2-1<<20))
	}
	for _, c := range large {
		p.Put(c)
	}
	if p.used.Idle+usual <= keepFree {
		t.Fatalf("%d bytes are idle: too few for this test", p.used.Idle)
	}
	var before *Chunk
	for i := range 10 {
		c := grownChunk(t, p, usual)
		if i > 3 && c != before {
			t.Fatalf("chunk %d has another buffer than the one before; %d bytes of %d are idle", i, p.used.Idle, p.used.Held)
		}
		before = c
		p.Put(c)
	}
	if p.used.Idle > keepFree || p.used.Held != p.used.Idle {
		t.Errorf("%d bytes are idle, %d held", p.used.Idle, p.used.Held)
	}
}

// TestWhatTheReserveIsTold: how much waits for the disk, that is all but free buffers, the reserve
// itself, latched messages, and large messages that are received.
func TestWhatTheReserveIsTold(t *testing.T) {
	t.Parallel()
	kept := &testReserve{}
	p := New(Options{Limit: 100_000, ChunkBytes: 100})
	p.reserve = kept
	for _, c := range []struct {
		name string
		use  func()
		want int64
	}{
		{"chunks", func() { p.Use(1000) }, 1000},
		{"the reserve", func() { kept.most = 2000; kept.piece = 2000; kept.yield = func() {}; p.Use(2000) }, 1000},
		{"latched messages", func() { p.UseLatched(300) }, 1000},
		{"a large message", func() { p.turns.grant(claim(70, 70), 1, time.Now()); p.Use(70) }, 1000},
		{"a free buffer", func() { p.Put(grownChunk(t, p, 400)) }, 1000},
		{"more chunks", func() { p.Use(20) }, 1020},
	} {
		c.use()
		most := kept.most
		p.ReclaimFor(ForAny)
		kept.most = most
		if kept.filled != c.want {
			t.Errorf("beside %s %d bytes wait for the disk, want %d", c.name, kept.filled, c.want)
		}
	}
}

// TestReclaimedBufferIsReused: a buffer that the reserve gives up serves as it is, where a new one
// would not fit.
func TestReclaimedBufferIsReused(t *testing.T) {
	t.Parallel()
	old := grownChunk(t, &Memory{budget: -1}, 100_000)
	size := old.builder.Cap()
	p := Memory{budget: int64(size)}
	p.reserve = &testReserve{most: int64(size), piece: int64(size), yield: func() { p.Put(old) }}
	p.used.Held, old.counted = int64(size), int64(size)
	if got := p.Get(size-1, size-1); got != old || p.used.Held != int64(size) {
		t.Errorf("the buffer of the reserve is not reused, or %d bytes are held instead of %d", p.used.Held, size)
	}
}

// TestFreeBuffersWithoutALimit: at most 64 MiB of them are kept.
func TestFreeBuffersWithoutALimit(t *testing.T) {
	t.Parallel()
	c := grownChunk(t, &Memory{budget: -1}, 10_000)
	size := int64(c.builder.Cap())
	for more, want := range map[int64]int{0: 1, 1: 0} {
		p := Memory{used: Usage{Held: keepFree - size + more, Idle: keepFree - size + more}, budget: -1}
		giveFree(&p, c)
		if len(p.free) != want {
			t.Errorf("%d bytes more than 64 MiB free: %d buffers kept, want %d", more, len(p.free), want)
		}
	}
}

// TestLargeBufferIsNotKeptBeyondTheLimit: one that grew beyond the budget is let go.
func TestLargeBufferIsNotKeptBeyondTheLimit(t *testing.T) {
	t.Parallel()
	c := grownChunk(t, &Memory{budget: -1}, 10_000)
	size := int64(c.builder.Cap())
	for budget, want := range map[int64]int{size: 1, size - 1: 0} {
		p := Memory{used: Usage{Held: 100}, budget: budget}
		c.counted = 100 // of what was claimed; then it grew
		p.Put(c)
		if len(p.free) != want || p.used.Held != int64(want)*size || p.used.Idle != int64(want)*size {
			t.Errorf("a buffer of %d bytes in a budget of %d: %d kept, %d held, %d idle", size, budget, len(p.free), p.used.Held, p.used.Idle)
		}
	}
}

// TestUsualSize: a chunk is expected to become as large as the largest yet, if the whole
// buffer has room for that.
func TestUsualSize(t *testing.T) {
	t.Parallel()
	for budget, want := range map[int64]int{-1: 1500, 1500: 1500, 1499: 1000} {
		p := Memory{budget: budget, used: Usage{Grown: 1500}}
		if got := p.Usual(1000); got != want {
			t.Errorf("budget %d: %d, want %d", budget, got, want)
		}
		if got := p.Usual(2000); got != 2000 {
			t.Errorf("budget %d: %d for a chunk of 2000 bytes", budget, got)
		}
	}
	p := Memory{budget: -1}
	c := grownChunk(t, &p, 10_000)
	size := c.builder.Cap()
	c.counted, p.used.Held = 1_000_000, 1_000_000 // claimed
	p.Settle(c)
	if p.used.Held != int64(size) || c.counted != int64(size) || p.Usual(1) != size {
		t.Errorf("a chunk of %d bytes: %d held, %d counted, %d expected next", size, p.used.Held, c.counted, p.Usual(1))
	}
}

// TestPoolFitsExactly: what fills the budget to the last byte fits.
func TestPoolFitsExactly(t *testing.T) {
	t.Parallel()
	p := Memory{used: Usage{Held: 4}, budget: 10}
	if !p.Fits(6) || p.Fits(7) {
		t.Errorf("of 10 bytes with 4 in use, 6 more fit: %v, 7 more: %v", p.Fits(6), p.Fits(7))
	}
}

// TestCrowded: much waits for the disk when it is more than an eighth of the buffer or, without a limit,
// more than 32 MiB.
func TestCrowded(t *testing.T) {
	t.Parallel()
	for limit, most := range map[int64]int64{8000: 1000, -1: 32 << 20} {
		for waiting, want := range map[int64]bool{0: false, most: false, most + 1: true} {
			if got := (Usage{Waiting: waiting}).Crowded(limit); got != want {
				t.Errorf("%d bytes wait in a buffer of %d: crowded %v, want %v", waiting, limit, got, want)
			}
		}
	}
}
