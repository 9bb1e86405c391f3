package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// Drop counts messages that were received and are lost; those beyond the limit
// are not wanted and do not count.
func (t *Topic) Drop(cause DropCause, messages uint64) {
	if t.Limit > 0 {
		messages = min(messages, t.Limit-min(t.Messages, t.Limit))
	}
	t.Dropped[cause] += messages
}

// Lose counts the messages of a chunk that will not be written.
func (d Files) Lose(c *memory.Chunk, cause DropCause) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.eachCount(c.Sealed, func(t *Topic, n Tally) {
		t.sub(n)
		t.Dropped[cause] += n.Messages
	})
}

// LoseFromSnapshot counts the messages of a chunk that should be in a snapshot and are not,
// where nothing else is written.
func (d Snapshots) LoseFromSnapshot(c *chunk.Sealed, cause DropCause) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.eachCount(c, func(t *Topic, n Tally) { t.Dropped[cause] += n.Messages })
}

// SnapshotWritten counts the messages of a chunk that is in a snapshot, where nothing else is
// written.
func (d Snapshots) SnapshotWritten(c *chunk.Sealed) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.eachCount(c, func(t *Topic, n Tally) { t.Written.Add(n) })
}

// CountDeleted takes the messages of a deleted file, by topic, for lost. Where only snapshots are
// written, messages are those that came, and what came in a pause is not among them.
func (d Files) CountDeleted(content map[string]Tally) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	for name, n := range content {
		t := topicNamed(in.Topics, name)
		if t == nil {
			continue
		}
		if !in.Ring.IsOnly() {
			t.sub(n)
		}
		t.Written.sub(n)
		t.Dropped[DropDeleted] += n.Messages
	}
}

// eachCount calls do with the topic and the messages of each connection that has some in a
// chunk. mu is held.
func (in *Intake) eachCount(c *chunk.Sealed, do func(*Topic, Tally)) {
	for i, n := range c.Counts {
		if of := in.Connections.of(n.Conn); of != nil {
			do(of.Topic, Tally{uint64(n.Count), c.PayloadBytes[i]})
		}
	}
}

// drop is one line of the report of tick.
type drop struct {
	topic    string
	cause    DropCause
	messages uint64
}

// newDrops returns what is to be told of drops. mu is held.
func (in *Intake) newDrops(now time.Time) []drop {
	var all []drop
	for _, t := range in.Topics {
		if t.reportedDrops == nil {
			if t.Dropped == [DropCauses]uint64{} {
				continue
			}
			t.reportedDrops = new([DropCauses]loss.Told)
		}
		for cause, n := range t.Dropped {
			if d := t.reportedDrops[cause].News(n, now); d > 0 {
				all = append(all, drop{t.Name, DropCause(cause), d})
			}
		}
	}
	return all
}
