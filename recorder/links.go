package recorder

import (
	"slices"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Waiting says what a topic without any publisher so far was waiting for when the recording
// ended.
type Waiting int

// The zero value says that nothing was in the way: there was a link, or no publisher.
const (
	WaitingNone      Waiting = iota
	WaitingMaster            // to be registered with the master, which had others before it or did not answer
	WaitingPublisher         // for a publisher that the master lists and that was not reached
)

// noteWaiting notes it of topics that were never linked.
func (in *intake) noteWaiting(waiting map[*topic]Waiting) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for t, w := range waiting {
		if !t.met {
			t.waitsFor = w
		}
	}
}

// unread is what could not be read of the master's replies, so that topics may be missing: of the
// last replies, and at the last time that there was something.
type unread struct{ now, ever string }

func (in *intake) noteUnread(u unread) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.unread = u
}

// isLinked reports whether a link of t is open.
func (in *intake) isLinked(t *topic) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return t.linked > 0
}

// leaveTopic releases what is not needed of a topic without links but its account.
func (in *intake) leaveTopic(t *topic) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.foldPublishers(t, 0, func(*loss.Publisher) bool { return true })
}

// list makes sure that the account has t.
func (in *intake) list(t *topic) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !slices.Contains(in.topics, t) {
		in.topics = append(in.topics, t)
	}
}
