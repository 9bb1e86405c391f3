package account

import (
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// eachCount calls do with each connection that has messages in a chunk, and with these messages.
func (a *Accounts) eachCount(c *chunk.Sealed, do func(*Connection, Tally)) {
	for i, n := range c.Counts {
		if of := a.Connections.Of(n.Conn); of != nil {
			do(of, Tally{uint64(n.Count), c.PayloadBytes[i]})
		}
	}
}

// Written counts the messages of a chunk that is in the file of a part.
func (a *Accounts) Written(c *chunk.Sealed, part int) {
	a.eachCount(c, func(of *Connection, n Tally) {
		of.NoteWritten(part)
		of.Topic.Written.Add(n)
	})
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
	a.eachCount(c, func(of *Connection, n Tally) { of.Topic.Written.Add(n) })
}

// Repeated counts the latched messages in a chunk, which were repeated.
func (a *Accounts) Repeated(c *chunk.Sealed) {
	a.eachCount(c, func(of *Connection, n Tally) { of.Topic.Repeated += n.Messages })
}

// Lost counts the messages of a chunk that should be in a snapshot and are not, where nothing else is
// written.
func (a *Accounts) Lost(c *chunk.Sealed, cause control.DropCause) {
	a.eachCount(c, func(of *Connection, n Tally) { of.Topic.Dropped[cause] += n.Messages })
}

// LostWithChunk counts the messages of a chunk that will not be written.
func (a *Accounts) LostWithChunk(c *chunk.Sealed, cause control.DropCause) {
	a.eachCount(c, func(of *Connection, n Tally) {
		of.Topic.sub(n)
		of.Topic.Dropped[cause] += n.Messages
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
