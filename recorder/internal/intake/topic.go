package intake

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// Tally is a number of messages, and the bytes of their payload.
type Tally struct{ Messages, Bytes uint64 }

// Add adds n to the tally.
func (t *Tally) Add(n Tally) {
	t.Messages += n.Messages
	t.Bytes += n.Bytes
}

func (t *Tally) sub(n Tally) {
	t.Messages -= n.Messages
	t.Bytes -= n.Bytes
}

// Topic is the account of one subscription, guarded by intake.mu.
type Topic struct {
	Name     string
	Conns    []*Connection
	Tally           // what is in a chunk; minus what was dropped with it
	Repeated uint64 // latched ones, at the start of a later file or after a pause
	Passed   uint64 // while paused or stopped
	Written  Tally  // of tally, what is in a file; counted by the writers
	Sampler
	Account         memory.Account // of the buffer
	Publishers      []*loss.Publisher
	Former          Former
	refused         map[string]struct{} // publishers, by URI; nil for none
	Headers         int64               // bytes that connections counts for it
	met             bool                // there was a link
	waitsFor        Waiting             // noted at the end
	typ             string              // of the first publisher
	Linked          int                 // links that are open
	last            time.Time           // when the last message came
	HeldUp          time.Duration       // its links were, in waits that are over and were worth a report
	freed           time.Duration       // the longest that was reported and is over; zero once that is said, too
	freedReportedAt time.Time           // when that was said last
	since           time.Time           // before it was registered, if that is known
	pickup          time.Duration       // from then to the first link
	Dropped         [DropCauses]uint64
	reportedDrops   *[DropCauses]loss.Told // drops already reported by tick; nil before the first
}

// NewTopic returns an account that is not listed yet.
func (d Links) NewTopic(name string) *Topic {
	in := d.in
	return &Topic{Name: name, Sampler: SamplerOf(in.limits, name)}
}

// AddTopicOf makes an account for a topic that stands under name in the bag. since is before the
// topic was registered, if that is known.
func (d Links) AddTopicOf(name, resolved string, since time.Time) *Topic {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if t := topicNamed(in.ownTopics, name); t != nil {
		t.Sampler, t.since = SamplerOf(in.limits, resolved), since
		return t
	}
	t := &Topic{Name: name, Sampler: SamplerOf(in.limits, resolved), since: since}
	in.Topics = append(in.Topics, t)
	return t
}

// topicNamed returns the account of the topic that stands under name in the bag, or nil.
func topicNamed(topics []*Topic, name string) *Topic {
	i := slices.IndexFunc(topics, func(t *Topic) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return topics[i]
}

// account counts messages that are in a chunk now.
func (in *Intake) account(t *Topic, messages, bytes uint64) {
	t.Add(Tally{messages, bytes})
	if t.atLimit() {
		in.Room.Broadcast() // links of t need not wait any more
		select {
		case in.Limited <- struct{}{}:
		default: // the owner has not looked yet and will see this topic too
		}
	}
}

// atLimit reports whether as many messages are recorded as were asked for.
func (t *Topic) atLimit() bool { return t.Limit > 0 && t.Messages >= t.Limit }

// ReachedLimit reports whether as many messages of a topic are recorded as were asked for.
func (d Links) ReachedLimit(t *Topic) bool {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return t.atLimit()
}
