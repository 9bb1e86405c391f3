package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// dropCause says why messages that were received are not in the bag.
type dropCause int

const (
	dropBufferFull dropCause = iota // no room in the buffer
	dropOversize                    // one message larger than the whole buffer
	dropDisk                        // the file could not be written
	dropAborted                     // skipped at the end on request
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
	case dropAborted:
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

// drop counts messages that were received and are lost; those beyond the limit
// are not wanted and do not count.
func (t *topic) drop(cause dropCause, messages uint64) {
	if t.limit > 0 {
		messages = min(messages, t.limit-min(t.messages, t.limit))
	}
	t.dropped[cause] += messages
}

// lose counts the messages of a chunk that will not be written.
func (in *intake) lose(c *memory.Chunk, cause dropCause) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.eachCount(c.Sealed, func(t *topic, n tally) {
		t.sub(n)
		t.dropped[cause] += n.messages
	})
}

// loseFromSnapshot counts the messages of a chunk that should be in a snapshot and are not,
// where nothing else is written.
func (in *intake) loseFromSnapshot(c *bagfmt.SealedChunk, cause dropCause) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.eachCount(c, func(t *topic, n tally) { t.dropped[cause] += n.messages })
}

// snapshotWritten counts the messages of a chunk that is in a snapshot, where nothing else is
// written.
func (in *intake) snapshotWritten(c *bagfmt.SealedChunk) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.eachCount(c, func(t *topic, n tally) { t.written.add(n) })
}

// countDeleted takes the messages of a deleted file, by topic, for lost. Where only snapshots are
// written, messages are those that came, and what came in a pause is not among them.
func (in *intake) countDeleted(content map[string]tally) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, n := range content {
		t := topicNamed(in.topics, name)
		if t == nil {
			continue
		}
		if !in.ring.IsOnly() {
			t.sub(n)
		}
		t.written.sub(n)
		t.dropped[dropDeleted] += n.messages
	}
}

// eachCount calls do with the topic and the messages of each connection that has some in a
// chunk. mu is held.
func (in *intake) eachCount(c *bagfmt.SealedChunk, do func(*topic, tally)) {
	for i, n := range c.Counts {
		if of := in.connections.of(n.Conn); of != nil {
			do(of.topic, tally{uint64(n.Count), c.PayloadBytes[i]})
		}
	}
}

// drop is one line of the report of tick.
type drop struct {
	topic    string
	cause    dropCause
	messages uint64
}

// newDrops returns what is to be told of drops. mu is held.
func (in *intake) newDrops(now time.Time) []drop {
	var all []drop
	for _, t := range in.topics {
		if t.reportedDrops == nil {
			if t.dropped == [dropCauses]uint64{} {
				continue
			}
			t.reportedDrops = new([dropCauses]loss.Told)
		}
		for cause, n := range t.dropped {
			if d := t.reportedDrops[cause].News(n, now); d > 0 {
				all = append(all, drop{t.name, dropCause(cause), d})
			}
		}
	}
	return all
}
