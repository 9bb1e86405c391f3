package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// Accounts is the door for what is counted, and for the doubts about publishers.
type Accounts struct{ in *Intake }

// Accounts returns the door for figures and doubts.
func (in *Intake) Accounts() Accounts { return Accounts{in} }

// Doubtful returns a channel that gets a token when there are sequence gaps that were not verified.
func (d Accounts) Doubtful() <-chan struct{} { return d.in.Verifications }

// Live is the account of a recording under way.
type Live struct {
	State      control.State
	Ending     bool // nothing is taken in any more
	Part       int  // the number of the last file, from 0
	FileBytes  int64
	Buffered   int64 // bytes of the buffer in use
	BufferMost int64 // their bound; negative means none
	Snapshots  ring.Figures
	Unread     string
	Topics     []account.Figures
}

// LiveFigures returns the account of a recording under way.
func (d Accounts) LiveFigures(now time.Time) Live {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return Live{
		State: in.Mode.State, Ending: in.Mode.Over(),
		Part: max(in.Rotation.Part(), 0), FileBytes: in.Rotation.Stored(),
		Buffered: in.Pool.Held - in.Pool.Idle, BufferMost: in.Pool.Limit,
		Snapshots: in.Ring.Figures(now), Unread: in.Account.Unread, Topics: in.Account.Figures(in.Ring.IsOnly(), now),
	}
}

// SummaryFigures returns the accounts of all topics, in the order of their subscription, and what could
// not be read of the master's replies at any time.
func (d Accounts) SummaryFigures(now time.Time) (topics []account.Figures, unread string) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Account.Figures(in.Ring.IsOnly(), now), in.Account.EverUnread
}

// FileBytes returns how much is written of the file that the intake fills.
func (d Accounts) FileBytes() int64 {
	d.in.Mu.Lock()
	defer d.in.Mu.Unlock()
	return d.in.Rotation.Stored()
}

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (d Accounts) Overdue(now time.Time) []loss.Doubt {
	d.in.Mu.Lock()
	defer d.in.Mu.Unlock()
	return d.in.Account.Overdue(d.in.accepts, now)
}

// Unverified returns the publishers with gaps in their numbers, if it is not known whose numbers
// they are.
func (d Accounts) Unverified() []loss.Doubt {
	d.in.Mu.Lock()
	defer d.in.Mu.Unlock()
	return d.in.Account.Unverified()
}

// Explain notes of publishers that are still without a link whether the master lists them.
func (d Accounts) Explain(listed map[loss.Doubt]bool, now time.Time) {
	d.in.Mu.Lock()
	defer d.in.Mu.Unlock()
	d.in.Account.Explain(listed, now)
}

// Judge notes whether the numbers of a publisher are those of others, if it is still the same process.
func (d Accounts) Judge(about loss.Doubt, foreign bool) {
	d.in.Mu.Lock()
	defer d.in.Mu.Unlock()
	d.in.Account.Judge(about, foreign)
}

// QueueCrowded reports whether much waits for the disk.
func (d Accounts) QueueCrowded() bool {
	d.in.Mu.Lock()
	defer d.in.Mu.Unlock()
	return d.in.Pool.Crowded()
}
