package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Figures is the account of one topic.
type Figures struct {
	Topic      string
	Typ        string             // of the first publisher; empty if there was none
	Publishers []publisherFigures // in order of their first connection
	Former     Former             // that were gone before
	Refused    int                // publishers, for want of memory for their headers
	Linked     int                // links that are open
	Taken      Tally              // what was taken in
	Recorded   Tally              // of that, what is in bags, or about to be
	Repeated   uint64             // of latched messages at the start of later files
	Skipped    uint64             // as the limits ask
	Passed     uint64             // while paused or stopped
	Dropped    [DropCauses]uint64
	Pickup     time.Duration // from before the registration of the topic to the first link
	WaitsFor   Waiting       // what a topic without a link waited for at the end
	HeldUp     time.Duration // its links were
	Last       time.Time     // when the last message came
}

// publisherFigures is the account of one publisher.
type publisherFigures struct {
	Id string
	loss.Account
}

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
	Topics     []Figures
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
func (d Accounts) SummaryFigures(now time.Time) (topics []Figures, unread string) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.figures(now), in.unread.ever
}

// figures returns the accounts of all topics. mu is held.
func (in *Intake) figures(now time.Time) []Figures {
	all := make([]Figures, 0, len(in.Topics))
	for _, t := range in.Topics {
		f := Figures{
			Topic: t.Name, Typ: t.typ, Former: t.Former, Refused: len(t.refused), Linked: t.Linked,
			Taken: t.Tally, Recorded: in.Recorded(t), Repeated: t.Repeated, Skipped: t.Skipped, Passed: t.Passed, Dropped: t.Dropped,
			Pickup: t.pickup, WaitsFor: t.waitsFor, HeldUp: in.HeldUp(t, now), Last: t.last,
			Publishers: make([]publisherFigures, 0, len(t.Publishers)),
		}
		for _, u := range t.Publishers {
			f.Publishers = append(f.Publishers, publisherFigures{u.ID, u.Account(now)})
		}
		all = append(all, f)
	}
	return all
}

// FileBytes returns how much is written of the file that the intake fills.
func (d Accounts) FileBytes() int64 {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Rotation.Stored()
}
