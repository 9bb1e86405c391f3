package latch

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// copyOf is a note of c with a copy that counts so many bytes.
func copyOf(c *Source, counted int64) *Message {
	return &Message{source: c, frame: make([]byte, counted), holders: 1, counted: counted}
}

// inRing counts a chunk of 100 bytes in the ring with the given latched messages: copies, or references to the chunk.
func (w *world) inRing(copied bool, latched ...*Message) *Chunk {
	c := &Chunk{sealed: new(chunk.Sealed), memory: make([]byte, 0, 100), weight: 100}
	c.SetLatched(latched, copied)
	w.mem.Use(c.Bytes())
	return c
}

// drop lets a chunk leave the ring.
func (w *world) drop(c *Chunk) {
	w.Pass(c)
	w.Leave(c)
}

// sealed returns a chunk with one message for each given source, in that order.
func sealed(t *testing.T, frames func(i int) []byte, of ...*Source) *memory.Chunk {
	t.Helper()
	c := new(memory.Chunk)
	c.Builder().Reset(nil)
	for i, s := range of {
		c.Builder().AppendRun(s.conn, rosbag.Time{Sec: uint32(i)}, frames(i), 1)
	}
	if err := c.Seal(nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLatchedIn: these are the last messages of the latching connections in a chunk, the latest first. They
// count their copies.
func TestLatchedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(-1)
	a, b, plain := source(0, "/a"), source(1, "/b"), source(2, "/c")
	frames := func(i int) []byte { return frame(10+i, byte(i)) }
	c := sealed(t, frames, a, b, a, plain)
	latched, counted := w.LatchedIn(c, map[rosbag.ConnID]*Source{0: a, 1: b})
	if len(latched) != 2 || latched[0].source != a || latched[1].source != b || !bytes.Equal(latched[0].frame, frames(2)) || !bytes.Equal(latched[1].frame, frames(1)) {
		t.Fatalf("%d latched messages: %+v", len(latched), latched)
	}
	if want := int64(2*Overhead + 2*(4+12) + 2*(4+11)); counted != want {
		t.Errorf("the copies count %d bytes, want %d", counted, want)
	}
	kept := InBuffer(c, 5000)
	if kept.SetLatched(latched, true); kept.Bytes() != 5000+counted {
		t.Errorf("a chunk with copies counts %d bytes", kept.Bytes())
	}
	if kept.SetLatched(latched, false); kept.Bytes() != 5000 {
		t.Errorf("a chunk that latched messages refer to counts %d bytes", kept.Bytes())
	}
	if none, counted := w.LatchedIn(c, nil); none != nil || counted != 0 {
		t.Errorf("without latching connections: %d latched messages that count %d bytes", len(none), counted)
	}
}

// TestCopiesOutliveTheirBuffer: latched messages that are copied stay when the buffer of their chunk is used again.
func TestCopiesOutliveTheirBuffer(t *testing.T) {
	t.Parallel()
	w, a := newWorld(-1), source(0, "/a")
	c := sealed(t, func(int) []byte { return frame(10, 1) }, a)
	latched, _ := w.LatchedIn(c, map[rosbag.ConnID]*Source{0: a})
	kept := InMemory(c.Sealed(), make([]byte, 0, len(c.Sealed().Record)+7), time.Time{}, time.Time{})
	kept.SetLatched(latched, true)
	c.Builder().Reset(nil)
	c.Builder().AppendRun(a.conn, rosbag.Time{}, frame(10, 9), 1)
	if !bytes.Equal(latched[0].frame, frame(10, 1)) {
		t.Errorf("the copy is %v now", latched[0].frame)
	}
	for m, err := range kept.sealed.Messages() {
		if err != nil || !bytes.Equal(m.Frame, frame(10, 1)) {
			t.Errorf("the chunk has %v now, %v", m.Frame, err)
		}
	}
	if kept.buffer != nil || kept.weight != int64(len(kept.sealed.Record)+7) || kept.MessageCount() != 1 {
		t.Errorf("a chunk in memory of its own counts %d bytes and has %d messages", kept.weight, kept.MessageCount())
	}
	if whole := InBuffer(c, 5000); whole.buffer != c || whole.weight != 5000 || whole.memory != nil {
		t.Errorf("a chunk in its buffer: %+v", whole)
	}
}

// TestStateBeforeTheRingIsBounded: it may have half of what a shared chunk leaves, together with the latest
// messages, and these come first.
func TestStateBeforeTheRingIsBounded(t *testing.T) {
	t.Parallel()
	const half = (10_000 - chunkBytes) / 2
	for name, tc := range map[string]struct {
		bytes  int64 // of a copy; negative: the note refers to its chunk
		others int64 // bytes of other latched messages
		want   bool
	}{
		"a copy":            {half, 0, true},
		"too large a copy":  {half + 1, 0, false},
		"beside others":     {10, half - 10, true},
		"a byte too many":   {10, half - 9, false},
		"a chunk":           {-1, half - 100, true},
		"too large a chunk": {-1, half - 99, false},
	} {
		w, of := newWorld(10_000), source(0, "/a")
		w.mem.UseLatched(tc.others)
		left := max(tc.bytes, 0)
		c := w.inRing(tc.bytes >= 0, copyOf(of, left))
		if tc.bytes < 0 {
			left = 100
		}
		w.check(t, name+", in the ring", tc.others+100+max(tc.bytes, 0), tc.others)
		if w.drop(c); !tc.want {
			left = 0
		}
		if w.check(t, name, tc.others+left, tc.others+left); w.Holds(of) != tc.want {
			t.Errorf("%s: the message is remembered: %v, want %v", name, w.Holds(of), tc.want)
		}
		if told := w.TakeShortage() != (Shortage{}); told == tc.want {
			t.Errorf("%s: told: %v", name, told)
		}
		w.ForgetBeforeRing(of)
		if w.check(t, name+", forgotten", tc.others, tc.others); w.Holds(of) || len(w.freed) != 1 {
			t.Errorf("%s: forgotten: %v, %d chunks freed", name, !w.Holds(of), len(w.freed))
		}
	}
}

// TestLatestMessageComesFirst: the state before the ring is forgotten for a later message, if that fits then.
func TestLatestMessageComesFirst(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bytes   int
		writing bool // a snapshot has the state before the ring, too
		want    bool
	}{
		"beside the state":              {1925, false, true},
		"in place of the state":         {2475, false, true},
		"a byte too many":               {2476, false, false},
		"beside the state in use":       {1925, true, true},
		"in place of what stays in use": {1926, true, false},
	} {
		w := newWorld(10_000)
		a, b, c := source(0, "/a"), source(1, "/b"), source(2, "/c")
		w.drop(w.inRing(true, copyOf(a, 1000)))
		w.drop(w.inRing(false, copyOf(b, 0)))
		w.check(t, name+", before", 1100, 1100)
		var s State
		if tc.writing {
			w.AddBeforeRing(&s)
		}
		w.Remember(c, make([]byte, tc.bytes))
		yielded := tc.want && tc.bytes > 1925
		if w.Holds(c) != tc.want || w.Holds(a) == yielded || w.Holds(b) == yielded {
			t.Errorf("%s: remembered: %v, want %v; those before: %v and %v", name, w.Holds(c), tc.want, w.Holds(a), w.Holds(b))
		}
		w.End(&s)
		w.ForgetBeforeRing(a)
		w.ForgetBeforeRing(b)
		w.Forget(c)
		w.check(t, name+", at the end", 0, 0)
	}
}

// TestChunkInUseDoesNotYield: the memory of a chunk does not come back with one of two messages that refer to the
// chunk, nor while a snapshot has the chunk.
func TestChunkInUseDoesNotYield(t *testing.T) {
	t.Parallel()
	for name, needed := range map[string]func(w *world, c *Chunk, b *Source){
		"nobody":          func(w *world, c *Chunk, _ *Source) { w.Leave(c) },
		"another message": func(w *world, c *Chunk, b *Source) { w.Leave(c); w.beforeRing[b].retain() },
		"a snapshot":      func(w *world, _ *Chunk, _ *Source) { w.mem.ToLatched(100) }, // as much as in the other cases
	} {
		w, a, b, c := newWorld(10_000), source(0, "/a"), source(1, "/b"), source(2, "/c")
		kept := w.inRing(false, copyOf(a, 0), copyOf(b, 0))
		w.Pass(kept)
		needed(w, kept, b)
		w.Remember(c, make([]byte, 2475)) // half of what a shared chunk leaves
		if want := name == "nobody"; w.Holds(c) != want || w.Holds(a) == want {
			t.Errorf("needed by %s: the later message is remembered: %v, the one before: %v", name, w.Holds(c), w.Holds(a))
		}
	}
}

// TestChunkCountsOnce: a chunk that several messages refer to counts once, until the last of them is
// released, and not before whoever had the chunk is done with it.
func TestChunkCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(10_000)
	a, b := source(0, "/a"), source(1, "/b")
	c := w.inRing(false, copyOf(a, 0), copyOf(b, 0))
	w.Pass(c)
	w.check(t, "with a snapshot", 100, 0)
	w.Leave(c)
	w.check(t, "alone", 100, 100)
	w.ForgetBeforeRing(a)
	var s State
	w.AddBeforeRing(&s)
	w.ForgetBeforeRing(b)
	if w.check(t, "needed by the next snapshot", 100, 100); len(s.recorded) != 1 || s.recorded[0].source != b {
		t.Errorf("the snapshot begins with %d messages", len(s.recorded))
	}
	w.End(&s)
	if w.check(t, "at the end", 0, 0); len(w.freed) != 1 || w.freed[0] != c {
		t.Errorf("%d chunks are freed", len(w.freed))
	}
}

// TestChunkThatNobodyRefersTo is freed when it leaves the ring.
func TestChunkThatNobodyRefersTo(t *testing.T) {
	t.Parallel()
	w, a := newWorld(10_000), source(0, "/a")
	w.drop(w.inRing(true, copyOf(a, 10)))
	w.check(t, "with a copy", 10, 10)
	c := w.inRing(false, copyOf(a, 0))
	w.Pass(c)
	w.drop(w.inRing(true, copyOf(a, 20))) // a later message: the note is forgotten while a snapshot has its chunk
	w.Leave(c)
	if w.check(t, "superseded", 20, 20); len(w.freed) != 3 {
		t.Errorf("%d of 3 chunks are freed", len(w.freed))
	}
}

// TestChunkInABufferIsRetired: a chunk whose messages outlive its time in the ring does not wait for the
// disk any more.
func TestChunkInABufferIsRetired(t *testing.T) {
	t.Parallel()
	w, a := newWorld(-1), source(0, "/a")
	buffer := w.mem.Open()
	buffer.Builder().Reset(nil)
	buffer.Builder().AppendRun(a.conn, rosbag.Time{}, frame(50, 1), 1)
	var topic memory.Account
	buffer.Add(&topic, 50)
	w.mem.Charge(buffer)
	buffer.Seal(nil)
	c := InBuffer(buffer, buffer.Counted())
	c.SetLatched([]*Message{copyOf(a, 0)}, false)
	if w.drop(c); w.mem.Usage().Waiting != 0 || topic.Waiting() != 0 || w.mem.Usage().Shared != 0 {
		t.Errorf("%d bytes wait for the disk, %d of the topic; %d shared chunks", w.mem.Usage().Waiting, topic.Waiting(), w.mem.Usage().Shared)
	}
}

// TestOneMessageIsLetGo, and not an earlier one in the same chunk: its connection is released, or there is no
// memory for it.
func TestOneMessageIsLetGo(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"released": true, "too large": false} {
		w := newWorld(10_000)
		first, second := source(0, "/a"), source(1, "/b")
		bytes := int64(9000)
		if second.released = released; released {
			bytes = 10
		}
		w.drop(w.inRing(true, copyOf(second, bytes), copyOf(first, 10))) // the latest first
		if w.check(t, name, 10, 10); !w.Holds(first) || w.Holds(second) {
			t.Errorf("%s: remembered: %v and %v; want the first", name, w.Holds(first), w.Holds(second))
		}
	}
}

// TestStateBeforeTheRing is the last message of each source, in the order in which they came.
func TestStateBeforeTheRing(t *testing.T) {
	t.Parallel()
	w := newWorld(-1)
	a, b, c := source(0, "/a"), source(1, "/b"), source(2, "/c")
	w.drop(w.inRing(true, copyOf(b, 2), copyOf(a, 1))) // the latest first
	w.drop(w.inRing(true, copyOf(a, 4), copyOf(c, 3)))
	var s State
	w.AddBeforeRing(&s)
	var got []int
	for _, l := range s.recorded {
		got = append(got, len(l.frame))
	}
	if len(got) != 3 || got[0] != 2 || got[1] != 3 || got[2] != 4 {
		t.Errorf("messages %v, want 2, 3 and 4", got)
	}
}

// holders is who has latched messages beside the store.
type holders struct {
	sources []*Source
	ring    []*Chunk // with latched messages
	taken   []*Chunk // whose latched messages have passed, with snapshots
	files   [][]*Message
	states  []State
}

// check compares what the memory and each message count with what there is.
func (h *holders) check(t *testing.T, w *world) {
	t.Helper()
	counts := map[*Message]int{}
	for _, all := range h.files {
		for _, l := range all {
			counts[l]++
		}
	}
	for _, s := range h.states {
		for _, l := range slices.Concat(s.atTrigger, s.recorded) {
			counts[l]++
		}
	}
	for _, c := range h.sources {
		if c.last != nil {
			counts[c.last]++
		}
		if l := w.beforeRing[c]; l != nil {
			counts[l]++
		}
	}
	var latched, others int64
	alone := map[*Chunk]bool{}
	for l, n := range counts {
		if l.holders != n {
			t.Fatalf("a message counts %d holders, and there are %d", l.holders, n)
		}
		if latched += l.counted; l.chunk != nil && l.chunk.left && !alone[l.chunk] {
			alone[l.chunk] = true
			latched += l.chunk.weight
		}
	}
	for _, c := range slices.Concat(h.ring, h.taken) {
		others += c.Bytes()
	}
	w.check(t, "after all that", latched+others, latched)
}

// TestEveryByteCountsOnce, whatever happens in whatever order, and all bytes are given back.
func TestEveryByteCountsOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		w := newWorld([]int64{3000, 10_000, -1}[seed%3])
		var h holders
		for i := range 4 {
			h.sources = append(h.sources, source(rosbag.ConnID(i), string(rune('a'+i/2))))
		}
		for range 400 {
			c := h.sources[rnd.IntN(len(h.sources))]
			switch rnd.IntN(8) {
			case 0:
				w.Remember(c, make([]byte, rnd.IntN(400)))
			case 1:
				w.Forget(c)
			case 2:
				w.ForgetBeforeRing(c)
			case 3, 4:
				h.ring = append(h.ring, w.inRing(rnd.IntN(2) == 0, copyOf(c, int64(rnd.IntN(400)))))
			case 5:
				if len(h.ring) > 0 {
					w.drop(h.ring[0])
					h.ring = h.ring[1:]
				}
			case 6:
				all, _ := w.AtFile(h.sources, false)
				h.files = append(h.files, all)
				s := AtTrigger(h.sources)
				w.AddBeforeRing(&s)
				for _, c := range h.ring {
					w.Pass(c)
				}
				h.states, h.taken, h.ring = append(h.states, s), append(h.taken, h.ring...), nil
			case 7:
				h.release(w)
			}
			h.check(t, w)
		}
		h.release(w)
		for _, c := range h.ring {
			w.drop(c)
		}
		for _, c := range h.sources {
			w.Forget(c)
			w.ForgetBeforeRing(c)
		}
		if w.check(t, "at the end", 0, 0); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// release ends all files and snapshots.
func (h *holders) release(w *world) {
	for _, all := range h.files {
		w.Release(all)
	}
	for i := range h.states {
		w.End(&h.states[i])
	}
	for _, c := range h.taken {
		w.Leave(c)
	}
	h.files, h.states, h.taken = nil, nil, nil
}

// TestMemoryForAChunkIsAskedAtTheEnd of its time with a snapshot, not when it leaves the ring.
func TestMemoryForAChunkIsAskedAtTheEnd(t *testing.T) {
	t.Parallel()
	w, a := newWorld(10_000), source(0, "/a")
	c := w.inRing(false, copyOf(a, 0))
	w.mem.UseLatched(9000) // more than there may be
	if w.Pass(c); !w.Holds(a) {
		t.Error("the message is forgotten with the ring")
	}
	w.mem.UnuseLatched(9000)
	w.Leave(c)
	if w.check(t, "afterwards", 100, 100); !w.Holds(a) {
		t.Error("the message is forgotten")
	}
}
