package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// Gaps returns a channel that gets a token when there are sequence gaps that are not verified.
func (in *Intake) Gaps() <-chan struct{} { return in.gaps }

// Stats returns the part of the live account of a recording that the intake knows.
func (in *Intake) Stats(now time.Time) control.Stats {
	in.mu.Lock()
	defer in.mu.Unlock()
	return control.Stats{
		State: in.mode.State, Ending: in.mode.Over(),
		Part: max(in.rotation.Part(), 0), FileBytes: in.rotation.Stored(),
		Buffered: in.pool.Usage().Held - in.pool.Usage().Idle, BufferMost: in.pool.Limit(),
		Snapshots: in.ring.Stats(now), Unread: in.accounts.Unread(), Topics: in.accounts.Stats(now),
	}
}

// Summary returns the accounts of all topics, and which parts of the master's replies could not be read.
func (in *Intake) Summary(now time.Time) control.Summary {
	in.mu.Lock()
	defer in.mu.Unlock()
	return control.Summary{Topics: in.accounts.Summaries(now), Unread: in.accounts.EverUnread()}
}

// Arrivals appends what came of each topic to all, and reports whether messages are recorded now.
func (in *Intake) Arrivals(all []finding.Arrivals) (arrivals []finding.Arrivals, recording bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.accounts.Arrivals(all, in.mode.Over(), in.cfg.Sim.Topic()), in.mode.Records()
}

// Linked returns the names of the publishers that have a link to a topic.
func (in *Intake) Linked(topic topicname.InBag) []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.accounts.Linked(topic)
}

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (in *Intake) Overdue(now time.Time) []loss.PublisherKey {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.accounts.Overdue(in.acceptsLocked, now)
}

// Unverified returns the publishers with gaps in the numbers of their messages of which it is not known
// whether they number their messages themselves.
func (in *Intake) Unverified() []loss.PublisherKey {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.accounts.Unverified()
}

// SetListed sets whether the master lists publishers. Those that have a link again are left out.
func (in *Intake) SetListed(listed map[loss.PublisherKey]bool, now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.accounts.SetListed(listed, now)
}

// SetForeign sets whether another node numbers the messages of a publisher, if the publisher is still the same
// process.
func (in *Intake) SetForeign(k loss.PublisherKey, foreign bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.accounts.SetForeign(k, foreign)
}

// Usage is what the memory of a recording is used for. The program uses only Crowded; tests compare the fields
// with the bounds in docs/promises.md.
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
	u := Usage{Usage: in.pool.Usage(), Ring: in.ring.Held()}
	u.Connections, u.Headers = in.accounts.Headers()
	return u
}
