package intake

import (
	"slices"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// NoteWaiting notes it of topics that were never linked.
func (d Links) NoteWaiting(waiting map[*Topic]Waiting) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	for t, w := range waiting {
		if !t.met {
			t.waitsFor = w
		}
	}
}

// unread is what could not be read of the master's replies, so that topics may be missing: of the
// last replies, and at the last time that there was something.
type unread struct{ now, ever string }

// NoteUnread notes what could not be read of the last replies, and what at any time.
func (d Links) NoteUnread(now, ever string) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.unread = unread{now, ever}
}

// IsLinked reports whether a link of t is open.
func (d Links) IsLinked(t *Topic) bool {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return t.Linked > 0
}

// LeaveTopic releases what is not needed of a topic without links but its account.
func (d Links) LeaveTopic(t *Topic) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.FoldPublishers(t, 0, func(*loss.Publisher) bool { return true })
}

// List makes sure that the account has t.
func (d Links) List(t *Topic) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if !slices.Contains(in.Topics, t) {
		in.Topics = append(in.Topics, t)
	}
}
