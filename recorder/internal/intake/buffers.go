package intake

import (
	"sync"

	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Buffers is the memory of a recording, behind the lock of the intake: the buffers of chunks, the latched
// messages, and the ring of chunks for snapshots. It knows nothing of topics, files and commands.
type Buffers struct {
	mu      *sync.Mutex // the one lock of the intake
	pool    *memory.Memory
	latched latch.Store
	ring    *ring.Ring // nil without snapshots
}

// Release takes back the buffer of a chunk that was written or given up.
func (b *Buffers) Release(c *memory.Chunk) {
	b.mu.Lock()
	b.pool.Put(c)
	b.mu.Unlock()
}

// ReleaseLatched releases the latched messages of a FileStart.
func (b *Buffers) ReleaseLatched(all []*latch.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latched.Release(all)
}

// claim counts n bytes for latched messages on their way to a file, if that many bytes are free.
func (b *Buffers) claim(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.latched.Claim(n)
}

// ClaimLatched implements latch.Claims.
func (b *Buffers) ClaimLatched(unpacked int64) (claimed int64, ok bool) {
	claimed = b.latched.Weight(int(unpacked))
	return claimed, b.claim(claimed)
}

// UnclaimLatched implements latch.Claims.
func (b *Buffers) UnclaimLatched(claimed int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pool.UnuseLatched(claimed)
}

// ChunkBytes returns the size at which chunks are sealed.
func (b *Buffers) ChunkBytes() int { return b.pool.ChunkBytes() }

// FreshChunk returns a buffer for n bytes; nil if there is no memory.
func (b *Buffers) FreshChunk(n int) *memory.Chunk {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pool.Get(n, n)
}

// CountGrown brings the account of a chunk up to date after the chunk has grown.
func (b *Buffers) CountGrown(c *memory.Chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pool.Count(c)
}

// GiveBack takes the memory of a chunk back.
func (b *Buffers) GiveBack(c *latch.Chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latched.Leave(c)
}

// ToRingChunk takes over a sealed chunk that the recording is done with, and finds the last message of
// each of its latching connections. These are copied if there is memory for that and the chunk itself
// takes more.
func (b *Buffers) ToRingChunk(c *memory.Chunk, latching map[rosbag.ConnID]*latch.Source) *latch.Chunk {
	all, bytes := b.latched.LatchedIn(c, latching)
	b.mu.Lock()
	copied := len(all) > 0 && bytes <= int64(len(c.Sealed().Record)) && b.ring.Claim(bytes)
	own, counted := b.ring.OwnMemory(len(c.Sealed().Record), c.Counted()), c.Counted()
	b.mu.Unlock()
	kept := latch.InBuffer(c, counted)
	if own != nil {
		kept = latch.InMemory(c.Sealed(), own, c.FirstAt(), c.LastAt())
	}
	kept.SetLatched(all, copied)
	if own != nil {
		b.Release(c)
	}
	return kept
}

// AddToRing adds a chunk that the recording is done with.
func (b *Buffers) AddToRing(c *latch.Chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ring.Add(c)
	b.pool.Signal() // chunks in the ring can be displaced
}

// PassRing adds the latched messages of a chunk that goes past the ring to the state before the ring.
func (b *Buffers) PassRing(c *latch.Chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latched.Pass(c)
}

// TakeRing gives the ring to a snapshot.
func (b *Buffers) TakeRing(sn *ring.Snapshot) []*latch.Chunk {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.pool.Signal() // the ring gives up chunks again
	return b.ring.TakeFor(sn)
}

// EndRequest notes that no snapshot begins for the triggers until now: the ring gives up chunks again.
func (b *Buffers) EndRequest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ring.RequestEnded()
}

// SnapshotsTaken returns how many snapshots have begun.
func (b *Buffers) SnapshotsTaken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring.SnapshotsBegun()
}

// SnapshotClosed notes that a snapshot is complete in its file.
func (b *Buffers) SnapshotClosed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ring.FileCompleted()
}

// AddCut adds copies of messages that are cut off the beginning of the ring to the messages that are
// latched where a snapshot begins.
func (b *Buffers) AddCut(s *latch.State, cut []*latch.Message) error {
	bytes := b.latched.Count(cut)
	if bytes > 0 && !b.claim(bytes) {
		return latch.ErrNoMemory
	}
	s.AddCut(cut)
	return nil
}

// EndState releases the messages that are latched where a snapshot begins.
func (b *Buffers) EndState(s *latch.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latched.End(s)
}

// keepRing makes b keep chunks for snapshots.
func (b *Buffers) keepRing(o ring.Options) {
	b.ring = ring.New(o, b.pool, &b.latched)
	b.pool.KeepReserve(b.ring)
}
