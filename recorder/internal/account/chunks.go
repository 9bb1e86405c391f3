package account

import (
	"cmp"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// tallies returns the connections that have messages in a chunk, and how many messages each of them has. Connections
// that were released are left out.
func (a *Accounts) tallies(c *chunk.Sealed) iter.Seq2[*Connection, Tally] {
	return func(yield func(*Connection, Tally) bool) {
		for i, n := range c.Counts {
			if of := a.Connections.Of(n.Conn); of != nil && !yield(of, Tally{uint64(n.Count), c.PayloadBytes[i]}) {
				return
			}
		}
	}
}

// Written counts the messages of a chunk that is in the file of a part.
func (a *Accounts) Written(c *chunk.Sealed, part int) {
	for of, n := range a.tallies(c) {
		of.NoteWritten(part)
		of.Topic.Written.Add(n)
	}
}

// Abandon counts as lost to the disk all messages that are not in a file.
func (a *Accounts) Abandon() {
	for _, t := range a.Topics {
		t.Dropped[control.DropDisk] += t.Messages - t.Written.Messages
		t.Tally = t.Written
	}
}

// WrittenToSnapshot counts the messages of a chunk that is in a snapshot, if nothing else is written.
func (a *Accounts) WrittenToSnapshot(c *chunk.Sealed) {
	for of, n := range a.tallies(c) {
		of.Topic.Written.Add(n)
	}
}

// Repeated counts the repeated latched messages in a chunk.
func (a *Accounts) Repeated(c *chunk.Sealed) {
	for of, n := range a.tallies(c) {
		of.Topic.Repeated += n.Messages
	}
}

// Lost counts as lost the messages of a chunk that should be in a snapshot, if nothing else is written.
func (a *Accounts) Lost(c *chunk.Sealed, cause control.DropCause) {
	for of, n := range a.tallies(c) {
		of.Topic.Dropped[cause] += n.Messages
	}
}

// LostWithChunk counts as lost the messages of a chunk that will not be written.
func (a *Accounts) LostWithChunk(c *chunk.Sealed, cause control.DropCause) {
	for of, n := range a.tallies(c) {
		of.Topic.sub(n)
		of.Topic.Dropped[cause] += n.Messages
	}
}

// Deleted counts as lost the messages of a deleted file, by topic. The topics of a snapshot may have ended before its
// file is closed. If only snapshots are written, the tally of a topic stays: it has all messages that were received
// outside pauses, whether they are in a file or not.
func (a *Accounts) Deleted(content map[string]Tally, onlySnapshots bool) {
	for name, n := range content {
		t := cmp.Or(named(a.Topics, name), a.ended)
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
