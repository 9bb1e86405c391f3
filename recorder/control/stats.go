package control

import "time"

// Stats is a live account of a recording. What it holds belongs to the caller. Rates are
// for the caller to make of two accounts.
type Stats struct {
	Taken      time.Time // when the account was made
	State      State
	Ending     bool // nothing is taken in any more: what is in memory is written, then the index
	Elapsed    time.Duration
	File       string        // the bag that is written, by its final name; empty while stopped
	Part       int           // the number of the last bag, from 0
	FileBytes  int64         // written to it, compressed
	Bytes      int64         // written in all files
	Buffered   int64         // bytes of all buffers in use
	BufferMost int64         // their bound; negative means none
	DiskFree   int64         // on the disk that is recorded to; negative if not known
	TimeLeft   time.Duration // until the recording ends for want of space, as fast as of late, with snapshots as of the last ten minutes; negative if not known, or if old files are deleted
	Disk       DiskTimes
	Finished   int // bags until now: Recording.Bags has them
	Deleted    int // of those and of earlier runs, by the recorder, to keep within what Options.Retain sets
	Snapshots  SnapshotStats
	Handover   *HandoverStats // nil without Options.Handover
	Triggers   []TriggerStats // nil without Options.Watch
	Unread     string         // what cannot be read of the master's replies; empty if nothing
	Topics     []TopicStats
}

// TopicStats is the live account of one topic.
type TopicStats struct {
	Topic      string
	Type       string            // of the first publisher; empty if there was none
	Publishers int               // linked now
	Messages   uint64            // taken in
	Bytes      uint64            // of their payload
	Dropped    uint64            // for all causes
	Causes     map[string]uint64 // the same by cause; nil if there were none
	Missed     uint64            // published and never arrived, as far as publishers number theirs
	LinksLost  int               // as in PublisherSummary
	Passed     uint64            // while paused or stopped
	HeldUp     time.Duration     // as in TopicSummary
	Refused    int               // as in TopicSummary
	Last       time.Time         // when the last message came; zero if none did
}

// SnapshotStats is a live account of snapshots.
type SnapshotStats struct {
	Mode   SnapshotMode
	Held   time.Duration // how far back a snapshot would reach now
	Bytes  int64         // of memory for that
	Most   int64         // and their bound
	Taken  int           // snapshots until now
	Failed int           // that could not begin
	File   string        // the bag whose post-roll goes on, by its final name; empty for none
}

// HandoverStats is the live account of a Handover.
type HandoverStats struct {
	Waiting      int       // finished files that are not handed over yet
	WaitingBytes int64     // of those
	Done         int       // files
	DoneBytes    int64     // of those
	LastDone     time.Time // when the latest of those was; zero if there is none
	Deleted      int       // of those
	Sent         int64     // bytes, repetitions included
	Failures     int       // tries that failed
	Refused      int       // files that are not accepted
	Lost         int       // files that were deleted before
	Err          string    // why the last try failed; empty since one did not

	State      HandoverState // of the place that files are handed to
	StateSince time.Time
	StateErr   string // why it is unreachable or failing, and what to do
}

// HandoverState is what the last contact with the place that files are handed to has shown.
type HandoverState int

// The zero value means that there was none yet.
const (
	HandoverUnchecked HandoverState = iota
	HandoverOK
	HandoverUnreachable // it does not answer: files wait until it does
	HandoverFailing     // it refuses files until somebody does something about it
)

// String returns a word.
func (s HandoverState) String() string {
	switch s {
	case HandoverOK:
		return "ok"
	case HandoverUnreachable:
		return "unreachable"
	case HandoverFailing:
		return "failing"
	case HandoverUnchecked:
	}
	return "unchecked"
}

// TriggerStats is the account of one trigger.
type TriggerStats struct {
	Option     string // that it was given by, as "stop-on"
	Expression string
	Topics     []string // that it watches, resolved
	Messages   uint64   // that the expression was evaluated for
	Fired      uint64
	Suppressed uint64   // times that the expression turned true soon after it had fired
	Refused    uint64   // times that it fired and the recording did not do what it asks for
	Skipped    uint64   // messages of its topics that were not looked at: too large, or too many at once
	Errors     uint64   // messages for which the expression could not be evaluated
	Silent     []string // those of Topics that had no message
}
