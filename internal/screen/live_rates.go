package screen

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder"
)

// window is how many accounts a rate is made of: those of about four seconds, so that
// it is steady for a topic of a few Hz and follows a change at once.
const window = 16

// rates makes rates of the differences of accounts.
type rates struct {
	taken  [window]time.Time
	n      int // accounts so far; the next one goes to n%window
	topics map[string]*[window]amount
}

// amount counts all messages that have come, also those that are lost or that pass in
// a pause: it shows that the sensors live. It never falls, while messages that are lost
// later move from one count to another. Bytes are only those taken in.
type amount struct{ messages, bytes uint64 }

// add takes the next account.
func (r *rates) add(s *recorder.Stats) {
	if r.topics == nil {
		r.topics = map[string]*[window]amount{}
	}
	at := r.n % window
	r.taken[at] = s.Taken
	for i := range s.Topics {
		t := &s.Topics[i]
		past := r.topics[t.Topic]
		if past == nil { // earlier accounts have nothing of it, which is so
			past = new([window]amount)
			r.topics[t.Topic] = past
		}
		past[at] = amount{t.Messages + t.Dropped + t.Passed, t.Bytes}
	}
	r.n++
}

// of returns the messages and bytes of a topic a second.
func (r *rates) of(topic string) (hz, bytes float64) {
	past := r.topics[topic]
	if past == nil || r.n < 2 {
		return 0, 0
	}
	newest, oldest := (r.n-1)%window, 0
	if r.n > window {
		oldest = r.n % window
	}
	d := r.taken[newest].Sub(r.taken[oldest]).Seconds()
	if d <= 0 {
		return 0, 0
	}
	return float64(past[newest].messages-past[oldest].messages) / d, float64(past[newest].bytes-past[oldest].bytes) / d
}
