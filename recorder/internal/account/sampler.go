package account

import (
	"fmt"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
)

// Limit says how much of some topics is recorded. Zero values mean no limit. Of several limits that match
// one topic, each field is that of the last one which sets it.
type Limit struct {
	Topics  string  // a name, or a glob; a name that is not absolute matches the end of topics
	MaxRate float64 // messages a second
	Every   int     // only each Nth message
	Count   int     // end with the topic after this many messages
}

// Check returns an error for a limit without a topic or with a wrong number.
func (l Limit) Check() error {
	if l.Topics == "" || !(l.MaxRate >= 0) || l.MaxRate > 1e9 || l.Every < 0 || l.Count < 0 {
		return fmt.Errorf("limit of %q: want a topic and a positive number", l.Topics)
	}
	return nil
}

// Sampler decides which messages of one topic are recorded.
type Sampler struct {
	limit   uint64        // messages to record in all; zero means no limit
	every   uint64        // record each message of this number; zero means all
	gap     time.Duration // between two recorded messages; zero means no bound
	seen    uint64        // messages that Keep has decided about
	due     time.Time     // when the next message may be recorded
	leftOut uint64        // messages that are left out
}

// SamplerOf returns the sampler of a topic.
func SamplerOf(limits []Limit, topic topicname.InGraph) Sampler {
	var s Sampler
	for _, l := range limits {
		glob := l.Topics
		if !strings.HasPrefix(glob, "/") && glob != "**" {
			glob = "**" + glob
		}
		if !topicmatch.Glob(glob).Match(string(topic)) {
			continue
		}
		if l.MaxRate > 0 {
			s.gap = time.Duration(float64(time.Second) / l.MaxRate)
		}
		if l.Every > 0 {
			s.every = uint64(l.Every)
		}
		if l.Count > 0 {
			s.limit = uint64(l.Count)
		}
	}
	if s.every == 1 {
		s.every = 0
	}
	return s
}

// KeepsAll reports whether Keep keeps each message. If so, the caller need not call it, and runs stay whole.
func (s *Sampler) KeepsAll() bool { return s.every == 0 && s.gap == 0 }

// Keep decides whether one message is recorded, before the intake knows whether there is room and whether
// the message arrives in full: messages that are left out take no memory. If a message is kept, and then
// is too large, cut off or dropped, no other message takes its place: only messages that the limits
// select count as lost.
//
// A message is kept at due or later. The next one is due one Gap after due, or at once if this message
// came later than that. So the average rate stays right although messages are early or late, and after a
// silence of any length at most one message is kept that the rate does not allow.
func (s *Sampler) Keep(received time.Time) bool {
	s.seen++
	if s.every > 0 && (s.seen-1)%s.every != 0 || s.gap > 0 && received.Before(s.due) {
		s.leftOut++
		return false
	}
	if s.due = s.due.Add(s.gap); s.due.Before(received) {
		s.due = received
	}
	return true
}
