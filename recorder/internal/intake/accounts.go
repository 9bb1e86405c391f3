package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// Accounts is the door for the accounts of a recording, and for the doubts about publishers.
type Accounts struct{ in *Intake }

// Accounts returns the door for accounts and doubts.
func (in *Intake) Accounts() Accounts { return Accounts{in} }

// Doubtful returns a channel that gets a token when there are sequence gaps that were not verified.
func (d Accounts) Doubtful() <-chan struct{} { return d.in.verifications }

// Stats returns what the intake knows of the account of a recording under way.
func (d Accounts) Stats(now time.Time) control.Stats {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	return control.Stats{
		State: in.mode.State, Ending: in.mode.Over(),
		Part: max(in.rotation.Part(), 0), FileBytes: in.rotation.Stored(),
		Buffered: in.pool.Held - in.pool.Idle, BufferMost: in.pool.Limit,
		Snapshots: in.ring.Stats(now), Unread: in.accounts.Unread, Topics: in.accounts.Stats(now),
	}
}

// Summary returns the accounts of all topics, and what could not be read of the master's replies at any time.
func (d Accounts) Summary(now time.Time) control.Summary {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	return control.Summary{Topics: in.accounts.Summaries(in.ring.IsOnly(), now), Unread: in.accounts.EverUnread}
}

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (d Accounts) Overdue(now time.Time) []loss.Doubt {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return d.in.accounts.Overdue(d.in.accepts, now)
}

// Unverified returns the publishers with gaps in the numbers of their messages, if it is not known which node
// has set the numbers.
func (d Accounts) Unverified() []loss.Doubt {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return d.in.accounts.Unverified()
}

// Explain notes of publishers that are still without a link whether the master lists them.
func (d Accounts) Explain(listed map[loss.Doubt]bool, now time.Time) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.accounts.Explain(listed, now)
}

// Judge notes whether other nodes have set the numbers of a publisher's messages, if the publisher is still the
// same process.
func (d Accounts) Judge(about loss.Doubt, foreign bool) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.accounts.Judge(about, foreign)
}

// Usage is what the memory of a recording is used for. The program needs no more of it than Crowded; tests compare
// the rest with the bounds that docs/promises.md gives.
type Usage struct {
	memory.Usage
	Ring        int64 // bytes of Held that are kept for snapshots
	Headers     int64 // bytes of the headers of all connections, and of the accounts of publishers
	Connections int   // connections that are not released
}

// Usage returns what the memory is used for now.
func (d Accounts) Usage() Usage {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	return Usage{
		Usage: in.pool.Usage, Ring: in.ring.Held(),
		Headers: in.accounts.Connections.Held, Connections: len(in.accounts.Connections.All),
	}
}
