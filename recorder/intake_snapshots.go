package recorder

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// toRingChunk takes over a sealed chunk that the recording is done with. A record that does
// not fill its buffer well, because it is packed or was sealed young, gets memory of
// its own, so that the ring reaches far back.
func (in *intake) toRingChunk(c *memory.Chunk) ringChunk {
	all := in.latchedIn(c)
	rc := in.takeOver(c)
	in.ring.note(&rc, all)
	return rc
}

// takeOver is toRingChunk without the latched messages.
func (in *intake) takeOver(c *memory.Chunk) ringChunk {
	rc := ringChunk{SealedChunk: c.Sealed, chunk: c, firstAt: c.FirstAt, lastAt: c.LastAt}
	n := len(c.Sealed.Record)
	in.mu.Lock()
	rc.weight = c.Counted
	if 4*int64(n) >= 3*c.Counted {
		in.mu.Unlock()
		return rc
	}
	rc.memory = in.ring.memoryFor(n) // counted already
	if rc.memory == nil {
		// The chunks of a requested snapshot must not displace each other: this chunk comes back in a moment.
		if (in.ring.pending == 0 || n > 2*in.pool.ChunkBytes) && !in.pool.MakeRoom(int64(n), memory.ForAny) {
			in.mu.Unlock()
			return rc // all memory waits for the disk
		}
		rc.memory = make([]byte, 0, n)
		in.pool.Use(int64(n))
	}
	in.mu.Unlock()
	own := *c.Sealed // which goes back with its chunk
	rc.memory = append(rc.memory, own.Record...)
	own.Record, own.Counts, own.PayloadBytes = rc.memory, slices.Clone(own.Counts), slices.Clone(own.PayloadBytes)
	rc.SealedChunk, rc.weight, rc.chunk = &own, int64(cap(rc.memory)), nil
	in.release(c)
	return rc
}

// addToRing adds a chunk that the recording is done with.
func (in *intake) addToRing(c ringChunk) {
	in.mu.Lock()
	in.ring.keepInRing(c)
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
func (in *intake) giveBack(c ringChunk) {
	in.mu.Lock()
	in.ring.recycle(c)
	in.mu.Unlock()
}

// count brings the account of a chunk up to date that has grown.
func (in *intake) count(c *memory.Chunk) {
	in.mu.Lock()
	in.pool.Count(c)
	in.mu.Unlock()
}

// prolong moves the end of a post-roll that goes on, and returns that snapshot, or nil.
func (in *intake) prolong(now time.Time) (*taking, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return nil, ErrNotRecording
	}
	if in.ring.due(now) {
		in.endSnapshot()
	}
	in.ring.prolong(now)
	return in.ring.current, nil
}

// snapshotsTaken returns how many snapshots have begun.
func (in *intake) snapshotsTaken() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ring.taken
}

// beginSnapshot makes all that was received until now, and the post-roll, part of sn.
// It reports whether the recording still goes on.
func (in *intake) beginSnapshot(sn *taking) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return false
	}
	in.sealOpen()
	sn.state = latchedAtTrigger(in.sources())
	in.ring.begin(sn)
	in.enqueue(&command{kind: commandSnapshot, snapshot: sn})
	if in.ring.postRoll == 0 {
		in.endSnapshot()
		return true
	}
	for _, c := range in.connections.all {
		if c.stored > 0 { // its record may be in a chunk that has gone
			sn.conns = append(sn.conns, c.conn)
		}
	}
	return true
}

// requestSnapshot keeps what the ring holds for a snapshot that waits for its turn.
func (in *intake) requestSnapshot(at time.Time) {
	in.mu.Lock()
	in.ring.request(at)
	in.mu.Unlock()
}

// endRequest ends that.
func (in *intake) endRequest() {
	in.mu.Lock()
	in.ring.requested = time.Time{}
	in.mu.Unlock()
}

// takeRing gives the ring to a snapshot.
func (in *intake) takeRing(sn *taking) []ringChunk {
	in.mu.Lock()
	chunks := in.ring.takeFor(sn)
	in.pool.Signal() // what was kept for the snapshot may be displaced now
	in.mu.Unlock()
	return chunks
}

// snapshotClosed notes that the file of a snapshot is complete.
func (in *intake) snapshotClosed() {
	in.mu.Lock()
	in.ring.unfinished--
	in.mu.Unlock()
}

// endSnapshot ends the one that is being taken, if there is one, with what was received
// until now. mu is held.
func (in *intake) endSnapshot() {
	if sn := in.ring.end(); sn != nil {
		in.sealOpen()
		in.enqueue(&command{kind: commandEndSnapshot, snapshot: sn})
	}
}

// warnShort warns once that memory does not reach as far back as was asked for, and
// again if it did meanwhile.
func (in *intake) warnShort(now time.Time) {
	if in.ring == nil || in.ring.window == 0 {
		return
	}
	in.mu.Lock()
	short, reach := in.ring.takeShort(now)
	in.mu.Unlock()
	if short {
		in.log.Warn("memory does not hold as much as snapshots are to begin with: give more, or compress",
			zap.Duration("wanted", in.ring.window), zap.Duration("held", reach.Round(time.Millisecond)), zap.Int64("bytes", in.ring.most))
	}
}

// snapshotStats makes the account. mu is held.
func (in *intake) snapshotStats(now time.Time) SnapshotStats {
	r := in.ring
	if r == nil {
		return SnapshotStats{}
	}
	stats := SnapshotStats{Mode: SnapshotBeside, Held: r.reach(now), Bytes: r.bytes, Most: r.most, Taken: r.taken}
	if r.only {
		stats.Mode = SnapshotOnly
	}
	if r.window > 0 {
		stats.Held = min(stats.Held, r.window)
	}
	if r.current != nil {
		stats.File = r.current.target()
	}
	return stats
}

// recorded returns what of t is in bags, or about to be. mu is held.
func (in *intake) recorded(t *topic) tally {
	if in.ring.isOnly() {
		return t.written
	}
	return t.tally
}
