package intake

import (
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// Lose counts the messages of a chunk that will not be written.
func (d Files) Lose(c *memory.Chunk, cause account.DropCause) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Account.EachCount(c.Sealed, func(t *account.Topic, n account.Tally) {
		t.Sub(n)
		t.Dropped[cause] += n.Messages
	})
}

// LoseFromSnapshot counts the messages of a chunk that should be in a snapshot and are not,
// where nothing else is written.
func (d Snapshots) LoseFromSnapshot(c *chunk.Sealed, cause account.DropCause) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Account.EachCount(c, func(t *account.Topic, n account.Tally) { t.Dropped[cause] += n.Messages })
}

// SnapshotWritten counts the messages of a chunk that is in a snapshot, where nothing else is
// written.
func (d Snapshots) SnapshotWritten(c *chunk.Sealed) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Account.EachCount(c, func(t *account.Topic, n account.Tally) { t.Written.Add(n) })
}

// CountDeleted takes the messages of a deleted file, by topic, for lost. Where only snapshots are
// written, messages are those that came, and what came in a pause is not among them.
func (d Files) CountDeleted(content map[string]account.Tally) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	for name, n := range content {
		t := in.Account.Named(name)
		if t == nil {
			continue
		}
		if !in.Ring.IsOnly() {
			t.Sub(n)
		}
		t.Written.Sub(n)
		t.Dropped[account.DropDeleted] += n.Messages
	}
}
