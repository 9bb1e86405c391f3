package recorder

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// ringChunk is a sealed chunk that waits in memory for a snapshot.
type ringChunk struct {
	*bagfmt.SealedChunk
	chunk   *memory.Chunk // that the record is part of; nil when it is in memory of its own
	memory  []byte        // of its own
	weight  int64         // bytes that the memory counts for it
	firstAt time.Time     // when its first message came
	lastAt  time.Time     // and its last

	latched []pinned   // the last message of each latching connection, until it has left the ring
	copied  int64      // bytes that the memory counts for copies of them
	held    *heldChunk // what those without a copy refer to; nil if there are none
}

// takeNotes returns the latched messages of the chunk, which has none from then on.
func (c *ringChunk) takeNotes() []pinned {
	notes := c.latched
	c.latched, c.copied = nil, 0
	return notes
}

// messages returns how many messages the chunk holds.
func (c *ringChunk) messages() uint64 {
	var n uint64
	for _, m := range c.Counts {
		n += uint64(m.Count)
	}
	return n
}

// ringOptions says what a snapshot begins with, and how long it goes on.
type ringOptions struct {
	most     int64         // bytes of the ring
	window   time.Duration // how far back it reaches at most; zero means as far as there is memory
	postRoll time.Duration // what comes after the trigger belongs to the snapshot, too
	only     bool          // nothing is written but snapshots
}

// ring holds what a snapshot would begin with: the latest chunks, the oldest first. It knows which
// messages belong to the snapshot that is taken. Memory of the ring can be reclaimed at any time.
// The caller has the lock.
type ring struct {
	ringOptions
	mem     *memory.Memory
	latched *latchStore
	chunks  []ringChunk
	bytes   int64
	spare   [][]byte // memory of chunks that fell out, to be used again
	short   bool     // a part of the window was reclaimed since takeShort looked
	warned  bool     // that memory is short

	current    *taking   // whose post-roll goes on; nil for none
	until      time.Time // when that ends
	pending    int       // snapshots that do not have the ring yet
	requested  time.Time // by the first trigger of a snapshot that waits for its turn; zero for none
	taken      int       // snapshots that have begun
	unfinished int       // snapshots whose file is not complete
}

// taking is a snapshot that is taken. It travels in commands to whoever writes the snapshot, who
// owns all fields.
type taking struct {
	at     time.Time            // of the trigger
	last   time.Time            // of the last trigger that came before it began
	from   time.Time            // what came before is not wanted; zero means all is
	state  snapshotState        // what is latched where it begins
	conns  []*bagfmt.Connection // whose records may be needed at the beginning
	target func() string        // returns the final name of its bag
	job    any                  // what the writer knows of it
}

// newRing returns an empty ring, whose memory mem may reclaim.
func newRing(o ringOptions, mem *memory.Memory, latched *latchStore) *ring {
	r := &ring{ringOptions: o, mem: mem, latched: latched}
	mem.Reserve = r
	return r
}

// maxSpare is how many pieces of memory the ring keeps to use again.
const maxSpare = 4

func (r *ring) push(c ringChunk) {
	r.chunks = append(r.chunks, c)
	r.bytes += c.weight + c.copied
}

// reach returns how far back the ring reaches.
func (r *ring) reach(now time.Time) time.Duration {
	if len(r.chunks) == 0 {
		return 0
	}
	return now.Sub(r.chunks[0].firstAt)
}

// takeAll empties the ring.
func (r *ring) takeAll() []ringChunk {
	all := slices.Clone(r.chunks)
	clear(r.chunks)
	r.chunks, r.bytes = r.chunks[:0], 0
	return all
}

// memoryFor returns spare memory that n bytes fill well, or nil.
func (r *ring) memoryFor(n int) []byte {
	for i, m := range r.spare {
		if cap(m) >= n && cap(m) <= n+n/2 {
			r.spare = slices.Delete(r.spare, i, i+1)
			return m[:0]
		}
	}
	return nil
}

// note adds latched messages to a chunk.
func (r *ring) note(c *ringChunk, all []pinned) {
	c.latched = all
	holders := 1
	for _, l := range all {
		c.copied += l.counted
		if l.frame == nil {
			holders++
		}
	}
	if holders == 1 {
		return
	}
	kept := ringChunk{chunk: c.chunk, memory: c.memory, weight: c.weight}
	c.held = &heldChunk{sealed: c.SealedChunk, chunk: c.chunk, weight: c.weight, holders: holders, free: func() { r.free(kept) }}
	for _, l := range all {
		if l.frame == nil {
			l.chunk = c.held
		}
	}
}

// recycle takes the memory of a chunk back.
func (r *ring) recycle(c ringChunk) {
	if c.held == nil || !r.latched.keepHeld(c.held) {
		r.free(c)
	}
}

// free is recycle for a chunk that no latched message refers to.
func (r *ring) free(c ringChunk) {
	if c.chunk != nil {
		r.mem.Put(c.chunk)
		return
	}
	if len(r.spare) == maxSpare || !r.mem.Fits(0) {
		r.mem.Unuse(c.weight)
		return
	}
	r.spare = append(r.spare, c.memory)
}

// keepInRing adds a chunk, and lets go of what is too old or too much.
func (r *ring) keepInRing(c ringChunk) {
	r.push(c)
	if c.chunk != nil {
		r.mem.Retire(c.chunk)
	}
	r.expire(c.lastAt)
	for r.bytes > r.most {
		r.short = true
		r.dropOldest()
	}
}

// expire lets go of chunks that came wholly before the window.
func (r *ring) expire(now time.Time) {
	if at := r.requested; !at.IsZero() && now.After(at) {
		now = at
	}
	for r.window > 0 && len(r.chunks) > 0 && now.Sub(r.chunks[0].lastAt) > r.window {
		r.dropOldest()
	}
}

// reclaimRing gives up memory of the ring, and reports whether there was any.
func (r *ring) reclaimRing() bool {
	switch {
	case len(r.spare) > 0:
		last := len(r.spare) - 1
		r.mem.Unuse(int64(cap(r.spare[last])))
		r.spare[last] = nil
		r.spare = r.spare[:last]
	case len(r.chunks) > 0:
		r.short = true
		r.dropOldest()
	default:
		return false
	}
	return true
}

// Held returns the bytes that count for the ring.
func (r *ring) Held() int64 {
	n := r.bytes
	for _, m := range r.spare {
		n += int64(cap(m))
	}
	return n
}

// Reclaimable implements memory.Reserve.
func (r *ring) Reclaimable() int64 {
	if r.pending > 0 && r.only {
		return 0
	}
	return r.Held()
}

// Reclaim implements memory.Reserve. Where links wait, new messages get memory of the ring only while
// what they fill is within their own quarter: what waits for the compressors is as good as in the
// ring. The chunks of a snapshot that was just requested are not given up for what comes after it,
// unless there is a recording beside it, nor for a large message: that memory comes back when the
// snapshot is written.
func (r *ring) Reclaim(why memory.Purpose, filled int64) bool {
	switch {
	case why == memory.ForLarge && r.pending > 0:
		return false
	case why == memory.ForMessages && r.mem.Blocks && filled > r.mem.Budget-r.most:
		return false
	case why == memory.ForMessages && r.pending > 0 && (r.mem.Blocks || r.only):
		return false
	}
	return r.reclaimRing()
}

// dropOldest lets go of the oldest chunk.
func (r *ring) dropOldest() {
	oldest := r.chunks[0]
	r.bytes -= oldest.weight + oldest.copied
	r.latched.pass(oldest.takeNotes())
	r.chunks[0] = ringChunk{}
	r.chunks = r.chunks[1:]
	r.recycle(oldest)
}

// isOnly reports whether nothing is written but snapshots.
func (r *ring) isOnly() bool { return r != nil && r.only }

// writing reports whether a snapshot is not complete.
func (r *ring) writing() bool { return r != nil && r.unfinished > 0 }

// due reports whether what was received at now comes after the post-roll.
func (r *ring) due(now time.Time) bool {
	return r != nil && r.current != nil && !now.Before(r.until)
}

// prolong moves the end of a post-roll that goes on.
func (r *ring) prolong(now time.Time) {
	if end := now.Add(r.postRoll); r.current != nil && end.After(r.until) {
		r.until = end
	}
}

// begin makes sn the snapshot that is taken.
func (r *ring) begin(sn *taking) {
	if r.window > 0 {
		sn.from = sn.at.Add(-r.window)
	}
	r.requested = time.Time{}
	r.taken++
	r.pending++
	r.unfinished++
	r.current, r.until = sn, sn.last.Add(r.postRoll)
}

// end returns the snapshot that was taken, which is none any more; nil if there was none.
func (r *ring) end() *taking {
	if r == nil {
		return nil
	}
	sn := r.current
	r.current = nil
	return sn
}

// request keeps what the ring holds for a snapshot that waits for its turn.
func (r *ring) request(at time.Time) {
	if r.requested.IsZero() {
		r.requested = at
	}
}

// takeFor gives all chunks to a snapshot, and what is latched before them.
func (r *ring) takeFor(sn *taking) []ringChunk {
	r.expire(sn.at)
	sn.state.atStart = r.latched.pinStart()
	chunks := r.takeAll()
	for i := range chunks {
		r.latched.pass(chunks[i].takeNotes())
	}
	r.pending--
	return chunks
}

// takeShort reports whether memory has not reached back as far as was asked for, once, and again if
// it did meanwhile.
func (r *ring) takeShort(now time.Time) (short bool, reach time.Duration) {
	reach = r.reach(now)
	short = r.short && !r.warned
	r.short = false
	r.warned = (r.warned || short) && reach < r.window
	return short, reach
}

// needs reports whether a chunk of the ring may have messages of a connection whose latest message
// came at that time.
func (r *ring) needs(latest time.Time) bool {
	return r != nil && len(r.chunks) > 0 && !latest.Before(r.chunks[0].firstAt)
}
