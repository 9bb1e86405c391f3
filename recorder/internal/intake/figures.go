package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
)

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
	State      State
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
		State: in.State, Ending: in.Ended || in.AtSizeLimit,
		Part: max(in.Rotation.Part(), 0), FileBytes: in.Rotation.Stored(),
		Buffered: in.Pool.Held - in.Pool.Idle, BufferMost: in.Pool.Limit,
		Snapshots: in.snapshotFigures(now), Unread: in.unread.now, Topics: in.figures(now),
	}
}

// SummaryFigures returns the accounts of all topics, in the order of their subscription, and what could
// not be read of the master's replies at any time.
func (d Accounts) SummaryFigures(now time.Time) (topics []account.Figures, unread string) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.figures(now), in.unread.ever
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
