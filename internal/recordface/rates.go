package recordface

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// rate is the rate of a topic per second. It counts messages that were not recorded, too: they
// show that the publisher lives.
type rate struct{ messages, bytes float64 }

// rates are the rates of all topics, over about a second. The zero value has none.
type rates struct {
	base   control.Stats // the statistics at the last update
	topics []rate        // in the order of base, over the time before base
}

// update computes the rates, about once a second, and reports whether it has. Topics are added,
// but never removed.
func (r *rates) update(s *control.Stats) bool {
	passed := s.Taken.Sub(r.base.Taken)
	if passed < time.Second*9/10 {
		return false
	}
	r.topics = r.topics[:0]
	for i := range r.base.Topics {
		now, before := &s.Topics[i], &r.base.Topics[i]
		r.topics = append(r.topics, rate{
			messages: (float64(now.Arrived()) - float64(before.Arrived())) / passed.Seconds(),
			bytes:    (float64(now.Bytes) - float64(before.Bytes)) / passed.Seconds(),
		})
	}
	r.base = *s
	return true
}

// of returns the rate of a topic; zero while it is not known.
func (r *rates) of(topic int) rate {
	if topic < len(r.topics) {
		return r.topics[topic]
	}
	return rate{}
}
