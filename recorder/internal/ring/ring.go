// Package ring keeps sealed chunks for a snapshot, and knows which snapshot takes them. The package is pure: the
// caller has the lock of the intake. Only the intake calls it; the writer of a snapshot owns the Snapshot
// and its chunks.
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

// Ring has the chunks with which a snapshot would begin: the latest ones, the oldest first. It knows which snapshot
// is in its post-roll. Memory of the ring can be reclaimed at any time.
type Ring struct {
	Options
	mem     *memory.Memory
	latched *latch.Store
	Chunks  []*latch.Chunk
	Bytes   int64
	Spare   [][]byte // memory of chunks that fell out, to be used again
	short   bool     // a part of the window was reclaimed since TakeShortage looked
	warned  bool     // TakeShortage has returned a shortage, and the ring has not reached back to the window since

	Current    *Snapshot // the snapshot in its post-roll; nil for none
	until      time.Time // when the post-roll ends
	Pending    int       // snapshots that have begun and do not have the chunks of the ring yet
	Requested  time.Time // the first trigger of a snapshot that waits for its turn; zero for none
	Taken      int       // number of snapshots that have begun
	Unfinished int       // snapshots whose file is not complete
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

// New returns an empty ring, whose memory mem may reclaim.
func New(o Options, mem *memory.Memory, latched *latch.Store) *Ring {
	r := &Ring{Options: o, mem: mem, latched: latched}
	mem.Reserve, latched.Free = r, r.free
	return r
}

// MaxSpare is how many pieces of memory the ring keeps to use again.
const MaxSpare = 4

// push adds a chunk as the newest.
func (r *Ring) push(c *latch.Chunk) {
	r.Chunks = append(r.Chunks, c)
	r.Bytes += c.Bytes()
}

// reach returns how far back the ring reaches.
func (r *Ring) reach(now time.Time) time.Duration {
	if len(r.Chunks) == 0 {
		return 0
	}
	return now.Sub(r.Chunks[0].FirstAt)
}

// free takes back the memory of a chunk to which no latched message refers.
func (r *Ring) free(c *latch.Chunk) {
	if c.Buffer != nil {
		r.mem.Put(c.Buffer)
		return
	}
	if len(r.Spare) < MaxSpare && r.mem.Fits(0) {
		r.Spare = append(r.Spare, c.Memory)
	} else {
		r.mem.Unuse(c.Weight)
	}
}

// Add adds a chunk, and drops the oldest chunks that are outside the window or beyond the bound of the ring.
func (r *Ring) Add(c *latch.Chunk) {
	r.push(c)
	if c.Buffer != nil {
		r.mem.Retire(c.Buffer)
	}
	r.expire(c.LastAt)
	for r.Bytes > r.Most {
		r.short = true
		r.dropOldest()
	}
}

// expire drops the chunks that came wholly before the window.
func (r *Ring) expire(now time.Time) {
	if at := r.Requested; !at.IsZero() && now.After(at) {
		now = at
	}
	for r.Window > 0 && len(r.Chunks) > 0 && now.Sub(r.Chunks[0].LastAt) > r.Window {
		r.dropOldest()
	}
}

// Held returns the bytes that count for the ring, which may be nil.
func (r *Ring) Held() int64 {
	if r == nil {
		return 0
	}
	n := r.Bytes
	for _, m := range r.Spare {
		n += int64(cap(m))
	}
	return n
}

// Reclaimable implements memory.Reserve.
func (r *Ring) Reclaimable() int64 {
	if r.Pending > 0 && r.Only {
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
	case why == memory.ForLarge && r.Pending > 0:
		return false
	case why == memory.ForMessages && r.mem.Blocks && filled > r.mem.Budget-r.Most:
		return false
	case why == memory.ForMessages && r.Pending > 0 && (r.mem.Blocks || r.Only):
		return false
	case len(r.Spare) > 0:
		last := len(r.Spare) - 1
		r.mem.Unuse(int64(cap(r.Spare[last])))
		r.Spare = slices.Delete(r.Spare, last, last+1)
		return true
	case len(r.Chunks) > 0:
		r.short = true
		r.dropOldest()
		return true
	}
	return false
}

// dropOldest drops the oldest chunk. Its latched messages become part of the state before the ring.
func (r *Ring) dropOldest() {
	oldest := r.Chunks[0]
	r.Bytes -= oldest.Bytes()
	r.Chunks[0] = nil
	r.Chunks = r.Chunks[1:]
	r.latched.Pass(oldest)
	r.latched.Leave(oldest)
}

// IsOnly reports whether nothing is written but snapshots.
func (r *Ring) IsOnly() bool { return r != nil && r.Only }

// Writing reports whether the file of a snapshot is not complete.
func (r *Ring) Writing() bool { return r != nil && r.Unfinished > 0 }

// Due reports whether a message that is received at now comes after the post-roll.
func (r *Ring) Due(now time.Time) bool {
	return r != nil && r.Current != nil && !now.Before(r.until)
}

// Trigger extends the post-roll in progress. If there is none, the ring keeps the window before the first trigger for
// the next snapshot.
func (r *Ring) Trigger(at time.Time) {
	switch end := at.Add(r.PostRoll); {
	case r.Current == nil && r.Requested.IsZero():
		r.Requested = at
	case r.Current != nil && end.After(r.until):
		r.until = end
	}
}

// Begin makes sn the snapshot that chunks belong to from now on.
func (r *Ring) Begin(sn *Snapshot) {
	if r.Window > 0 {
		sn.From = sn.At.Add(-r.Window)
	}
	r.Requested = time.Time{}
	r.Taken++
	r.Pending++
	r.Unfinished++
	r.Current, r.until = sn, sn.Last.Add(r.PostRoll)
}

// End ends the post-roll, and returns its snapshot; nil if there is none.
func (r *Ring) End() *Snapshot {
	if r == nil {
		return nil
	}
	sn := r.Current
	r.Current = nil
	return sn
}

// TakeFor gives all chunks to a snapshot, and the state before the ring.
func (r *Ring) TakeFor(sn *Snapshot) []*latch.Chunk {
	r.expire(sn.At)
	r.latched.AddBeforeRing(&sn.State)
	chunks := r.Chunks
	r.Chunks, r.Bytes = nil, 0
	for _, c := range chunks {
		r.latched.Pass(c)
	}
	r.Pending--
	return chunks
}

// Needs reports whether a chunk of the ring may have messages of a connection whose latest message
// came at that time.
func (r *Ring) Needs(latest time.Time) bool {
	return r != nil && len(r.Chunks) > 0 && !latest.Before(r.Chunks[0].FirstAt)
}
