package recorder

import "testing"

// giveFree makes a chunk of another pool a free buffer of p.
func giveFree(p *pool, c *chunk) {
	c.counted = 0
	p.put(c)
}

// TestWhichBufferIsReused: a free buffer that is large enough, but at most four times too
// large; and else one that was sealed young, which grows.
func TestWhichBufferIsReused(t *testing.T) {
	t.Parallel()
	one := usedChunk(t, &pool{budget: -1}, 100_000)
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
		p := pool{budget: -1}
		giveFree(&p, one)
		got := p.get(c.size, c.size)
		if (got == one) != c.reused {
			t.Errorf("%s: the free buffer is reused: %v, want %v", name, got == one, c.reused)
		}
		if want := max(int64(have), int64(c.size)); got == one && (p.held != want || p.idle != 0 || len(p.free) != 0) {
			t.Errorf("%s: %d bytes held, want %d; %d idle in %d buffers, want none", name, p.held, want, p.idle, len(p.free))
		}
	}
}

// TestBestBufferIsReused: of several the smallest that is large enough, and of those that
// are too small the largest, in whatever order they came back.
func TestBestBufferIsReused(t *testing.T) {
	t.Parallel()
	var all [3]*chunk
	for i := range all {
		all[i] = usedChunk(t, &pool{budget: -1}, 100_000+50_000*i)
	}
	small, middle, large := all[0].builder.Cap(), all[1].builder.Cap(), all[2].builder.Cap()
	if small >= middle || middle >= large {
		t.Fatalf("buffers of %d, %d and %d bytes", small, middle, large)
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for size, want := range map[int]int{small: 0, small + 1: 1, middle: 1, middle + 1: 2, large: 2, large + 1: 2} {
			p := pool{budget: -1}
			for _, i := range order {
				giveFree(&p, all[i])
			}
			if got := p.get(size, size); got != all[want] {
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
		p := pool{budget: 1000, twice: twice}
		all := 1000
		if twice {
			all = 500
		}
		if p.get(all+1, all+1) != nil || p.held != 0 {
			t.Errorf("twice %v: a byte more than the buffer was had; %d held", twice, p.held)
		}
		if p.get(all, all) == nil || p.held != 1000 {
			t.Errorf("twice %v: the buffer has no room for %d bytes; %d held", twice, all, p.held)
		}
		if p.get(1, 1) != nil || !p.makeRoom(0, forMessages) || p.makeRoom(1, forMessages) {
			t.Errorf("twice %v: a full buffer has room", twice)
		}
	}
	p := pool{budget: 1000}
	if p.get(1000, 100) == nil || p.get(900, 900) == nil || p.held != 1000 {
		t.Errorf("what is only claimed takes room: %d held", p.held)
	}
}

// TestShortageTakesFreeBuffersFirst: what is only kept in case is given up when there is
// no free buffer left to let go of, and no more of it than is needed.
func TestShortageTakesFreeBuffersFirst(t *testing.T) {
	t.Parallel()
	p := pool{budget: 400_000}
	yields := 0
	kept := &testReserve{most: 200_000, piece: 50_000, yield: func() {
		if len(p.free) > 0 {
			t.Error("memory was taken from the ring while a buffer was free")
		}
		yields++
		p.held -= 50_000
	}}
	p.held, p.reserve = kept.most, kept
	p.put(usedChunk(t, &p, 30_000))
	p.put(usedChunk(t, &p, 20_000))
	before := len(p.free)
	if c := p.get(200_000, 200_000); c == nil || before == 0 || yields != 0 || p.held > p.budget {
		t.Fatalf("%d of the ring given up for what free buffers leave; %d held", yields, p.held)
	}
	if p.get(50_000, 50_000) == nil || yields != 1 {
		t.Errorf("for as much as one piece %d were given up", yields)
	}
	if p.get(200_000, 200_000) != nil || yields != 4 || p.held != 250_000 {
		t.Errorf("too much was had: %d given up, %d held", yields, p.held)
	}
}

// TestFreeBuffersWithoutALimit: at most 64 MiB of them are kept.
func TestFreeBuffersWithoutALimit(t *testing.T) {
	t.Parallel()
	c := usedChunk(t, &pool{budget: -1}, 10_000)
	size := int64(c.builder.Cap())
	for more, want := range map[int64]int{0: 1, 1: 0} {
		p := pool{budget: -1, held: keepFree - size + more, idle: keepFree - size + more}
		giveFree(&p, c)
		if len(p.free) != want {
			t.Errorf("%d bytes more than 64 MiB free: %d buffers kept, want %d", more, len(p.free), want)
		}
	}
}

// TestLargeBufferIsNotKeptBeyondTheLimit: one that grew beyond the budget is let go.
func TestLargeBufferIsNotKeptBeyondTheLimit(t *testing.T) {
	t.Parallel()
	c := usedChunk(t, &pool{budget: -1}, 10_000)
	size := int64(c.builder.Cap())
	for budget, want := range map[int64]int{size: 1, size - 1: 0} {
		p := pool{budget: budget, held: 100}
		c.counted = 100 // of what was claimed; then it grew
		p.put(c)
		if len(p.free) != want || p.held != int64(want)*size || p.idle != int64(want)*size {
			t.Errorf("a buffer of %d bytes in a budget of %d: %d kept, %d held, %d idle", size, budget, len(p.free), p.held, p.idle)
		}
	}
}

// TestUsualSize: a chunk is expected to become as large as the largest yet, if the whole
// buffer has room for that.
func TestUsualSize(t *testing.T) {
	t.Parallel()
	for budget, want := range map[int64]int{-1: 1500, 1500: 1500, 1499: 1000} {
		p := pool{budget: budget, grown: 1500}
		if got := p.usual(1000); got != want {
			t.Errorf("budget %d: %d, want %d", budget, got, want)
		}
		if got := p.usual(2000); got != 2000 {
			t.Errorf("budget %d: %d for a chunk of 2000 bytes", budget, got)
		}
	}
	p := pool{budget: -1}
	c := usedChunk(t, &p, 10_000)
	size := c.builder.Cap()
	c.counted, p.held = 1_000_000, 1_000_000 // claimed
	p.settle(c)
	if p.held != int64(size) || c.counted != int64(size) || p.usual(1) != size {
		t.Errorf("a chunk of %d bytes: %d held, %d counted, %d expected next", size, p.held, c.counted, p.usual(1))
	}
}

// TestPoolFitsExactly: what fills the budget to the last byte fits.
func TestPoolFitsExactly(t *testing.T) {
	t.Parallel()
	p := pool{budget: 10, held: 4}
	if !p.fits(6) || p.fits(7) {
		t.Errorf("of 10 bytes with 4 in use, 6 more fit: %v, 7 more: %v", p.fits(6), p.fits(7))
	}
}
