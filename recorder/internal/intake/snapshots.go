package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// Simulated reports whether the recording goes by a clock of the graph.
func (in *Intake) Simulated() bool { return in.cfg.Sim != nil }

// EndState releases the messages that are latched where a snapshot begins.
func (in *Intake) EndState(s *latch.State) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latched.End(s)
}

// AddCut adds copies of messages that are cut off the beginning of the ring to the messages that are latched where
// a snapshot begins.
func (in *Intake) AddCut(s *latch.State, cut []*latch.Message) error {
	bytes := in.latched.Count(cut)
	if bytes > 0 && !in.claim(bytes) {
		return latch.ErrNoMemory
	}
	s.AddCut(cut)
	return nil
}

// PassRing adds the latched messages of a chunk that goes past the ring to the state before the ring.
func (in *Intake) PassRing(c *latch.Chunk) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latched.Pass(c)
}

// ToRingChunk takes over a sealed chunk that the recording is done with, and finds the last message of each
// latching connection in the chunk. These are copied if there is memory for that and the chunk itself takes
// more.
func (in *Intake) ToRingChunk(c *memory.Chunk) *latch.Chunk {
	all, bytes := in.latched.LatchedIn(c, in.Accounts.LatchingOf(c.Sealed()))
	in.mu.Lock()
	copied := len(all) > 0 && bytes <= int64(len(c.Sealed().Record)) && in.ring.Claim(bytes)
	own, counted := in.ring.OwnMemory(len(c.Sealed().Record), c.Counted()), c.Counted()
	in.mu.Unlock()
	kept := latch.InBuffer(c, counted)
	if own != nil {
		kept = latch.InMemory(c.Sealed(), own, c.FirstAt(), c.LastAt())
	}
	kept.SetLatched(all, copied)
	if own != nil {
		in.Release(c)
	}
	return kept
}

// AddToRing adds a chunk that the recording is done with.
func (in *Intake) AddToRing(c *latch.Chunk) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ring.Add(c)
	in.pool.Signal() // chunks in the ring can be displaced
}

// FreshChunk returns a buffer for n bytes; nil if there is no memory.
func (in *Intake) FreshChunk(n int) *memory.Chunk {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pool.Get(n, n)
}

// GiveBack takes the memory of a chunk back.
func (in *Intake) GiveBack(c *latch.Chunk) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latched.Leave(c)
}

// CountGrown brings the account of a chunk up to date after the chunk has grown.
func (in *Intake) CountGrown(c *memory.Chunk) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pool.Count(c)
}

// Trigger extends the post-roll in progress, and returns its snapshot. If there is none, the ring keeps the window
// before the trigger for the next snapshot, until BeginSnapshot or EndRequest.
func (in *Intake) Trigger(at time.Time) (*ring.Snapshot, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended {
		return nil, control.ErrNotRecording
	}
	if in.ring.Due(at) {
		in.endSnapshotLocked()
	}
	in.ring.Trigger(at)
	return in.ring.InPostRoll(), nil
}

// SnapshotsTaken returns how many snapshots have begun.
func (in *Intake) SnapshotsTaken() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ring.SnapshotsBegun()
}

// BeginSnapshot makes all that was received until now, and the post-roll, part of sn. It reports false if the
// recording has ended.
func (in *Intake) BeginSnapshot(sn *ring.Snapshot) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended {
		return false
	}
	in.sealOpenLocked()
	in.rotation.SnapshotBegan()
	postRoll := in.ring.Begin(sn, latch.AtTrigger(in.Accounts.all.Sources()))
	in.enqueueLocked(&queue.Command{Kind: queue.Snapshot, Snapshot: sn})
	if !postRoll {
		in.endSnapshotLocked()
		return true
	}
	sn.NeedRecords(in.Accounts.all.Stored()) // they may be in chunks that are not in memory any more
	return true
}

// EndRequest notes that no snapshot begins for the triggers until now: the ring gives up chunks again.
func (in *Intake) EndRequest() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ring.RequestEnded()
}

// TakeRing gives the ring to a snapshot.
func (in *Intake) TakeRing(sn *ring.Snapshot) []*latch.Chunk {
	in.mu.Lock()
	defer in.mu.Unlock()
	defer in.pool.Signal() // the ring gives up chunks again
	return in.ring.TakeFor(sn)
}

// SnapshotClosed notes that a snapshot is complete in its file.
func (in *Intake) SnapshotClosed() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ring.FileCompleted()
}

// endSnapshotLocked ends the post-roll in progress, if there is one. Messages that were received until now belong to
// its snapshot.
func (in *Intake) endSnapshotLocked() {
	if sn := in.ring.End(); sn != nil {
		in.sealOpenLocked()
		in.enqueueLocked(&queue.Command{Kind: queue.EndSnapshot, Snapshot: sn})
	}
}
