package account

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Figures is what is known of one topic.
type Figures struct {
	Topic      string
	Typ        string                   // of the first publisher; empty if there was none
	Publishers []PublisherFigures       // in the order of their first connection
	Former     control.FormerPublishers // publishers that were gone before
	Refused    int                      // publishers, for want of memory for their headers
	Linked     int                      // open links
	Taken      Tally                    // messages that were put into chunks
	Recorded   Tally                    // messages of Taken that are in bags, or about to be
	Repeated   uint64                   // latched messages at the start of later files
	Skipped    uint64                   // messages that the limits leave out
	Passed     uint64                   // messages that came while the recording was paused or stopped
	Dropped    [DropCauses]uint64
	Pickup     time.Duration // from before the registration of the topic to the first link
	WaitsFor   Waiting       // what a topic without a link waited for at the end
	HeldUp     time.Duration // how long links of the topic were held up by a full buffer
	Last       time.Time     // when the last message came
}

// PublisherFigures is what is known of one publisher.
type PublisherFigures struct {
	Id string
	loss.Account
}

// Figures returns what is known of all topics at now, in the order of their subscription. written says
// that only messages count as recorded that are in a file.
func (a *Accounts) Figures(written bool, now time.Time) []Figures {
	all := make([]Figures, 0, len(a.Topics))
	for _, t := range a.Topics {
		b := &t.beginning
		f := Figures{
			Topic: t.Name, Typ: b.typ, Former: t.Publishers.Former, Refused: len(t.Publishers.refused), Linked: t.Linked,
			Taken: t.Tally, Recorded: t.Recorded(written), Repeated: t.Repeated, Skipped: t.Sampler.Skipped, Passed: t.Passed, Dropped: t.Dropped,
			Pickup: b.pickup, WaitsFor: b.waitsFor, HeldUp: t.HeldUp(now), Last: t.Last,
			Publishers: make([]PublisherFigures, 0, len(t.Publishers.All)),
		}
		for _, u := range t.Publishers.All {
			f.Publishers = append(f.Publishers, PublisherFigures{u.ID, u.Account(now)})
		}
		all = append(all, f)
	}
	return all
}

// Recorded returns the messages of t that are in bags, or about to be; with written only those that
// are in a file.
func (t *Topic) Recorded(written bool) Tally {
	if written {
		return t.Written
	}
	return t.Tally
}
