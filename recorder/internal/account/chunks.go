package account

import (
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// eachCount calls do with the topic and the messages of each connection that has messages in a chunk.
func (a *Accounts) eachCount(c *chunk.Sealed, do func(*Topic, Tally)) {
	for i, n := range c.Counts {
		if of := a.Connections.Of(n.Conn); of != nil {
			do(of.Topic, Tally{uint64(n.Count), c.PayloadBytes[i]})
		}
	}
}

// Written counts the messages of a chunk that is in the file of a part.
func (a *Accounts) Written(c *chunk.Sealed, part int) {
	for i, n := range c.Counts {
		if of := a.Connections.Of(n.Conn); of != nil {
			of.NoteWritten(part)
			of.Topic.Written.Add(Tally{uint64(n.Count), c.PayloadBytes[i]})
		}
	}
}

// Abandon counts as lost to the disk all messages that are not in a file.
func (a *Accounts) Abandon() {
	for _, t := range a.Topics {
		t.Dropped[control.DropDisk] += t.Messages - t.Written.Messages
		t.Tally = t.Written
	}
}

// WrittenToSnapshot counts the messages of a chunk that is in a snapshot, where nothing else is written.
func (a *Accounts) WrittenToSnapshot(c *chunk.Sealed) {
	a.eachCount(c, func(t *Topic, n Tally) { t.Written.Add(n) })
}

// Repeated counts the latched messages in a chunk, which were repeated.
func (a *Accounts) Repeated(c *chunk.Sealed) {
	a.eachCount(c, func(t *Topic, n Tally) { t.Repeated += n.Messages })
}

// Lost counts the messages of a chunk that should be in a snapshot and are not, where nothing else is
// written.
func (a *Accounts) Lost(c *chunk.Sealed, cause control.DropCause) {
	a.eachCount(c, func(t *Topic, n Tally) { t.Dropped[cause] += n.Messages })
}

// LostWithChunk counts the messages of a chunk that will not be written.
func (a *Accounts) LostWithChunk(c *chunk.Sealed, cause control.DropCause) {
	a.eachCount(c, func(t *Topic, n Tally) {
		t.sub(n)
		t.Dropped[cause] += n.Messages
	})
}

// Deleted takes the messages of a deleted file, by topic, for lost. Where only snapshots are written, the
// tally of a topic has all messages that came, and none that came in a pause.
func (a *Accounts) Deleted(content map[string]Tally, onlySnapshots bool) {
	for name, n := range content {
		t := named(a.Topics, name)
		if t == nil {
			continue
		}
		if !onlySnapshots {
			t.sub(n)
		}
		t.Written.sub(n)
		t.Dropped[control.DropDeleted] += n.Messages
	}
}
