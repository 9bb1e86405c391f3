package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

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
		"three quarters":             {7500, 10_000, 0, 0, false},
		"a byte less":                {7499, 10_000, 0, 0, true},
		"little":                     {1000, 10_000, 0, 0, true},
		"no room":                    {1000, 10_000, 89_001, 0, false},
		"just room":                  {1000, 10_000, 89_000, 0, true},
		"no room, asked for":         {2000, 10_000, 90_000, 1, true},
		"no room, asked for, longer": {2001, 10_000, 90_000, 1, false},
		"asked for, longer":          {2001, 10_000, 80_000, 1, true},
	} {
		p := bareIntake(100_000, 1000)
		p.Buffers.keepRing(ring.Options{})
		for range c.asked {
			p.Buffers.ring.Begin(new(ring.Snapshot), latch.State{})
		}
		p.Buffers.pool.Use(c.others)
		rc := toRing(p, sealedChunk(t, p, c.record, c.counted))
		want := c.counted
		if c.copied {
			want = int64(c.record)
		}
		if copied := rc.Buffer() == nil; copied != c.copied || rc.Weight() != want || inUse(p) != want+c.others || copied && cap(rc.Memory()) != c.record {
			t.Errorf("%s: copied %v into %d bytes, %d of it in use, counted as %d", name, copied, cap(rc.Memory()), inUse(p)-c.others, rc.Weight())
		}
	}
}

// inUse returns how many bytes of the buffer are in use.
func inUse(p *Intake) int64 { return p.Buffers.pool.Usage().Held - p.Buffers.pool.Usage().Idle }

// sealedChunk is a chunk with a record of so many bytes, for whose buffer the memory counts so many.
func sealedChunk(t *testing.T, p *Intake, record int, counted int64) *memory.Chunk {
	t.Helper()
	var c *memory.Chunk
	for size, more := 0, record; more != 0; size += more {
		c = new(memory.Chunk)
		c.Builder().Reset(nil)
		c.Builder().AppendRun(testlink.Connection(), rosbag.Time{}, testlink.Frame(1, 1, max(size, 0)), 1)
		if err := c.Seal(nil); err != nil {
			t.Fatal(err)
		}
		more = record - len(c.Sealed().Record)
	}
	p.Buffers.pool.Grow(c, counted)
	return c
}

// TestRingChunkInSpareMemory: spare memory, which is counted already, goes to the next
// record that fits.
func TestRingChunkInSpareMemory(t *testing.T) {
	t.Parallel()
	p := bareIntake(10_000, 100)
	p.Buffers.keepRing(ring.Options{})
	r := p.Buffers.ring
	r.Free(latch.InMemory(new(chunk.Sealed), make([]byte, 0, 1200), time.Time{}, time.Time{}))
	p.Buffers.pool.Use(1200)
	rc := toRing(p, sealedChunk(t, p, 1000, 5000))
	if cap(rc.Memory()) != 1200 || rc.Weight() != 1200 || inUse(p) != 1200 || r.Held() != 0 {
		t.Errorf("in memory of %d bytes, counted as %d; %d held, %d bytes spare", cap(rc.Memory()), rc.Weight(), inUse(p), r.Held())
	}
}

// TestNothingLatchedTakesNoMemory, also where there is none.
func TestNothingLatchedTakesNoMemory(t *testing.T) {
	t.Parallel()
	p := bareIntake(10_000, 100)
	p.Buffers.keepRing(ring.Options{})
	setHeld(p, 10_001)
	if err := p.Buffers.AddCut(new(latch.State), nil); err != nil {
		t.Error(err)
	}
}

// TestCopiesOfLatchedInTheRing: a chunk in the ring comes with copies of its latched messages where
// these take no more memory than the chunk, and the chunk is kept in their place otherwise.
func TestCopiesOfLatchedInTheRing(t *testing.T) {
	t.Parallel()
	message := testlink.Frame(1, 1, 2000)
	counted := int64(latch.Overhead + 2*len(message))
	// build seals a chunk with the message, and a filler of so many bytes. The memory counts the record only.
	build := func(p *Intake, of *account.Connection, filler int) *memory.Chunk {
		c := new(memory.Chunk)
		c.Builder().Reset(nil)
		c.Builder().AppendRun(of.Conn(), rosbag.Time{}, message, 1)
		c.Builder().AppendRun(testlink.Connection(), rosbag.Time{}, testlink.Frame(1, 1, filler), 1)
		if err := c.Seal(nil); err != nil {
			t.Fatal(err)
		}
		p.Buffers.pool.Grow(c, int64(len(c.Sealed().Record)))
		return c
	}
	const some = 100
	for more, want := range map[int64]int64{-1: 0, 0: counted, 1: counted} {
		p := bareIntake(1<<20, 100)
		p.Buffers.keepRing(ring.Options{})
		plain := latchingConnection(p, "/plain") // has the id of the filler
		p.Buffers.latched.Connected(plain.Source(), false)
		of := latchingConnection(p, "/a")
		beside := int64(len(build(p, of, some).Sealed().Record)) - some
		kept := toRing(p, build(p, of, int(counted+more-beside)))
		if got := kept.Bytes() - kept.Weight(); got != want {
			t.Errorf("a chunk that takes %d bytes more than the copies has copies of %d bytes, want %d", more, got, want)
		}
		if p.Buffers.PassRing(kept); p.Buffers.pool.Usage().Latched != want || !p.Buffers.latched.Holds(of.Source()) {
			t.Errorf("after the chunk %d bytes are latched, want %d; remembered: %v", p.Buffers.pool.Usage().Latched, want, p.Buffers.latched.Holds(of.Source()))
		}
	}
}
