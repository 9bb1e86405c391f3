package intake

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// ToRingChunk takes over a sealed chunk that the recording is done with. A record that does
// not fill its buffer well, because it is packed or was sealed young, gets memory of
// its own, so that the ring reaches far back.
func (d Snapshots) ToRingChunk(c *memory.Chunk) ring.Chunk {
	in := d.in
	all := in.LatchedIn(c)
	rc := in.takeOver(c)
	in.Ring.Note(&rc, all)
	return rc
}

// takeOver is toRingChunk without the latched messages.
func (in *Intake) takeOver(c *memory.Chunk) ring.Chunk {
	rc := ring.Chunk{Sealed: c.Sealed, Chunk: c, FirstAt: c.FirstAt, LastAt: c.LastAt}
	n := len(c.Sealed.Record)
	in.Mu.Lock()
	rc.Weight = c.Counted
	if 4*int64(n) >= 3*c.Counted {
		in.Mu.Unlock()
		return rc
	}
	rc.Memory = in.Ring.MemoryFor(n) // counted already
	if rc.Memory == nil {
		// The chunks of a requested snapshot must not displace each other: this chunk comes back in a moment.
		if (in.Ring.Pending == 0 || n > 2*in.Pool.ChunkBytes) && !in.Pool.MakeRoom(int64(n), memory.ForAny) {
			in.Mu.Unlock()
			return rc // all memory waits for the disk
		}
		rc.Memory = make([]byte, 0, n)
		in.Pool.Use(int64(n))
	}
	in.Mu.Unlock()
	own := *c.Sealed // which goes back with its chunk
	rc.Memory = append(rc.Memory, own.Record...)
	own.Record, own.Counts, own.PayloadBytes = rc.Memory, slices.Clone(own.Counts), slices.Clone(own.PayloadBytes)
	rc.Sealed, rc.Weight, rc.Chunk = &own, int64(cap(rc.Memory)), nil
	in.release(c)
	return rc
}

// AddToRing adds a chunk that the recording is done with.
func (d Snapshots) AddToRing(c ring.Chunk) {
	in := d.in
	in.Mu.Lock()
	in.Ring.Add(c)
	in.Pool.Signal() // what was queued is room now
	in.Mu.Unlock()
}

// FreshChunk returns a buffer for n bytes, or nil.
func (d Snapshots) FreshChunk(n int) *memory.Chunk {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Pool.Get(n, n)
}

// GiveBack takes the memory of a chunk back.
func (d Snapshots) GiveBack(c ring.Chunk) {
	in := d.in
	in.Mu.Lock()
	in.Ring.Recycle(c)
	in.Mu.Unlock()
}

// Count brings the account of a chunk up to date that has grown.
func (d Snapshots) Count(c *memory.Chunk) {
	in := d.in
	in.Mu.Lock()
	in.Pool.Count(c)
	in.Mu.Unlock()
}

// Prolong moves the end of a post-roll that goes on, and returns that snapshot, or nil.
func (d Snapshots) Prolong(now time.Time) (*ring.Taking, error) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if in.Ended {
		return nil, ErrNotRecording
	}
	if in.Ring.Due(now) {
		in.endSnapshot()
	}
	in.Ring.Prolong(now)
	return in.Ring.Current, nil
}

// SnapshotsTaken returns how many snapshots have begun.
func (d Snapshots) SnapshotsTaken() int {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Ring.Taken
}

// BeginSnapshot makes all that was received until now, and the post-roll, part of sn.
// It reports whether the recording still goes on.
func (d Snapshots) BeginSnapshot(sn *ring.Taking) bool {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if in.Ended {
		return false
	}
	in.SealOpen()
	sn.State = latch.AtTrigger(in.Account.Sources())
	in.Ring.Begin(sn)
	in.Enqueue(&Command{Kind: CommandSnapshot, Snapshot: sn})
	if in.Ring.PostRoll == 0 {
		in.endSnapshot()
		return true
	}
	for _, c := range in.Account.Connections.All {
		if c.WasStored() { // its record may be in a chunk that has gone
			sn.Conns = append(sn.Conns, c.Conn)
		}
	}
	return true
}

// RequestSnapshot keeps what the ring holds for a snapshot that waits for its turn.
func (d Snapshots) RequestSnapshot(at time.Time) {
	in := d.in
	in.Mu.Lock()
	in.Ring.Request(at)
	in.Mu.Unlock()
}

// EndRequest ends that.
func (d Snapshots) EndRequest() {
	in := d.in
	in.Mu.Lock()
	in.Ring.Requested = time.Time{}
	in.Mu.Unlock()
}

// TakeRing gives the ring to a snapshot.
func (d Snapshots) TakeRing(sn *ring.Taking) []ring.Chunk {
	in := d.in
	in.Mu.Lock()
	chunks := in.Ring.TakeFor(sn)
	in.Pool.Signal() // what was kept for the snapshot may be displaced now
	in.Mu.Unlock()
	return chunks
}

// SnapshotClosed notes that the file of a snapshot is complete.
func (d Snapshots) SnapshotClosed() {
	in := d.in
	in.Mu.Lock()
	in.Ring.Unfinished--
	in.Mu.Unlock()
}

// endSnapshot ends the one that is being taken, if there is one, with what was received
// until now. mu is held.
func (in *Intake) endSnapshot() {
	if sn := in.Ring.End(); sn != nil {
		in.SealOpen()
		in.Enqueue(&Command{Kind: CommandEndSnapshot, Snapshot: sn})
	}
}

// warnShort warns once that memory does not reach as far back as was asked for, and
// again if it did meanwhile.
func (in *Intake) warnShort(now time.Time) {
	if in.Ring == nil || in.Ring.Window == 0 {
		return
	}
	in.Mu.Lock()
	short, reach := in.Ring.TakeShort(now)
	in.Mu.Unlock()
	if short {
		in.log.Warn("memory does not hold as much as snapshots are to begin with: give more, or compress",
			zap.Duration("wanted", in.Ring.Window), zap.Duration("held", reach.Round(time.Millisecond)), zap.Int64("bytes", in.Ring.Most))
	}
}

// snapshotFigures returns the account of the ring. mu is held.
func (in *Intake) snapshotFigures(now time.Time) SnapshotFigures {
	r := in.Ring
	if r == nil {
		return SnapshotFigures{}
	}
	f := SnapshotFigures{On: true, Only: r.Only, Held: r.Reach(now), Bytes: r.Bytes, Most: r.Most, Taken: r.Taken}
	if r.Window > 0 {
		f.Held = min(f.Held, r.Window)
	}
	if r.Current != nil {
		f.File = r.Current.Target()
	}
	return f
}

// Recorded returns what of t is in bags, or about to be. mu is held.
func (in *Intake) Recorded(t *account.Topic) account.Tally {
	if in.Ring.IsOnly() {
		return t.Written
	}
	return t.Tally
}
