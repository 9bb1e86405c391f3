package intake

import (
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/topicmatch"
)

// Limit says how much of some topics is recorded, as Limit of the recorder does.
type Limit struct {
	Topics  string
	MaxRate float64
	Every   int
	Count   int
}

// Sampler is how much of one topic is recorded. It is guarded by intake.mu.
type Sampler struct {
	Limit   uint64 // messages in all; zero means no limit
	Thin    bool   // the following say something
	every   uint64
	Gap     time.Duration
	seen    uint64
	due     time.Time // when the next message may be recorded
	Skipped uint64
}

// SamplerOf returns the sampler of a topic; of the limits whose names match, each later one overrides.
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
	s.Thin = s.Gap > 0 || s.every > 1
	return s
}

// keep decides about one message. A topic that is slower than its rate for a while
// does not get a burst for it.
func (s *Sampler) keep(received time.Time) bool {
	s.seen++
	if s.every > 1 && (s.seen-1)%s.every != 0 || s.Gap > 0 && received.Before(s.due) {
		s.Skipped++
		return false
	}
	if s.due = s.due.Add(s.Gap); received.Sub(s.due) > 0 {
		s.due = received.Add(s.Gap - min(received.Sub(s.due), s.Gap))
	}
	return true
}
