package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Summary is the final account of one recording.
type Summary struct {
	// the last bag; empty if there was none
	File string
	// of all files
	Bytes int64
	// the latest files, in the order of their end
	Files []FileSummary
	// the files before Files
	Earlier  EarlierFiles
	Duration time.Duration
	// by name
	Topics []TopicSummary
	// nil without Options.Watch
	Triggers []TriggerStats
	// what was wrong with topics
	Findings []FindingSum
	// requested names, expressions, globs and types that never appeared
	Missing []string
	// why another node or the master has ended the recording, set by the program; empty if none has
	EndedBy string
	// the recording ended early because the disk is nearly full
	DiskFull bool
	// the master never answered, so that no topic could be recorded
	NoMaster bool
	// what could not be read of the master's replies, so that topics may be missing; empty if nothing
	Unread string
	// Unrecovered is how many files of crashed recorders were deleted for the limits of Options.Retain,
	// without a bag that has their messages.
	Unrecovered int
	// written in all files, by how they are compressed; nil without Options.Adaptive
	Chunks map[rosbag.Compression]uint64
}

// FileSummary is one file of a recording.
type FileSummary struct {
	File    string // where the file is now, or was
	Bytes   int64
	Deleted bool // as Options.Retain asks, or by somebody else while the file was recorded
	// Snapshot says that the file is that of a snapshot. Beside a recording, messages in it count
	// only for the recording.
	Snapshot bool
}

// EarlierFiles is the account of the files before the latest ones, all together. Snapshots
// are among the files.
type EarlierFiles struct {
	Files, Deleted, Snapshots int
	SnapshotBytes             int64
}

// TopicSummary is the account of one topic.
type TopicSummary struct {
	Topic string
	// of the first publisher; empty if there was none
	Type string
	// in order of their first connection
	Publishers []PublisherSummary
	// publishers that were gone before
	Former FormerPublishers
	// publishers whose headers there was no memory for; at most 256 are distinguished
	Refused int
	// publishers that there was no file descriptor for
	Unlinked UnlinkedPublishers
	// messages in the bags
	Messages uint64
	// latched messages that were repeated at the start of later files; not in Messages
	Repeated uint64
	// upper bound of the time from the registration of a new topic to its first link; zero if the topic
	// was there before
	Pickup time.Duration
	// what a topic that was never linked waited for at the end
	Waiting Waiting
	// messages that Options.Limits leaves out; messages beyond a Count are not included
	LeftOut uint64
	// messages that came while paused or stopped
	Passed uint64
	// of the payload of Messages
	Bytes uint64
	// publishers waited, with OverflowBlock, in waits of 3 s and more; what their queues did not hold is
	// not in Dropped
	HeldUp time.Duration
	// messages that were lost, by the String of a DropCause; without causes of none
	Dropped map[string]uint64
}

// UnlinkedPublishers are publishers that the recorder could not connect to because it had no file
// descriptor left.
type UnlinkedPublishers struct {
	Count int
	URIs  []string // of the first of them, at most MostUnlinkedNamed
}

// MostUnlinkedNamed is how many publishers UnlinkedPublishers names.
const MostUnlinkedNamed = 3

// FormerPublishers is the account of publishers that are gone, beyond the latest ones.
type FormerPublishers struct {
	Count       int
	Missed      uint64 // as in PublisherSummary, as is all that follows
	LinksLost   int
	Reconnected int
	Without     time.Duration
}

// PublisherSummary is the account of one publisher of a topic.
type PublisherSummary struct {
	// or the address of a publisher that says no name
	CallerID string
	// messages that the publisher numbered in header.seq and that never reached us
	Missed uint64
	// links that ended without a reason: the publisher was killed, or the network failed
	LinksLost int
	// times that the publisher came back without a loss, as a node that was started again
	Reconnected int
	// time without a link, after LinksLost and before Reconnected
	Without time.Duration
	// the link that was lost last did not come back
	Away bool
}

// sum adds up a figure of all topics.
func sum[T uint64 | int](topics []TopicSummary, of func(*TopicSummary) T) (n T) {
	for i := range topics {
		n += of(&topics[i])
	}
	return n
}

// Messages returns the number of messages in the bag.
func (s *Summary) Messages() uint64 {
	return sum(s.Topics, func(t *TopicSummary) uint64 { return t.Messages })
}

// Dropped returns the number of messages that were received and are not in the bag.
func (s *Summary) Dropped() uint64 {
	return sum(s.Topics, func(t *TopicSummary) (n uint64) {
		for _, d := range t.Dropped {
			n += d
		}
		return n
	})
}

// Missed returns the number of messages that were published and never reached us, as
// far as publishers number theirs.
func (s *Summary) Missed() uint64 { return sum(s.Topics, (*TopicSummary).Missed) }

// Missed returns the number of messages of the topic that were published and never reached us.
func (t *TopicSummary) Missed() (n uint64) {
	for i := range t.Publishers {
		n += t.Publishers[i].Missed
	}
	return n + t.Former.Missed
}

// LinksLost returns how many links to publishers were lost.
func (s *Summary) LinksLost() int {
	return sum(s.Topics, func(t *TopicSummary) int {
		n := t.Former.LinksLost
		for i := range t.Publishers {
			n += t.Publishers[i].LinksLost
		}
		return n
	})
}

// Refused returns how many publishers were refused because there was no memory for their headers.
func (s *Summary) Refused() int { return sum(s.Topics, func(t *TopicSummary) int { return t.Refused }) }

// Unlinked returns how many publishers there was no file descriptor for.
func (s *Summary) Unlinked() int {
	return sum(s.Topics, func(t *TopicSummary) int { return t.Unlinked.Count })
}

// Losses says in words what is not in the bag; empty if nothing is known to be
// missing. A lost link is a loss: messages of its publisher are missing, and it is not known
// how many.
func (s *Summary) Losses() string {
	var parts []string
	if n := s.Dropped(); n > 0 {
		parts = append(parts, wording.Plural(n, "message")+" "+wording.Were(n)+" lost")
	}
	if n := s.Missed(); n > 0 {
		parts = append(parts, wording.Plural(n, "message")+" "+wording.Were(n)+" published and never arrived")
	}
	if n := s.LinksLost(); n > 0 {
		parts = append(parts, fmt.Sprintf("links to publishers were lost (%d)", n))
	}
	if n := s.Refused(); n > 0 {
		parts = append(parts, fmt.Sprintf("publishers were refused (%d)", n))
	}
	if n := s.Unlinked(); n > 0 {
		parts = append(parts,
			fmt.Sprintf("publishers were not connected to because no file descriptor was left (%d)", n))
	}
	if s.NoMaster {
		parts = append(parts, "the master never answered")
	}
	if s.Unread != "" {
		parts = append(parts, fmt.Sprintf("replies of the master could not be read in full (%s)", s.Unread))
	}
	if n := s.Unrecovered; n > 0 {
		parts = append(parts,
			fmt.Sprintf("files of crashed recorders were deleted before they were recovered (%d)", n))
	}
	return strings.Join(parts, ", ")
}

// Unmet says in words which expectations of the user were not met; empty if all were.
func (s *Summary) Unmet() string {
	var parts []string
	for i := range s.Findings {
		if f := &s.Findings[i]; f.Expected {
			parts = append(parts, wording.Escape(f.Topic)+" ("+f.Kind.String()+")")
		}
	}
	return strings.Join(parts, ", ")
}

// Waiting returns how many topics waited for w when the recording ended.
func (s *Summary) Waiting(w Waiting) (n int) {
	for i := range s.Topics {
		if s.Topics[i].Waiting == w {
			n++
		}
	}
	return n
}
