package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// figures is the account of one topic.
type figures struct {
	topic      string
	typ        string             // of the first publisher; empty if there was none
	publishers []publisherFigures // in order of their first connection
	former     formerPublishers   // that were gone before
	refused    int                // publishers, for want of memory for their headers
	linked     int                // links that are open
	taken      tally              // what was taken in
	recorded   tally              // of that, what is in bags, or about to be
	repeated   uint64             // of latched messages at the start of later files
	skipped    uint64             // as the limits ask
	passed     uint64             // while paused or stopped
	dropped    [dropCauses]uint64
	pickup     time.Duration // from before the registration of the topic to the first link
	waitsFor   Waiting       // what a topic without a link waited for at the end
	heldUp     time.Duration // its links were
	last       time.Time     // when the last message came
}

// publisherFigures is the account of one publisher.
type publisherFigures struct {
	id string
	loss.Account
}

// snapshotFigures is the account of the ring. The zero value says that there is none.
type snapshotFigures struct {
	on    bool
	only  bool          // nothing is written but snapshots
	held  time.Duration // how far back a snapshot would reach now
	bytes int64         // of memory for that
	most  int64         // their bound
	taken int           // snapshots until now
	file  string        // the bag whose post-roll goes on; empty for none
}

// liveFigures is the account of a recording under way.
type liveFigures struct {
	state      State
	ending     bool // nothing is taken in any more
	part       int  // the number of the last file, from 0
	fileBytes  int64
	buffered   int64 // bytes of the buffer in use
	bufferMost int64 // their bound; negative means none
	snapshots  snapshotFigures
	unread     string
	topics     []figures
}

// live returns the account of a recording under way.
func (in *intake) live(now time.Time) liveFigures {
	in.mu.Lock()
	defer in.mu.Unlock()
	return liveFigures{
		state: in.state, ending: in.ended || in.atSizeLimit,
		part: max(in.rotation.Part(), 0), fileBytes: in.rotation.Stored(),
		buffered: in.pool.Held - in.pool.Idle, bufferMost: in.pool.Limit,
		snapshots: in.snapshotFigures(now), unread: in.unread.now, topics: in.figures(now),
	}
}

// summary returns the accounts of all topics, in the order of their subscription, and what could
// not be read of the master's replies at any time.
func (in *intake) summary(now time.Time) (topics []figures, unread string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.figures(now), in.unread.ever
}

// figures returns the accounts of all topics. mu is held.
func (in *intake) figures(now time.Time) []figures {
	all := make([]figures, 0, len(in.topics))
	for _, t := range in.topics {
		f := figures{
			topic: t.name, typ: t.typ, former: t.former, refused: len(t.refused), linked: t.linked,
			taken: t.tally, recorded: in.recorded(t), repeated: t.repeated, skipped: t.skipped, passed: t.passed, dropped: t.dropped,
			pickup: t.pickup, waitsFor: t.waitsFor, heldUp: in.heldUp(t, now), last: t.last,
			publishers: make([]publisherFigures, 0, len(t.publishers)),
		}
		for _, u := range t.publishers {
			f.publishers = append(f.publishers, publisherFigures{u.ID, u.Account(now)})
		}
		all = append(all, f)
	}
	return all
}

// fileBytes returns how much is written of the file that the intake fills.
func (in *intake) fileBytes() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.rotation.Stored()
}
