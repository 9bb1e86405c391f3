package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Commands is the door for what users ask a recording to do.
type Commands struct{ in *Intake }

// Files is the door for whoever writes the bags, in the order of the queue.
type Files struct{ in *Intake }

// Snapshots is the door for whoever takes and writes snapshots.
type Snapshots struct{ in *Intake }

// Accounts is the door for what is counted, and for the doubts about publishers.
type Accounts struct{ in *Intake }

// Commands returns the door for users.
func (in *Intake) Commands() Commands { return Commands{in} }

// Files returns the door for whoever writes bags.
func (in *Intake) Files() Files { return Files{in} }

// Snapshots returns the door for whoever writes snapshots.
func (in *Intake) Snapshots() Snapshots { return Snapshots{in} }

// Accounts returns the door for figures and doubts.
func (in *Intake) Accounts() Accounts { return Accounts{in} }

// AtSize returns a channel that gets a token when the one file has its size.
func (d Commands) AtSize() <-chan struct{} { return d.in.Filled }

// Next waits for what is to be done next. ok is false when that is all.
func (d Files) Next() (item Item, ok bool) { return d.in.Sealed.Take() }

// Release takes a chunk back after it was written or given up.
func (d Files) Release(c *memory.Chunk) { d.in.release(c) }

// UnclaimLatched gives back what FrameOf has claimed.
func (d Files) UnclaimLatched(n int64) { d.in.unclaimLatched(n) }

// ChunkBytes returns the size at which chunks are sealed.
func (d Files) ChunkBytes() int { return d.in.Pool.ChunkBytes }

// OnlySnapshots reports whether nothing is written but snapshots.
func (d Files) OnlySnapshots() bool { return d.in.Ring.IsOnly() }

// Stamp returns the time of the recording at now.
func (d Files) Stamp(now time.Time) time.Time { return d.in.Sim.At(now) }

// Release takes a chunk back that no snapshot has.
func (d Snapshots) Release(c *memory.Chunk) { d.in.release(c) }

// LatchingOf returns the latching connections with messages in a chunk, nil if there are none.
func (d Snapshots) LatchingOf(c *chunk.Sealed) map[rosbag.ConnID]*latch.Source {
	return d.in.latchingOf(c)
}

// ChunkBytes returns the size at which chunks are sealed.
func (d Snapshots) ChunkBytes() int { return d.in.Pool.ChunkBytes }

// Simulated reports whether the recording goes by a clock of the graph.
func (d Snapshots) Simulated() bool { return d.in.Sim != nil }

// Stamp returns the time of the recording at now.
func (d Snapshots) Stamp(now time.Time) time.Time { return d.in.Sim.At(now) }

// Doubtful returns a channel that gets a token when there are sequence gaps that were not verified.
func (d Accounts) Doubtful() <-chan struct{} { return d.in.Verifications }
