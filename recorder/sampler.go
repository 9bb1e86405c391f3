package recorder

import (
	"fmt"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/topicmatch"
)

// Limit says how much of some topics is recorded. Several limits of one topic hold
// together; of one kind the last one counts. Zero values mean no limit.
type Limit struct {
	Topics  string  // a name, or a glob; a name that is not absolute matches the end of topics
	MaxRate float64 // messages a second
	Every   int     // only each Nth message
	Count   int     // end with the topic after this many
}

func (l Limit) check() error {
	if l.Topics == "" || !(l.MaxRate >= 0) || l.MaxRate > 1e9 || l.Every < 0 || l.Count < 0 {
		return fmt.Errorf("limit of %q: want a topic and a positive number", l.Topics)
	}
	return nil
}

// limits returns all limits, that of all topics first.
func (o *Options) limits() []Limit {
	return append([]Limit{{Topics: "**", Count: o.Limit}}, o.Limits...)
}

// sampler is how much of one topic is recorded. It is guarded by intake.mu.
type sampler struct {
	limit   uint64 // messages in all; zero means no limit
	thin    bool   // the following say something
	every   uint64
	gap     time.Duration
	seen    uint64
	due     time.Time // when the next message may be recorded
	skipped uint64
}

func samplerOf(limits []Limit, topic string) sampler {
	var s sampler
	for _, l := range limits {
		glob := l.Topics
		if !strings.HasPrefix(glob, "/") && glob != "**" {
			glob = "**" + glob
		}
		if !topicmatch.Glob(glob).Match(topic) {
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
	s.thin = s.gap > 0 || s.every > 1
	return s
}

// keep decides about one message. A topic that is slower than its rate for a while
// does not get a burst for it.
func (s *sampler) keep(received time.Time) bool {
	s.seen++
	if s.every > 1 && (s.seen-1)%s.every != 0 || s.gap > 0 && received.Before(s.due) {
		s.skipped++
		return false
	}
	if s.due = s.due.Add(s.gap); received.Sub(s.due) > 0 {
		s.due = received.Add(s.gap - min(received.Sub(s.due), s.gap))
	}
	return true
}
