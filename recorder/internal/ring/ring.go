// Package ring keeps sealed chunks for a snapshot, and knows which snapshot takes them. The package is
// pure: the caller has the lock of the intake. Only the intake calls it; the writer of a snapshot owns
// the Snapshot and its chunks.
//
// Decisions: ADR 0031.
package ring

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options says how far back a snapshot reaches, and how long it goes on.
type Options struct {
	Most     int64         // bytes of the ring
	Window   time.Duration // how far back a snapshot reaches at most; zero means as far as there is memory
	PostRoll time.Duration // how long messages after the trigger belong to the snapshot
	Only     bool          // nothing is written but snapshots
}

// Ring has the chunks with which a snapshot would begin: the latest ones, the oldest first. It knows
// which snapshot is in its post-roll. Memory of the ring can be reclaimed at any time.
type Ring struct {
	o       Options
	mem     *memory.Memory
	latched *latch.Store
	chunks  []*latch.Chunk
	bytes   int64
	// memory of chunks that fell out, to be used again
	spare [][]byte
	// a part of the window was reclaimed since TakeShortage looked
	short bool
	// TakeShortage has returned a shortage, and the ring has not reached back to the window since
	warned bool

	current    *Snapshot // the snapshot in its post-roll; nil for none
	until      time.Time // when the post-roll ends
	pending    int       // snapshots that have begun and do not have the chunks of the ring yet
	requested  time.Time // the first trigger of a snapshot that waits for its turn; zero for none
	taken      int       // number of snapshots that have begun
	unfinished int       // snapshots whose file is not complete
}

// Snapshot is what the ring gives to a snapshot. It travels in commands to the writer of the snapshot, which
// owns all fields.
type Snapshot struct {
	At     time.Time            // when the first trigger came
	Last   time.Time            // when the last trigger came before the snapshot began
	From   time.Time            // messages from before this time are left out; zero leaves out none
	State  latch.State          // what is latched where the snapshot begins
	Conns  []*rosbag.Connection // connections whose records may be needed at the beginning
	Target func() string        // returns the final name of the bag
	Job    any                  // the writer's own value for the snapshot
}

// NeedRecords notes connections whose records the snapshot may need at its beginning.
func (sn *Snapshot) NeedRecords(conns []*rosbag.Connection) { sn.Conns = append(sn.Conns, conns...) }

// New returns an empty ring. Whoever makes it gives it to the memory as a memory.Reserve, and its method
// Free to the store of latched messages.
func New(o Options, mem *memory.Memory, latched *latch.Store) *Ring {
	return &Ring{o: o, mem: mem, latched: latched}
}

// MaxSpare is how many pieces of memory the ring keeps to use again.
const MaxSpare = 4

// push adds a chunk as the newest.
func (r *Ring) push(c *latch.Chunk) {
	r.chunks = append(r.chunks, c)
	r.bytes += c.Bytes()
}

// reach returns how far back the ring reaches.
func (r *Ring) reach(now time.Time) time.Duration {
	if len(r.chunks) == 0 {
		return 0
	}
	return now.Sub(r.chunks[0].FirstAt())
}

// Free takes back the memory of a chunk to which no latched message refers any more.
func (r *Ring) Free(c *latch.Chunk) {
	if c.Buffer() != nil {
		r.mem.Put(c.Buffer())
		return
	}
	if len(r.spare) < MaxSpare && r.mem.Fits(0) {
		r.spare = append(r.spare, c.Memory())
	} else {
		r.mem.Unuse(c.Weight())
	}
}

// Add adds a chunk, and drops the oldest chunks that are outside the window or beyond the bound of the ring.
func (r *Ring) Add(c *latch.Chunk) {
	r.push(c)
	if c.Buffer() != nil {
		r.mem.Retire(c.Buffer())
	}
	r.expire(c.LastAt())
	for r.bytes > r.o.Most {
		r.short = true
		r.dropOldest()
	}
}

// expire drops the chunks that came wholly before the window.
func (r *Ring) expire(now time.Time) {
	if at := r.requested; !at.IsZero() && now.After(at) {
		now = at
	}
	for r.o.Window > 0 && len(r.chunks) > 0 && now.Sub(r.chunks[0].LastAt()) > r.o.Window {
		r.dropOldest()
	}
}

// Held returns the bytes that count for the ring, which may be nil.
func (r *Ring) Held() int64 {
	if r == nil {
		return 0
	}
	n := r.bytes
	for _, m := range r.spare {
		n += int64(cap(m))
	}
	return n
}

// Reclaimable implements memory.Reserve.
func (r *Ring) Reclaimable() int64 {
	if r.pending > 0 && r.o.Only {
		return 0
	}
	return r.Held()
}

// Reclaim implements memory.Reserve. Where links wait, new messages get memory of the ring only while
// what they fill is within their own quarter: what waits for the compressors is as good as in the
// ring. The chunks of a snapshot that was just requested are not given up for what comes after it,
// unless there is a recording beside it, nor for a large message: that memory comes back when the
// snapshot is written.
func (r *Ring) Reclaim(why memory.Purpose, filled int64) bool {
	switch {
	case why == memory.ForLarge && r.pending > 0:
		return false
	case why == memory.ForMessages && r.mem.Blocks() && filled > r.mem.Budget()-r.o.Most:
		return false
	case why == memory.ForMessages && r.pending > 0 && (r.mem.Blocks() || r.o.Only):
		return false
	case len(r.spare) > 0:
		last := len(r.spare) - 1
		r.mem.Unuse(int64(cap(r.spare[last])))
		r.spare = slices.Delete(r.spare, last, last+1)
		return true
	case len(r.chunks) > 0:
		r.short = true
		r.dropOldest()
		return true
	}
	return false
}

// dropOldest drops the oldest chunk. Its latched messages become part of the state before the ring.
func (r *Ring) dropOldest() {
	oldest := r.chunks[0]
	r.bytes -= oldest.Bytes()
	r.chunks[0] = nil
	r.chunks = r.chunks[1:]
	r.latched.Pass(oldest)
	r.latched.Leave(oldest)
}

// IsOnly reports whether nothing is written but snapshots.
func (r *Ring) IsOnly() bool { return r != nil && r.o.Only }

// Writing reports whether the file of a snapshot is not complete.
func (r *Ring) Writing() bool { return r != nil && r.unfinished > 0 }

// Due reports whether a message that is received at now comes after the post-roll.
func (r *Ring) Due(now time.Time) bool {
	return r != nil && r.current != nil && !now.Before(r.until)
}

// Trigger extends the post-roll in progress. If there is none, the ring keeps the window before the first
// trigger for the next snapshot.
func (r *Ring) Trigger(at time.Time) {
	switch end := at.Add(r.o.PostRoll); {
	case r.current == nil && r.requested.IsZero():
		r.requested = at
	case r.current != nil && end.After(r.until):
		r.until = end
	}
}

// Begin makes sn, which begins with the state, the snapshot that chunks belong to from now on. It reports
// whether a post-roll begins; otherwise the caller ends the snapshot at once.
func (r *Ring) Begin(sn *Snapshot, state latch.State) (postRoll bool) {
	sn.State = state
	if r.o.Window > 0 {
		sn.From = sn.At.Add(-r.o.Window)
	}
	r.requested = time.Time{}
	r.taken++
	r.pending++
	r.unfinished++
	r.current, r.until = sn, sn.Last.Add(r.o.PostRoll)
	return r.o.PostRoll > 0
}

// RequestEnded notes that no snapshot begins for the triggers until now: the ring gives up chunks again.
func (r *Ring) RequestEnded() { r.requested = time.Time{} }

// FileCompleted notes that a snapshot is complete in its file.
func (r *Ring) FileCompleted() { r.unfinished-- }

// InPostRoll returns the snapshot in its post-roll; nil for none.
func (r *Ring) InPostRoll() *Snapshot { return r.current }

// SnapshotsBegun returns how many snapshots have begun.
func (r *Ring) SnapshotsBegun() int { return r.taken }

// End ends the post-roll, and returns its snapshot; nil if there is none.
func (r *Ring) End() *Snapshot {
	if r == nil {
		return nil
	}
	sn := r.current
	r.current = nil
	return sn
}

// TakeFor gives all chunks to a snapshot, and the state before the ring.
func (r *Ring) TakeFor(sn *Snapshot) []*latch.Chunk {
	r.expire(sn.At)
	r.latched.AddBeforeRing(&sn.State)
	chunks := r.chunks
	r.chunks, r.bytes = nil, 0
	for _, c := range chunks {
		r.latched.Pass(c)
	}
	r.pending--
	return chunks
}

// Needs reports whether a chunk of the ring may have messages of a connection whose latest message
// came at that time.
func (r *Ring) Needs(latest time.Time) bool {
	return r != nil && len(r.chunks) > 0 && !latest.Before(r.chunks[0].FirstAt())
}
