package account

import (
	"cmp"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// tallies returns the connections that have messages in a chunk, and how many messages each of them has.
// Connections that were released are left out.
func (a *Accounts) tallies(c *chunk.Sealed) iter.Seq2[*Connection, Tally] {
	return func(yield func(*Connection, Tally) bool) {
		for i, n := range c.Counts {
			if of := a.connections.Of(n.Conn); of != nil &&
				!yield(of, Tally{uint64(n.Count), c.PayloadBytes[i]}) {
				return
			}
		}
	}
}

// Written counts the messages of a chunk that is in the file of a part; -1 stands for a snapshot.
func (a *Accounts) Written(c *chunk.Sealed, part int) {
	for of, n := range a.tallies(c) {
		of.NoteWritten(part)
		of.topic.written.Add(n)
	}
}

// Abandon counts as lost to the disk all messages that are not in a file. With OnlySnapshots, it is not
// known which messages would have been written.
func (a *Accounts) Abandon() {
	if a.onlySnapshots {
		return
	}
	for _, t := range a.topics {
		t.dropped[control.DropDisk] += t.recorded.Messages - t.written.Messages
		t.recorded = t.written
	}
}

// Repeated counts the repeated latched messages in a chunk.
func (a *Accounts) Repeated(c *chunk.Sealed) {
	for of, n := range a.tallies(c) {
		of.topic.repeated += n.Messages
	}
}

// Lost counts as lost the messages of a chunk that will not be written.
func (a *Accounts) Lost(c *chunk.Sealed, cause control.DropCause) {
	for of, n := range a.tallies(c) {
		a.lose(of.topic, n, cause)
	}
}

// lose counts as lost messages that were put into a chunk.
func (a *Accounts) lose(t *Topic, n Tally, cause control.DropCause) {
	if !a.onlySnapshots {
		t.recorded.sub(n)
	}
	t.dropped[cause] += n.Messages
}

// Deleted counts as lost the messages of a deleted file, by topic. The topics of a snapshot may have
// ended before its file is closed.
func (a *Accounts) Deleted(content map[string]Tally) {
	// once: a search for each of thousands of topics holds the lock for long
	byName := make(map[string]*Topic, len(a.topics))
	for _, t := range a.topics {
		byName[string(t.name)] = t
	}
	for name, n := range content {
		if t := cmp.Or(byName[name], a.ended); t != nil {
			t.written.sub(n)
			a.lose(t, n, control.DropDeleted)
		}
	}
}
