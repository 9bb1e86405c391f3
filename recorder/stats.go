package recorder

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// dropCause says why messages that were received are not in the bag.
type dropCause int

const (
	dropBufferFull dropCause = iota // no room in the buffer
	dropOversize                    // one message larger than the whole buffer
	dropDisk                        // the file could not be written
	dropHurry                       // skipped at the end on request
	dropCodec                       // the compressor failed
	dropLink                        // the publisher stalled in the middle of it
	dropDeleted                     // the file was deleted while it was recorded
	dropUDP                         // lost on the way over UDPROS
	dropCauses                      // their number
)

// String returns the cause as it stands in logs and summaries.
func (c dropCause) String() string {
	switch c {
	case dropBufferFull:
		return "queue_full"
	case dropOversize:
		return "oversize"
	case dropDisk:
		return "disk"
	case dropHurry:
		return "hurried_end"
	case dropCodec:
		return "codec"
	case dropLink:
		return "link"
	case dropDeleted:
		return "deleted"
	case dropUDP:
		return "udp"
	case dropCauses:
	}
	return "unknown"
}

// drop counts messages of t that were received and are lost; those beyond the limit
// nobody asked for. mu is held.
func (p *pipeline) drop(t *topic, cause dropCause, messages uint64) {
	if t.limit > 0 {
		messages = min(messages, t.limit-min(t.messages, t.limit))
	}
	t.dropped[cause] += messages
}

// drop is one line of the report of tick.
type drop struct {
	topic    string
	cause    dropCause
	messages uint64
}

// newDrops returns what is to be told of drops. mu is held.
func (p *pipeline) newDrops(now time.Time) []drop {
	var all []drop
	for _, t := range p.topics {
		for cause, n := range t.dropped {
			if d := t.warned[cause].news(n, now); d > 0 {
				all = append(all, drop{t.name, dropCause(cause), d})
			}
		}
	}
	return all
}

// Summary is the account of one recording.
type Summary struct {
	File     string        // the last bag; empty if there was none
	Bytes    int64         // of all files
	Files    []FileSummary // in the order of their beginning
	Duration time.Duration
	Topics   []TopicSummary                // by name
	Missing  []string                      // names, expressions, globs and types asked for that never appeared
	Chunks   map[bagfmt.Compression]uint64 // written in all files, by how they are compressed; nil without Options.Adaptive
}

// FileSummary is one file of a recording.
type FileSummary struct {
	File    string // where it is now, or was
	Bytes   int64
	Deleted bool // to keep within the limits that Options.Retain sets, or by somebody else while it was recorded
	// Snapshot says that it was written by Options.Snapshot. Beside a recording what is
	// in it counts only for that.
	Snapshot bool
}

// TopicSummary is the account of one topic.
type TopicSummary struct {
	Topic      string
	Type       string             // of the first publisher; empty if there was none
	Publishers []PublisherSummary // in order of their first connection
	Messages   uint64             // in the bags
	Repeated   uint64             // of latched messages at the start of later files; not in Messages
	Pickup     time.Duration      // at most so long after its registration a new topic was linked to; zero if it was there before
	Skipped    uint64             // as Options.Limits asks
	Passed     uint64             // while paused or stopped
	Bytes      uint64             // payload of the messages that went into chunks
	Dropped    map[string]uint64
}

// PublisherSummary is the account of one publisher of a topic.
type PublisherSummary struct {
	CallerID    string        // or its address, if it says no name
	Missed      uint64        // messages that it numbered in header.seq and that never reached us
	LinksLost   int           // that ended without a reason: it was killed, or the network failed
	Reconnected int           // times that it came back else, such as a node that was started again: no loss
	Without     time.Duration // time without a link for either
	Away        bool          // the last one that was lost did not come back
}

// Messages returns the number of messages in the bag.
func (s *Summary) Messages() uint64 {
	var n uint64
	for i := range s.Topics {
		n += s.Topics[i].Messages
	}
	return n
}

// Dropped returns the number of messages that were received and are not in the bag.
func (s *Summary) Dropped() uint64 {
	var n uint64
	for i := range s.Topics {
		for _, d := range s.Topics[i].Dropped {
			n += d
		}
	}
	return n
}

// Missed returns the number of messages that were published and never reached us, as
// far as publishers number theirs.
func (s *Summary) Missed() uint64 {
	var n uint64
	for i := range s.Topics {
		n += s.Topics[i].Missed()
	}
	return n
}

// Missed is that of one topic.
func (t *TopicSummary) Missed() (n uint64) {
	for i := range t.Publishers {
		n += t.Publishers[i].Missed
	}
	return n
}

// LinksLost returns how many links to publishers were lost.
func (s *Summary) LinksLost() (n int) {
	for i := range s.Topics {
		for j := range s.Topics[i].Publishers {
			n += s.Topics[i].Publishers[j].LinksLost
		}
	}
	return n
}

// Losses says in words what is not in the bag; empty if nothing is known to be
// missing. A link that was lost counts: what its publisher had still to say is gone,
// and nobody knows how much that was.
func (s *Summary) Losses() string {
	var parts []string
	if n := s.Dropped(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d messages were lost", n))
	}
	if n := s.Missed(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d messages were published and never arrived", n))
	}
	if n := s.LinksLost(); n > 0 {
		parts = append(parts, fmt.Sprintf("links to publishers were lost (%d)", n))
	}
	return strings.Join(parts, ", ")
}

// summary reads the accounts after the pipeline has been closed.
func (r *recording) summary(d time.Duration) Summary {
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	s := Summary{Duration: d}
	if r.Adaptive {
		s.Chunks = maps.Clone(r.pipe.ladder.stored)
	}
	for _, b := range r.pipe.done {
		if !b.snapshot || r.pipe.snaps.only() {
			s.File = b.sealed
		}
		s.Bytes += b.end
		s.Files = append(s.Files, FileSummary{b.sealed, b.end, r.pipe.retain.deleted(b) || errors.Is(b.away, errDeleted), b.snapshot})
	}
	if out := r.pipe.out; r.pipe.abandoned && out != nil {
		s.File = out.target + activeSuffix
		s.Bytes += r.pipe.parts.stored
		s.Files = append(s.Files, FileSummary{File: s.File, Bytes: r.pipe.parts.stored})
	}
	s.Topics = r.pipe.accounts(time.Now())
	for _, t := range s.Topics {
		if len(t.Publishers) == 0 && slices.Contains(r.Select.literal, t.Topic) {
			s.Missing = append(s.Missing, t.Topic)
		}
	}
	s.Missing = append(s.Missing, r.Select.unmatched()...)
	return s
}

// accounts returns those of the topics, by name. mu is held.
func (p *pipeline) accounts(now time.Time) []TopicSummary {
	all := make([]TopicSummary, 0, len(p.topics))
	for _, t := range p.topics {
		ts := TopicSummary{Topic: t.name, Messages: p.recorded(t), Repeated: t.repeated, Skipped: t.skipped, Passed: t.passed, Pickup: t.pickup, Bytes: t.bytes, Dropped: map[string]uint64{}}
		for _, c := range t.conns {
			if ts.Type == "" {
				ts.Type = c.conn.Header.Type()
			}
		}
		for _, u := range t.publishers {
			ts.Publishers = append(ts.Publishers, PublisherSummary{CallerID: u.id, Missed: u.missed, LinksLost: u.lost, Reconnected: u.back, Away: u.gone, Without: u.without(now)})
		}
		for cause, n := range t.dropped {
			if n > 0 {
				ts.Dropped[dropCause(cause).String()] = n
			}
		}
		all = append(all, ts)
	}
	slices.SortFunc(all, func(a, b TopicSummary) int { return strings.Compare(a.Topic, b.Topic) })
	return all
}
