package recorder

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// toRingChunk takes over a sealed chunk that the recording is done with. A record that does
// not fill its buffer well, because it is packed or was sealed young, gets memory of
// its own, so that the ring reaches far back.
func (in *intake) toRingChunk(c *memory.Chunk) ring.Chunk {
	all := in.latchedIn(c)
	rc := in.takeOver(c)
	in.ring.Note(&rc, all)
	return rc
}

// takeOver is toRingChunk without the latched messages.
func (in *intake) takeOver(c *memory.Chunk) ring.Chunk {
	rc := ring.Chunk{SealedChunk: c.Sealed, Chunk: c, FirstAt: c.FirstAt, LastAt: c.LastAt}
	n := len(c.Sealed.Record)
	in.mu.Lock()
	rc.Weight = c.Counted
	if 4*int64(n) >= 3*c.Counted {
		in.mu.Unlock()
		return rc
	}
	rc.Memory = in.ring.MemoryFor(n) // counted already
	if rc.Memory == nil {
		// The chunks of a requested snapshot must not displace each other: this chunk comes back in a moment.
		if (in.ring.Pending == 0 || n > 2*in.pool.ChunkBytes) && !in.pool.MakeRoom(int64(n), memory.ForAny) {
			in.mu.Unlock()
			return rc // all memory waits for the disk
		}
		rc.Memory = make([]byte, 0, n)
		in.pool.Use(int64(n))
	}
	in.mu.Unlock()
	own := *c.Sealed // which goes back with its chunk
	rc.Memory = append(rc.Memory, own.Record...)
	own.Record, own.Counts, own.PayloadBytes = rc.Memory, slices.Clone(own.Counts), slices.Clone(own.PayloadBytes)
	rc.SealedChunk, rc.Weight, rc.Chunk = &own, int64(cap(rc.Memory)), nil
	in.release(c)
	return rc
}

// addToRing adds a chunk that the recording is done with.
func (in *intake) addToRing(c ring.Chunk) {
	in.mu.Lock()
	in.ring.Add(c)
	in.pool.Signal() // what was queued is room now
	in.mu.Unlock()
}

// freshChunk returns a buffer for n bytes, or nil.
func (in *intake) freshChunk(n int) *memory.Chunk {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pool.Get(n, n)
}

// giveBack takes the memory of a chunk back.
func (in *intake) giveBack(c ring.Chunk) {
	in.mu.Lock()
	in.ring.Recycle(c)
	in.mu.Unlock()
}

// count brings the account of a chunk up to date that has grown.
func (in *intake) count(c *memory.Chunk) {
	in.mu.Lock()
	in.pool.Count(c)
	in.mu.Unlock()
}

// prolong moves the end of a post-roll that goes on, and returns that snapshot, or nil.
func (in *intake) prolong(now time.Time) (*ring.Taking, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return nil, ErrNotRecording
	}
	if in.ring.Due(now) {
		in.endSnapshot()
	}
	in.ring.Prolong(now)
	return in.ring.Current, nil
}

// snapshotsTaken returns how many snapshots have begun.
func (in *intake) snapshotsTaken() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ring.Taken
}

// beginSnapshot makes all that was received until now, and the post-roll, part of sn.
// It reports whether the recording still goes on.
func (in *intake) beginSnapshot(sn *ring.Taking) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return false
	}
	in.sealOpen()
	sn.State = latch.AtTrigger(in.sources())
	in.ring.Begin(sn)
	in.enqueue(&command{kind: commandSnapshot, snapshot: sn})
	if in.ring.PostRoll == 0 {
		in.endSnapshot()
		return true
	}
	for _, c := range in.connections.all {
		if c.stored > 0 { // its record may be in a chunk that has gone
			sn.Conns = append(sn.Conns, c.Conn)
		}
	}
	return true
}

// requestSnapshot keeps what the ring holds for a snapshot that waits for its turn.
func (in *intake) requestSnapshot(at time.Time) {
	in.mu.Lock()
	in.ring.Request(at)
	in.mu.Unlock()
}

// endRequest ends that.
func (in *intake) endRequest() {
	in.mu.Lock()
	in.ring.Requested = time.Time{}
	in.mu.Unlock()
}

// takeRing gives the ring to a snapshot.
func (in *intake) takeRing(sn *ring.Taking) []ring.Chunk {
	in.mu.Lock()
	chunks := in.ring.TakeFor(sn)
	in.pool.Signal() // what was kept for the snapshot may be displaced now
	in.mu.Unlock()
	return chunks
}

// snapshotClosed notes that the file of a snapshot is complete.
func (in *intake) snapshotClosed() {
	in.mu.Lock()
	in.ring.Unfinished--
	in.mu.Unlock()
}

// endSnapshot ends the one that is being taken, if there is one, with what was received
// until now. mu is held.
func (in *intake) endSnapshot() {
	if sn := in.ring.End(); sn != nil {
		in.sealOpen()
		in.enqueue(&command{kind: commandEndSnapshot, snapshot: sn})
	}
}

// warnShort warns once that memory does not reach as far back as was asked for, and
// again if it did meanwhile.
func (in *intake) warnShort(now time.Time) {
	if in.ring == nil || in.ring.Window == 0 {
		return
	}
	in.mu.Lock()
	short, reach := in.ring.TakeShort(now)
	in.mu.Unlock()
	if short {
		in.log.Warn("memory does not hold as much as snapshots are to begin with: give more, or compress",
			zap.Duration("wanted", in.ring.Window), zap.Duration("held", reach.Round(time.Millisecond)), zap.Int64("bytes", in.ring.Most))
	}
}

// snapshotFigures returns the account of the ring. mu is held.
func (in *intake) snapshotFigures(now time.Time) snapshotFigures {
	r := in.ring
	if r == nil {
		return snapshotFigures{}
	}
	f := snapshotFigures{on: true, only: r.Only, held: r.Reach(now), bytes: r.Bytes, most: r.Most, taken: r.Taken}
	if r.Window > 0 {
		f.held = min(f.held, r.Window)
	}
	if r.Current != nil {
		f.file = r.Current.Target()
	}
	return f
}

// recorded returns what of t is in bags, or about to be. mu is held.
func (in *intake) recorded(t *topic) tally {
	if in.ring.IsOnly() {
		return t.written
	}
	return t.tally
}
