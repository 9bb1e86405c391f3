package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Accounts is the door for what is counted, and for the doubts about publishers.
type Accounts struct{ in *Intake }

// Accounts returns the door for figures and doubts.
func (in *Intake) Accounts() Accounts { return Accounts{in} }

// Doubtful returns a channel that gets a token when there are sequence gaps that were not verified.
func (d Accounts) Doubtful() <-chan struct{} { return d.in.Verifications }

// SnapshotFigures is the account of the ring. The zero value says that there is none.
type SnapshotFigures struct {
	On    bool
	Only  bool          // nothing is written but snapshots
	Held  time.Duration // how far back a snapshot would reach now
	Bytes int64         // of memory for that
	Most  int64         // their bound
	Taken int           // snapshots until now
	File  string        // the bag whose post-roll goes on; empty for none
}

// Live is the account of a recording under way.
type Live struct {
	State      control.State
	Ending     bool // nothing is taken in any more
	Part       int  // the number of the last file, from 0
	FileBytes  int64
	Buffered   int64 // bytes of the buffer in use
	BufferMost int64 // their bound; negative means none
	Snapshots  SnapshotFigures
	Unread     string
	Topics     []account.Figures
}

// LiveFigures returns the account of a recording under way.
func (d Accounts) LiveFigures(now time.Time) Live {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return Live{
		State: in.Mode.State, Ending: in.Mode.over(),
		Part: max(in.Rotation.Part(), 0), FileBytes: in.Rotation.Stored(),
		Buffered: in.Pool.Held - in.Pool.Idle, BufferMost: in.Pool.Limit,
		Snapshots: in.snapshotFigures(now), Unread: in.Account.Unread, Topics: in.figures(now),
	}
}

// SummaryFigures returns the accounts of all topics, in the order of their subscription, and what could
// not be read of the master's replies at any time.
func (d Accounts) SummaryFigures(now time.Time) (topics []account.Figures, unread string) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.figures(now), in.Account.EverUnread
}

// figures returns the accounts of all topics. mu is held.
func (in *Intake) figures(now time.Time) []account.Figures {
	return in.Account.Figures(in.Ring.IsOnly(), now)
}

// FileBytes returns how much is written of the file that the intake fills.
func (d Accounts) FileBytes() int64 {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Rotation.Stored()
}

// requestVerification makes verifyLosses ask at once. mu is held.
func (in *Intake) requestVerification() {
	select {
	case in.Verifications <- struct{}{}:
	default: // it is requested already
	}
}

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (d Accounts) Overdue(now time.Time) []loss.Doubt {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Account.Overdue(in.accepts, now)
}

// Unverified returns the publishers with gaps in their numbers, if it is not known whose numbers
// they are.
func (d Accounts) Unverified() []loss.Doubt {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Account.Unverified()
}

// Explain notes of publishers that are still without a link whether the master lists them.
func (d Accounts) Explain(listed map[loss.Doubt]bool, now time.Time) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Account.Explain(listed, now)
}

// Judge notes whether the numbers of a publisher are those of others, if it is still the same process.
func (d Accounts) Judge(about loss.Doubt, foreign bool) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Account.Judge(about, foreign)
}

// QueueCrowded reports whether much waits for the disk.
func (d Accounts) QueueCrowded() bool {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Pool.Crowded()
}
