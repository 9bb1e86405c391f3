package recorder

import (
	"slices"
	"strings"
	"time"
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

// newDrops returns what was dropped since the last call. mu is held.
func (p *pipeline) newDrops() []drop {
	var all []drop
	for _, t := range p.topics {
		for cause, n := range t.dropped {
			if d := n - t.warned[cause]; d > 0 {
				t.warned[cause] = n
				all = append(all, drop{t.name, dropCause(cause), d})
			}
		}
	}
	return all
}

// Summary is the account of one recording.
type Summary struct {
	File     string        // the last bag
	Bytes    int64         // of all files
	Files    []FileSummary // in the order of their beginning
	Duration time.Duration
	Topics   []TopicSummary // by name
	Missing  []string       // names, expressions, globs and types asked for that never appeared
}

// FileSummary is one file of a recording.
type FileSummary struct {
	File    string // where it is now, or was
	Bytes   int64
	Deleted bool // to keep within the limits that Options.Retain sets
}

// TopicSummary is the account of one topic.
type TopicSummary struct {
	Topic      string
	Type       string        // of the first publisher; empty if there was none
	Publishers []string      // callerids, in order of their first connection
	Messages   uint64        // in the bags
	Repeated   uint64        // of latched messages at the start of later files; not in Messages
	Pickup     time.Duration // at most so long after its registration a new topic was linked to; zero if it was there before
	Skipped    uint64        // as Options.Limits asks
	Passed     uint64        // while paused or stopped
	Bytes      uint64        // payload of the messages that went into chunks
	Dropped    map[string]uint64
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

// summary reads the accounts after the pipeline has been closed.
func (r *recording) summary(d time.Duration) Summary {
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	s := Summary{Duration: d}
	for _, b := range r.pipe.done {
		s.File = b.sealed
		s.Bytes += b.end
		s.Files = append(s.Files, FileSummary{b.sealed, b.end, r.pipe.retain.deleted(b)})
	}
	for _, t := range r.pipe.topics {
		ts := TopicSummary{Topic: t.name, Messages: t.messages, Repeated: t.repeated, Skipped: t.skipped, Passed: t.passed, Pickup: t.pickup, Bytes: t.bytes, Dropped: map[string]uint64{}}
		for _, c := range t.conns {
			if ts.Type == "" {
				ts.Type = c.conn.Header.Type()
			}
			if id := c.conn.Header.CallerID(); !slices.Contains(ts.Publishers, id) {
				ts.Publishers = append(ts.Publishers, id)
			}
		}
		for cause, n := range t.dropped {
			if n > 0 {
				ts.Dropped[dropCause(cause).String()] = n
			}
		}
		s.Topics = append(s.Topics, ts)
	}
	for _, t := range s.Topics {
		if len(t.Publishers) == 0 && slices.Contains(r.Select.literal, t.Topic) {
			s.Missing = append(s.Missing, t.Topic)
		}
	}
	s.Missing = append(s.Missing, r.Select.unmatched()...)
	slices.SortFunc(s.Topics, func(a, b TopicSummary) int { return strings.Compare(a.Topic, b.Topic) })
	return s
}
