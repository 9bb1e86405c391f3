package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// latchedChunk is a chunk of the ring with a message of a latching connection: a copy of n bytes or,
// for a negative number, none.
func latchedChunk(p *Intake, c *account.Connection, n int64) ring.Chunk {
	rc := ring.Chunk{Sealed: new(chunk.Sealed), Memory: make([]byte, 0, 100), Weight: 100}
	l := &latch.Message{}
	if n >= 0 {
		l.Frame, l.Counted = make([]byte, n), n
	}
	p.Pool.Held += 100 + l.Counted
	p.Ring.Note(&rc, []latch.Pinned{{Source: &c.Source, Message: l}})
	return rc
}

// TestLatchedBeforeTheRingIsBounded: it may have half of what the shared chunks leave, together with
// the latest messages, and those come first.
func TestLatchedBeforeTheRingIsBounded(t *testing.T) {
	t.Parallel()
	const half = (10_000 - 100) / 2
	for name, tc := range map[string]struct {
		bytes  int64 // of a copy; negative: the chunk is kept
		others int64 // latched
		want   bool
	}{
		"a copy":            {half, 0, true},
		"too large a copy":  {half + 1, 0, false},
		"beside others":     {10, half - 10, true},
		"a byte too many":   {10, half - 9, false},
		"a chunk":           {-1, half - 100, true},
		"too large a chunk": {-1, half - 99, false},
	} {
		p := ringOf(0, time.Now())
		c := latchingConnection(p, "/a")
		p.Pool.Latched, p.Pool.Held = tc.others, tc.others
		p.Ring.Add(latchedChunk(p, c, tc.bytes))
		ring, left := 100+max(tc.bytes, 0), max(tc.bytes, 0)
		if tc.bytes < 0 {
			left = 100
		}
		if p.Ring.Bytes != ring || p.Pool.Latched != tc.others {
			t.Errorf("%s: %d bytes in the ring, want %d; %d latched", name, p.Ring.Bytes, ring, p.Pool.Latched)
		}
		p.Pool.SetBudget(10_000)
		p.Ring.DropOldest()
		if !tc.want {
			left = 0
		}
		if p.Latched.Holds(&c.Source) != tc.want || p.Pool.Latched != tc.others+left || p.Ring.Bytes != 0 || p.Pool.Held != tc.others+left+p.Ring.Held() {
			t.Errorf("%s: it is remembered: %v, want %v; %d bytes latched, %d held", name, p.Latched.Holds(&c.Source), tc.want, p.Pool.Latched, p.Pool.Held)
		}
		if p.Latched.Short == tc.want {
			t.Errorf("%s: warned: %v", name, p.Latched.Short)
		}
		p.Latched.ForgetStart(&c.Source)
		if p.Pool.Latched != tc.others || p.Latched.Holds(&c.Source) {
			t.Errorf("%s: forgotten, %d bytes latched", name, p.Pool.Latched)
		}
	}
}

// TestLatestLatchedComesFirst: what is latched before the ring yields to later messages, if they
// fit then.
func TestLatestLatchedComesFirst(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{2000: true, 2475: true, 2476: false} {
		p := ringOf(0, time.Now())
		a, b, c := latchingConnection(p, "/a"), latchingConnection(p, "/b"), latchingConnection(p, "/c")
		p.Ring.Add(latchedChunk(p, a, 1000))
		p.Ring.Add(latchedChunk(p, b, -1))
		p.Ring.DropOldest()
		p.Ring.DropOldest()
		if !p.Latched.Holds(&a.Source) || !p.Latched.Holds(&b.Source) || p.Pool.Latched != 1100 {
			t.Fatalf("%d bytes latched", p.Pool.Latched)
		}
		p.Latched.Remember(&c.Source, make([]byte, n))
		if p.Latched.Holds(&c.Source) != want || p.Latched.Holds(&a.Source) == want || p.Latched.Holds(&b.Source) == want {
			t.Errorf("a message of %d bytes is remembered: %v, want %v; those before: %v, %v", n, p.Latched.Holds(&c.Source), want, p.Latched.Holds(&a.Source), p.Latched.Holds(&b.Source))
		}
	}
}

// TestLatchedChunkIsKeptOnce: a chunk that several messages refer to counts once, until the last of
// them is superseded, and while a snapshot has it.
func TestLatchedChunkIsKeptOnce(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{false, true} {
		p := ringOf(0, time.Now())
		a, b := latchingConnection(p, "/a"), latchingConnection(p, "/b")
		rc := ring.Chunk{Sealed: new(chunk.Sealed), Memory: make([]byte, 0, 100), Weight: 100}
		p.Pool.Held = 100
		p.Ring.Note(&rc, []latch.Pinned{{Source: &a.Source, Message: new(latch.Message)}, {Source: &b.Source, Message: new(latch.Message)}})
		p.Snapshots().AddToRing(rc)
		sn := &ring.Taking{}
		if written {
			for _, c := range p.Snapshots().TakeRing(sn) {
				if p.Pool.Latched != 0 {
					t.Errorf("%d bytes latched while the snapshot has the chunk", p.Pool.Latched)
				}
				p.Snapshots().GiveBack(c)
			}
		} else {
			p.Ring.DropOldest()
		}
		if p.Pool.Latched != 100 {
			t.Errorf("%d bytes latched, want 100", p.Pool.Latched)
		}
		p.Latched.ForgetStart(&a.Source)
		next := p.Latched.PinStart()
		p.Latched.ForgetStart(&b.Source)
		if p.Pool.Latched != 100 || len(next) != 1 || next[0].Source != &b.Source {
			t.Errorf("%d bytes latched that a snapshot needs, want 100", p.Pool.Latched)
		}
		p.Files().Unpin(next)
		if p.Pool.Latched != 0 || p.Pool.Held != p.Ring.Held() || len(p.Ring.Spare) != 1 {
			t.Errorf("%d bytes latched, %d held", p.Pool.Latched, p.Pool.Held)
		}
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
		p := ringOf(2, time.Now())
		p.Pool.SetBudget(tc.budget)
		p.Ring.Pending = tc.pending
		if got := p.Ring.Claim(100); got != tc.want || len(p.Ring.Chunks) != tc.chunks {
			t.Errorf("%s: %v, %d chunks are left; want %v, %d", name, got, len(p.Ring.Chunks), tc.want, tc.chunks)
		}
	}
}

// TestLatchedBehindOneThatIsLetGo: a latched message of a chunk that leaves the ring is remembered
// also where a later one in there is not: its connection is gone, or there is no memory.
func TestLatchedBehindOneThatIsLetGo(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"released": true, "too large": false} {
		p := ringOf(0, time.Now())
		first, second := latchingConnection(p, "/a"), latchingConnection(p, "/b")
		rc := ring.Chunk{Sealed: new(chunk.Sealed), Memory: make([]byte, 0, 100), Weight: 100}
		large := &latch.Message{Frame: make([]byte, 9000), Counted: 9000}
		if second.Released = released; released {
			large.Counted = 10
		}
		p.Ring.Note(&rc, []latch.Pinned{{Source: &first.Source, Message: &latch.Message{Frame: make([]byte, 10), Counted: 10}}, {Source: &second.Source, Message: large}})
		p.Pool.Held += rc.Weight + rc.Copied
		p.Snapshots().AddToRing(rc)
		p.Ring.DropOldest()
		if !p.Latched.Holds(&first.Source) || p.Latched.Holds(&second.Source) || p.Pool.Latched != 10 {
			t.Errorf("%s: remembered: %v and %v, %d bytes; want the first", name, p.Latched.Holds(&first.Source), p.Latched.Holds(&second.Source), p.Pool.Latched)
		}
	}
}

// TestLatchedChunkOfASnapshot: the memory of a chunk that latched messages refer to counts for them
// when the snapshot is done with it, not before.
func TestLatchedChunkOfASnapshot(t *testing.T) {
	t.Parallel()
	p := ringOf(0, time.Now())
	c := latchingConnection(p, "/a")
	p.Snapshots().AddToRing(latchedChunk(p, c, -1))
	p.Pool.Latched = 9000 // more than there may be
	chunks := p.Snapshots().TakeRing(&ring.Taking{})
	if !p.Latched.Holds(&c.Source) {
		t.Error("let go with the ring")
	}
	p.Pool.Latched = 0
	p.Snapshots().GiveBack(chunks[0])
	if !p.Latched.Holds(&c.Source) || p.Pool.Latched != 100 {
		t.Errorf("remembered: %v, %d bytes", p.Latched.Holds(&c.Source), p.Pool.Latched)
	}
}
