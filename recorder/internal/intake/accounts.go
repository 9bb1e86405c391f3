package intake

import (
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Accounts has the accounts of the topics, connections and publishers of a recording, behind the lock of
// the intake. It knows nothing of memory and files: its methods are for what others find out and ask, and
// need no decision of the intake.
type Accounts struct {
	mu     *sync.Mutex // the one lock of the intake
	all    account.Accounts
	closed int           // the files of all parts below this number are closed
	gaps   chan struct{} // gets a token when there are sequence gaps that are not verified

	// recorded reports whether messages of a topic go into the bag now. It is called with the lock.
	recorded func(*account.Topic) bool
}

// Gaps returns a channel that gets a token when there are sequence gaps that are not verified.
func (a *Accounts) Gaps() <-chan struct{} { return a.gaps }

// Summary returns the accounts of all topics, and which parts of the master's replies could not be read.
func (a *Accounts) Summary(now time.Time) control.Summary {
	a.mu.Lock()
	defer a.mu.Unlock()
	return control.Summary{Topics: a.all.Summaries(now), Unread: a.all.EverUnread()}
}

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (a *Accounts) Overdue(now time.Time) []loss.PublisherKey {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.Overdue(a.recorded, now)
}

// Unverified returns the publishers with gaps in the numbers of their messages of which it is not known
// whether they number their messages themselves.
func (a *Accounts) Unverified() []loss.PublisherKey {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.Unverified()
}

// SetListed sets whether the master lists publishers. Those that have a link again are left out.
func (a *Accounts) SetListed(listed map[loss.PublisherKey]bool, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.SetListed(listed, now)
}

// SetForeign sets whether another node numbers the messages of a publisher, if the publisher is still the
// same process.
func (a *Accounts) SetForeign(k loss.PublisherKey, foreign bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.SetForeign(k, foreign)
}

// Lose counts as lost the messages of a chunk that will not be written.
func (a *Accounts) Lose(c *chunk.Sealed, cause control.DropCause) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Lost(c, cause)
}

// CountDeleted counts the messages of a deleted file, by topic, as lost.
func (a *Accounts) CountDeleted(content map[string]account.Tally) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Deleted(content)
}

// FileClosed notes that the files of all parts up to part are closed.
func (a *Accounts) FileClosed(part int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = part + 1
}

// NewTopic returns an account that is listed with its first link.
func (a *Accounts) NewTopic(name topicname.InGraph) *account.Topic { return a.all.NewTopic(name) }

// AddTopic makes an account for a topic, or finds that of a topic that was left. since is a time before
// the topic was registered; zero if that is not known.
func (a *Accounts) AddTopic(name topicname.InBag, resolved topicname.InGraph,
	since time.Time,
) *account.Topic {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.AddTopic(name, resolved, since)
}

// LeaveTopic notes that a topic without links is not subscribed to any more. Only AddTopic may return its
// account again.
func (a *Accounts) LeaveTopic(t *account.Topic) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Leave(t, time.Now())
}

// IsLinked reports whether a link of t is open.
func (a *Accounts) IsLinked(t *account.Topic) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return t.IsLinked()
}

// ReachedLimit reports whether a topic has a limit of messages and has reached it.
func (a *Accounts) ReachedLimit(t *account.Topic) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return t.AtLimit()
}

// NoteWaiting notes what topics wait for at the end of the recording.
func (a *Accounts) NoteWaiting(waiting map[*account.Topic]control.Waiting) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t, w := range waiting {
		t.NoteWaiting(w)
	}
}

// NoteUnread notes which parts of the master's replies could not be read, so that topics may be missing:
// now is about the last replies, ever about all.
func (a *Accounts) NoteUnread(now, ever string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.NoteUnread(now, ever)
}

// LatchingOf returns the latching connections with messages in a chunk, nil if there are none.
func (a *Accounts) LatchingOf(c *chunk.Sealed) map[rosbag.ConnID]*latch.Source {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.LatchingOf(c)
}

// RepeatedInSnapshot counts the latched messages of a chunk that was written to a snapshot.
func (a *Accounts) RepeatedInSnapshot(c *chunk.Sealed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Repeated(c)
}

// SnapshotWritten counts the messages of a chunk that is in a snapshot, if nothing else is written.
func (a *Accounts) SnapshotWritten(c *chunk.Sealed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Written(c, -1)
}

// needsLocked reports whether a file that is not closed needs the record of a connection.
func (a *Accounts) needsLocked(c *account.Connection) bool { return !c.Within(a.closed) }
