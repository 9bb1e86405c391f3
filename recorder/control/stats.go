package control

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
)

// Stats is a live account of a recording. Its slices and maps belong to the caller. A caller computes
// rates from two accounts.
type Stats struct {
	// when the account was made
	Taken time.Time
	State State
	// no message is accepted any more: the buffer is written, then the index
	Ending  bool
	Elapsed time.Duration
	// the bag that is written, by its final name; empty while stopped
	File string
	// the number of the last bag, from 0
	Part int
	// bytes written to File, compressed
	FileBytes int64
	// bytes written to all files
	Bytes int64
	// bytes of all buffers in use
	Buffered int64
	// the bound of Buffered; negative means none
	BufferMost int64
	// bytes free on the disk that is recorded to; negative if not known
	DiskFree int64
	// until the disk is too full, at the present rate, for which snapshots count over ten minutes;
	// negative if not known, or if old bags are deleted before
	TimeLeft time.Duration
	Disk     DiskTimes
	// bags that were finished: Recording.Bags has the latest ones
	Finished int
	// bags, also of earlier runs, that the recorder has deleted as Options.Retain asks
	Deleted   int
	Snapshots SnapshotStats
	// nil without Options.Handover
	Handover *HandoverStats
	// nil without Options.Watch
	Triggers []TriggerStats
	// what cannot be read of the master's replies; empty if nothing
	Unread string
	// what is wrong with topics now, the most important first
	Findings []Finding
	// what was wrong with topics until now, by topic
	Episodes []FindingSum
	Topics   []TopicStats
}

// Dropped returns the number of messages that were received and are not in the bag.
func (s *Stats) Dropped() (n uint64) {
	for i := range s.Topics {
		n += s.Topics[i].Dropped
	}
	return n
}

// Missed returns the number of messages that were published and never arrived, as far as publishers
// number messages.
func (s *Stats) Missed() (n uint64) {
	for i := range s.Topics {
		n += s.Topics[i].Missed
	}
	return n
}

// Refused returns how many publishers were not connected to for a reason of the recorder: no memory for
// their headers, or no file descriptor.
func (s *Stats) Refused() (n int) {
	for i := range s.Topics {
		n += s.Topics[i].Refused
	}
	return n
}

// Finding is something that is wrong with a topic now:
//
//	Topic    string        // or an expected glob that no topic matches
//	Kind     FindingKind
//	Cause    FindingCause
//	For      time.Duration // how long already; of a silent topic since its last message
//	Hz       float64       // slow and fast: the present rate
//	Want     float64       // slow: the usual rate, or the least expected; fast: the highest expected
//	Offset   time.Duration // behind and ahead: arrival minus stamp
//	Expected bool          // the user has written what to expect; otherwise it was learned
//
// Its methods Text and Brief say it in words.
type Finding = finding.Finding

// FindingKind is what is wrong with a topic. Its String is "silent", "slow", "fast" or "stamps off".
type FindingKind = finding.Kind

// FindingCause says more about what is wrong. Its String is such as "publisher gone"; empty if there is
// no more to say.
type FindingCause = finding.Cause

// FindingSum is what was wrong with a topic until now:
//
//	Topic    string
//	Kind     FindingKind
//	Episodes int
//	Time     time.Duration // all episodes together
//	Open     bool          // the last episode has not ended
//	Expected bool          // an expectation was not met, in at least one of the episodes, while it counted
//	Untold   int           // silences besides, too soon after the topic had come back: it stops often
type FindingSum = finding.Sum

// EndedTopics stands for the name of a topic in the account of the topics that have ended, together:
// where very many topics have lost their publishers, only the latest ones keep accounts of their own. It
// is no valid name.
const EndedTopics = finding.Ended

// TopicStats is the live account of one topic.
type TopicStats struct {
	Topic string
	// of the first publisher; empty if there was none
	Type string
	// the recorder itself publishes on the topic, such as the parameters; others may, too
	Own bool
	// linked now
	Publishers int
	// accepted into the buffer
	Messages uint64
	// of the payload of Messages
	Bytes uint64
	// messages, for all causes
	Dropped uint64
	// Dropped by cause; nil if nothing was dropped
	Causes map[string]uint64
	// messages that were published and never arrived, as far as publishers number messages
	Missed uint64
	// as in PublisherSummary
	LinksLost int
	// as in TopicSummary
	LeftOut uint64
	// messages that came while paused or stopped
	Passed uint64
	// as in TopicSummary
	HeldUp time.Duration
	// publishers that were not connected to: Refused and Unlinked of TopicSummary
	Refused int
	// when the last message came; zero if none did
	Last time.Time
	// header.stamp of the last message of which it is known; zero for none
	Stamp time.Time
	// when that message came
	Stamped time.Time
	// messages that came, whatever became of them; also while paused or stopped
	Came uint64
	// of their frames
	CameBytes uint64
	// there was a publisher that latches: the topic need not go on
	Latching bool
}

// Subscribed returns the number of topics without those on which only the recorder itself publishes, and
// how many of these have no publisher.
func (s *Stats) Subscribed() (topics, unlinked int) {
	for i := range s.Topics {
		switch t := &s.Topics[i]; {
		case t.Publishers > 0:
			topics++
		case !t.Own && t.Topic != EndedTopics:
			topics++
			unlinked++
		}
	}
	return topics, unlinked
}

// Arrived returns the number of messages received, including those that were not recorded. The number
// never falls, although a message that is lost later moves from Messages to Dropped. Messages beyond the
// number that a limit allows are not included: the recorder ends the links of such a topic.
func (t *TopicStats) Arrived() uint64 { return t.Messages + t.Dropped + t.Passed + t.LeftOut }

// SnapshotStats is a live account of snapshots.
type SnapshotStats struct {
	Mode   SnapshotMode
	Held   time.Duration // how far back a snapshot would reach now
	Bytes  int64         // of memory that is kept for a snapshot
	Most   int64         // the bound of Bytes
	Taken  int           // snapshots until now
	Failed int           // snapshots that could not begin
	File   string        // the bag whose post-roll goes on, by its final name; empty for none
}

// HandoverStats is the live account of a Handover.
type HandoverStats struct {
	Waiting      int       // finished files that are not handed over yet
	WaitingBytes int64     // bytes of the waiting files
	Done         int       // files that were handed over
	DoneBytes    int64     // bytes of the files that were handed over
	LastDone     time.Time // when the latest file was handed over; zero if none was
	Deleted      int       // files that were deleted after they were handed over
	Sent         int64     // bytes sent, repetitions included
	Failures     int       // tries that failed
	Refused      int       // files that are not accepted
	Lost         int       // files that were deleted before they were handed over
	Err          string    // why the last try failed; empty if it succeeded

	State      HandoverState // of the place that files are handed to
	StateSince time.Time
	StateErr   string // why the place is unreachable or failing, and what to do
}

// HandoverState is what the last contact with the place that files are handed to has shown.
type HandoverState int

// The zero value means that there was no contact yet.
const (
	HandoverUnchecked HandoverState = iota
	HandoverOK
	HandoverUnreachable // the place does not answer: files wait until it does
	HandoverFailing     // the place refuses files until somebody does something about that
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
	Option     string // the option that set the trigger, as "stop-on"
	Expression string
	Topics     []string // resolved names of the topics that the trigger watches
	Messages   uint64   // messages that the expression was evaluated for
	Fired      uint64
	Suppressed uint64   // times that the expression turned true soon after it had fired
	Refused    uint64   // times that the trigger fired and the recording did not do what the trigger asks for
	Skipped    uint64   // messages of Topics that were not looked at: too large, or too many at once
	Errors     uint64   // messages for which the expression could not be evaluated
	Silent     []string // topics of Topics that had no message
}
