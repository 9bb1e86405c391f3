package recorder

import (
	"fmt"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// latchedChunk is a chunk of the ring with a message of a latching connection: a copy of n bytes or,
// for a negative number, none.
func latchedChunk(p *intake, c *connection, n int64) ringChunk {
	rc := ringChunk{SealedChunk: new(bagfmt.SealedChunk), memory: make([]byte, 0, 100), weight: 100}
	l := &latched{}
	if n >= 0 {
		l.frame, l.counted = make([]byte, n), n
	}
	p.pool.Held += 100 + l.counted
	p.ring.note(&rc, []pinned{{&c.source, l}})
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
		p.pool.Latched, p.pool.Held = tc.others, tc.others
		p.ring.keepInRing(latchedChunk(p, c, tc.bytes))
		ring, left := 100+max(tc.bytes, 0), max(tc.bytes, 0)
		if tc.bytes < 0 {
			left = 100
		}
		if p.ring.bytes != ring || p.pool.Latched != tc.others {
			t.Errorf("%s: %d bytes in the ring, want %d; %d latched", name, p.ring.bytes, ring, p.pool.Latched)
		}
		p.pool.SetBudget(10_000)
		p.ring.dropOldest()
		if !tc.want {
			left = 0
		}
		if p.latched.holdsLatched(&c.source) != tc.want || p.pool.Latched != tc.others+left || p.ring.bytes != 0 || p.pool.Held != tc.others+left+p.ring.Held() {
			t.Errorf("%s: it is remembered: %v, want %v; %d bytes latched, %d held", name, p.latched.holdsLatched(&c.source), tc.want, p.pool.Latched, p.pool.Held)
		}
		if p.latched.short == tc.want {
			t.Errorf("%s: warned: %v", name, p.latched.short)
		}
		p.latched.forgetStart(&c.source)
		if p.pool.Latched != tc.others || p.latched.holdsLatched(&c.source) {
			t.Errorf("%s: forgotten, %d bytes latched", name, p.pool.Latched)
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
		p.ring.keepInRing(latchedChunk(p, a, 1000))
		p.ring.keepInRing(latchedChunk(p, b, -1))
		p.ring.dropOldest()
		p.ring.dropOldest()
		if !p.latched.holdsLatched(&a.source) || !p.latched.holdsLatched(&b.source) || p.pool.Latched != 1100 {
			t.Fatalf("%d bytes latched", p.pool.Latched)
		}
		p.latched.rememberLatched(&c.source, make([]byte, n))
		if p.latched.holdsLatched(&c.source) != want || p.latched.holdsLatched(&a.source) == want || p.latched.holdsLatched(&b.source) == want {
			t.Errorf("a message of %d bytes is remembered: %v, want %v; those before: %v, %v", n, p.latched.holdsLatched(&c.source), want, p.latched.holdsLatched(&a.source), p.latched.holdsLatched(&b.source))
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
		rc := ringChunk{SealedChunk: new(bagfmt.SealedChunk), memory: make([]byte, 0, 100), weight: 100}
		p.pool.Held = 100
		p.ring.note(&rc, []pinned{{&a.source, new(latched)}, {&b.source, new(latched)}})
		p.addToRing(rc)
		sn := &taking{}
		if written {
			for _, c := range p.takeRing(sn) {
				if p.pool.Latched != 0 {
					t.Errorf("%d bytes latched while the snapshot has the chunk", p.pool.Latched)
				}
				p.giveBack(c)
			}
		} else {
			p.ring.dropOldest()
		}
		if p.pool.Latched != 100 {
			t.Errorf("%d bytes latched, want 100", p.pool.Latched)
		}
		p.latched.forgetStart(&a.source)
		next := p.latched.pinStart()
		p.latched.forgetStart(&b.source)
		if p.pool.Latched != 100 || len(next) != 1 || next[0].source != &b.source {
			t.Errorf("%d bytes latched that a snapshot needs, want 100", p.pool.Latched)
		}
		p.unpin(next)
		if p.pool.Latched != 0 || p.pool.Held != p.ring.Held() || len(p.ring.spare) != 1 {
			t.Errorf("%d bytes latched, %d held", p.pool.Latched, p.pool.Held)
		}
	}
}

// TestGoneLatchedPublishersLeaveTheRing: of those that came and went the latest ones are remembered,
// and connections of the others released.
func TestGoneLatchedPublishersLeaveTheRing(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PreRoll: time.Second}})
	topic := p.addTopic("/goal")
	now := time.Now()
	for n := range uint32(100) {
		now = now.Add(10 * time.Second)
		l, err := p.openLink(topic, testlink.LatchedInfo("/goal", fmt.Sprintf("/rostopic_%d", n)))
		if err != nil {
			t.Fatal(err)
		}
		l.Frames(testlink.Frame(1, n, 100), 1, now)
		l.Closed(nil)
		if _, err := p.pin(t.Context(), now); err != nil { // behind the chunk
			t.Fatal(err)
		}
		p.tick(now.Add(5 * time.Second))
	}
	p.mu.Lock()
	start, bytes := len(p.latched.start.of), p.pool.Latched
	p.mu.Unlock()
	if _, n := heldByConnections(p); n > keptLatched+1 || start > keptLatched || bytes > 16<<10 {
		t.Errorf("%d connections, %d latched messages from before the ring, %d bytes; want about %d", n, start, bytes, keptLatched)
	}
	closePipeline(t, p)
}

// TestCopiesOfLatchedInTheRing: a chunk in the ring comes with copies of its latched messages where
// these take no more memory than the chunk, and the chunk is kept in their place otherwise.
func TestCopiesOfLatchedInTheRing(t *testing.T) {
	t.Parallel()
	const size = 2000
	p := bareIntake(1<<20, 100)
	addRing(p, ringOptions{})
	c, other := latchingConnection(p, "/a"), latchingConnection(p, "/b")
	other.latching = false
	message := testlink.Frame(1, 1, size)
	counted := int64(latchedOverhead + 2*len(message))
	build := func(filler int) *memory.Chunk {
		return sealedChunk(t, p, recorded{c, bagfmt.Time{}, message}, recorded{other, bagfmt.Time{}, testlink.Frame(1, 1, filler)})
	}
	const some = 100
	beside := int64(len(build(some).Sealed.Record)) - some
	for more, want := range map[int64]bool{-1: false, 0: true, 1: true} {
		all := p.latchedIn(build(int(counted + more - beside)))
		if len(all) != 1 || (all[0].frame != nil) != want || want && all[0].counted != counted {
			t.Errorf("a chunk that takes %d bytes more than the copies: %+v; copied, want %v", more, all[0].latched, want)
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
		p.pool.SetBudget(tc.budget)
		p.ring.pending = tc.pending
		if got := p.claimForRing(100); got != tc.want || len(p.ring.chunks) != tc.chunks {
			t.Errorf("%s: %v, %d chunks are left; want %v, %d", name, got, len(p.ring.chunks), tc.want, tc.chunks)
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
		rc := ringChunk{SealedChunk: new(bagfmt.SealedChunk), memory: make([]byte, 0, 100), weight: 100}
		large := &latched{frame: make([]byte, 9000), counted: 9000}
		if second.released = released; released {
			large.counted = 10
		}
		p.ring.note(&rc, []pinned{{&first.source, &latched{frame: make([]byte, 10), counted: 10}}, {&second.source, large}})
		p.pool.Held += rc.weight + rc.copied
		p.addToRing(rc)
		p.ring.dropOldest()
		if !p.latched.holdsLatched(&first.source) || p.latched.holdsLatched(&second.source) || p.pool.Latched != 10 {
			t.Errorf("%s: remembered: %v and %v, %d bytes; want the first", name, p.latched.holdsLatched(&first.source), p.latched.holdsLatched(&second.source), p.pool.Latched)
		}
	}
}

// TestLatchedChunkOfASnapshot: the memory of a chunk that latched messages refer to counts for them
// when the snapshot is done with it, not before.
func TestLatchedChunkOfASnapshot(t *testing.T) {
	t.Parallel()
	p := ringOf(0, time.Now())
	c := latchingConnection(p, "/a")
	p.addToRing(latchedChunk(p, c, -1))
	p.pool.Latched = 9000 // more than there may be
	chunks := p.takeRing(&taking{})
	if !p.latched.holdsLatched(&c.source) {
		t.Error("let go with the ring")
	}
	p.pool.Latched = 0
	p.giveBack(chunks[0])
	if !p.latched.holdsLatched(&c.source) || p.pool.Latched != 100 {
		t.Errorf("remembered: %v, %d bytes", p.latched.holdsLatched(&c.source), p.pool.Latched)
	}
}
