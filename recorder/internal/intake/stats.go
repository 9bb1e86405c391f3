package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// Stats returns the part of the live account of a recording that the intake knows.
func (in *Intake) Stats(now time.Time) control.Stats {
	in.mu.Lock()
	defer in.mu.Unlock()
	return control.Stats{
		State: in.mode.State, Ending: in.mode.Over(),
		Part: max(in.rotation.Part(), 0), FileBytes: in.rotation.Stored(),
		Buffered:   in.Buffers.pool.Usage().Held - in.Buffers.pool.Usage().Idle,
		BufferMost: in.Buffers.pool.Limit(),
		Snapshots:  in.Buffers.ring.Stats(now), Unread: in.Accounts.all.Unread(),
		Topics: in.Accounts.all.Stats(now),
	}
}

// Arrivals appends what came of each topic to all, and reports whether messages are recorded now.
func (in *Intake) Arrivals(all []finding.Arrivals) (arrivals []finding.Arrivals, recording bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.Accounts.all.Arrivals(all, in.mode.Over(), in.cfg.Sim.Topic()), in.mode.Records()
}

// Linked returns the names of the publishers that have a link to a topic.
func (in *Intake) Linked(topic topicname.InBag) []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.Accounts.all.Linked(topic)
}

// Usage is what the memory of a recording is used for. The program uses only Crowded; tests compare the
// fields with the bounds in docs/promises.md.
type Usage struct {
	memory.Usage
	Ring        int64 // bytes of Held that are kept for snapshots
	Headers     int64 // bytes of the headers of all connections, and of the accounts of publishers
	Connections int   // connections that are not released
}

// Usage returns what the memory is used for now.
func (in *Intake) Usage() Usage {
	in.mu.Lock()
	defer in.mu.Unlock()
	u := Usage{Usage: in.Buffers.pool.Usage(), Ring: in.Buffers.ring.Held()}
	u.Connections, u.Headers = in.Accounts.all.Headers()
	return u
}
