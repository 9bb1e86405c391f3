package face

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// rate is the rate of a topic per second. It counts messages that were not recorded, too: they
// show that the publisher lives.
type rate struct{ messages, bytes float64 }

// rates are the rates of all topics, over about a second. The zero value has none.
type rates struct {
	base   control.Stats   // the statistics at the last update
	topics map[string]rate // of the topics of base that were there an update before
}

// update computes the rates, about once a second, and reports whether it has.
func (r *rates) update(s *control.Stats) bool {
	passed := s.Taken.Sub(r.base.Taken)
	if passed < time.Second*9/10 {
		return false
	}
	earlier := make(map[string]*control.TopicStats, len(r.base.Topics))
	for i := range r.base.Topics {
		earlier[r.base.Topics[i].Topic] = &r.base.Topics[i]
	}
	r.topics = make(map[string]rate, len(s.Topics))
	for i := range s.Topics {
		now := &s.Topics[i]
		if now.Topic == control.EndedTopics {
			continue // its messages came earlier
		}
		before := earlier[now.Topic]
		// fewer are those of a topic that ended and came back
		if before != nil && now.Arrived() >= before.Arrived() {
			r.topics[now.Topic] = rate{
				messages: (float64(now.Arrived()) - float64(before.Arrived())) / passed.Seconds(),
				bytes:    (float64(now.Bytes) - float64(before.Bytes)) / passed.Seconds(),
			}
		}
	}
	r.base = *s
	return true
}
