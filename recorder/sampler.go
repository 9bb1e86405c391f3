package recorder

import (
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/topicmatch"
)

// topicLimit says how much of some topics is recorded, as Limit of the recorder does.
type topicLimit struct {
	Topics  string
	MaxRate float64
	Every   int
	Count   int
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

func samplerOf(limits []topicLimit, topic string) sampler {
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
