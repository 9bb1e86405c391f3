package account

import (
	"fmt"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/topicmatch"
)

// Limit says how much of some topics is recorded. Several limits of one topic hold together; of one
// kind the last one counts. Zero values mean no limit.
type Limit struct {
	Topics  string  // a name, or a glob; a name that is not absolute matches the end of topics
	MaxRate float64 // messages a second
	Every   int     // only each Nth message
	Count   int     // end with the topic after this many messages
}

// Check returns an error for a limit that means nothing.
func (l Limit) Check() error {
	if l.Topics == "" || !(l.MaxRate >= 0) || l.MaxRate > 1e9 || l.Every < 0 || l.Count < 0 {
		return fmt.Errorf("limit of %q: want a topic and a positive number", l.Topics)
	}
	return nil
}

// Sampler decides which messages of one topic are recorded.
type Sampler struct {
	Limit   uint64        // messages to record in all; zero means no limit
	every   uint64        // record each message of this number; zero means all
	Gap     time.Duration // between two recorded messages; zero means no bound
	thins   bool          // another limit than Limit is set
	seen    uint64        // messages that Keep has decided about
	due     time.Time     // when the next message may be recorded
	LeftOut uint64        // messages that are left out
}

// SamplerOf returns the sampler of a topic. Where several limits match the topic, a later limit
// overrides the earlier ones of its kind.
func SamplerOf(limits []Limit, topic string) Sampler {
	var s Sampler
	for _, l := range limits {
		glob := l.Topics
		if !strings.HasPrefix(glob, "/") && glob != "**" {
			glob = "**" + glob
		}
		if !topicmatch.Glob(glob).Match(topic) {
			continue
		}
		if l.MaxRate > 0 {
			s.Gap = time.Duration(float64(time.Second) / l.MaxRate)
		}
		if l.Every > 0 {
			s.every = uint64(l.Every)
		}
		if l.Count > 0 {
			s.Limit = uint64(l.Count)
		}
	}
	if s.every == 1 {
		s.every = 0
	}
	s.thins = s != Sampler{Limit: s.Limit}
	return s
}

// KeepsAll reports whether Keep lets each message pass: then nobody has to call Keep, and runs stay whole.
func (s *Sampler) KeepsAll() bool { return !s.thins }

// Keep decides about one message, before the intake knows whether there is room and whether the message arrives in
// full: what is left out takes no memory. No other message takes the place of one that passes and is then too large,
// cut off or dropped: only messages that the limits select count as lost.
//
// A message passes at due or later. The next is due one Gap after due, or at once if
// the message came later than that. So early messages make up for late ones, and after a silence, however long, at most
// one message passes that the rate does not allow.
func (s *Sampler) Keep(received time.Time) bool {
	s.seen++
	if s.every > 0 && (s.seen-1)%s.every != 0 || s.Gap > 0 && received.Before(s.due) {
		s.LeftOut++
		return false
	}
	if s.due = s.due.Add(s.Gap); s.due.Before(received) {
		s.due = received
	}
	return true
}
