package recorder

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// tally is a number of messages, and the bytes of their payload.
type tally struct{ messages, bytes uint64 }

func (t *tally) add(n tally) {
	t.messages += n.messages
	t.bytes += n.bytes
}

func (t *tally) sub(n tally) {
	t.messages -= n.messages
	t.bytes -= n.bytes
}

// topic is the account of one subscription, guarded by intake.mu.
type topic struct {
	name     string
	conns    []*connection
	tally           // what is in a chunk; minus what was dropped with it
	repeated uint64 // latched ones, at the start of a later file or after a pause
	passed   uint64 // while paused or stopped
	written  tally  // of tally, what is in a file; counted by the writers
	sampler
	account         memory.Account // of the buffer
	publishers      []*loss.Publisher
	former          FormerPublishers
	refused         map[string]struct{} // publishers, by URI; nil for none
	headers         int64               // bytes that connections counts for it
	met             bool                // there was a link
	waitsFor        Waiting             // noted at the end
	typ             string              // of the first publisher
	linked          int                 // links that are open
	last            time.Time           // when the last message came
	heldUp          time.Duration       // its links were, in waits that are over and were worth a report
	freed           time.Duration       // the longest that was reported and is over; zero once that is said, too
	freedReportedAt time.Time           // when that was said last
	since           time.Time           // before it was registered, if that is known
	pickup          time.Duration       // from then to the first link
	dropped         [dropCauses]uint64
	reportedDrops   *[dropCauses]loss.Told // drops already reported by tick; nil before the first
}

func (in *intake) addTopic(name string) *topic { return in.addTopicOf(name, name) }

// addTopicOf makes an account for a topic that stands under name in the bag.
func (in *intake) addTopicOf(name, resolved string) *topic {
	in.mu.Lock()
	defer in.mu.Unlock()
	if t := topicNamed(in.ownTopics, name); t != nil {
		t.sampler = samplerOf(in.limits, resolved)
		return t
	}
	t := &topic{name: name, sampler: samplerOf(in.limits, resolved)}
	in.topics = append(in.topics, t)
	return t
}

// topicNamed returns the account of the topic that stands under name in the bag, or nil.
func topicNamed(topics []*topic, name string) *topic {
	i := slices.IndexFunc(topics, func(t *topic) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	return topics[i]
}

// account counts messages that are in a chunk now.
func (in *intake) account(t *topic, messages, bytes uint64) {
	t.add(tally{messages, bytes})
	if t.atLimit() {
		in.room.Broadcast() // links of t need not wait any more
		select {
		case in.limited <- struct{}{}:
		default: // the owner has not looked yet and will see this topic too
		}
	}
}

// atLimit reports whether as many messages are recorded as were asked for.
func (t *topic) atLimit() bool { return t.limit > 0 && t.messages >= t.limit }

func (in *intake) reachedLimit(t *topic) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return t.atLimit()
}
