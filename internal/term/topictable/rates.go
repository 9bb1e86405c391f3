package topictable

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/term"
)

// window is the number of samples of a rate: about four seconds, so that it is steady for a
// topic of a few Hz and still follows changes quickly.
const window = 16

// minSampleInterval is the minimum time between two samples. Otherwise the extra frames after key presses
// would shorten the window.
const minSampleInterval = term.Refresh * 3 / 4

// Rates computes rates from samples of counters. Their time is wall time or bag time, and does
// not decrease.
type Rates struct {
	at     [window]time.Duration
	n      int // samples so far; the next one is stored at n%window
	topics map[string]*[window]Amount
}

// Amount is a sample of counters, which never decrease.
type Amount struct{ Messages, Bytes uint64 }

// Next begins the next sample. The next sample replaces the last one if that is too close to the one
// before.
func (r *Rates) Next(at time.Duration) {
	if r.n >= 2 && r.at[(r.n-1)%window]-r.at[(r.n-2)%window] < minSampleInterval {
		r.n--
	}
	r.at[r.n%window] = at
	r.n++
}

// Set adds the counters of a topic to the sample.
func (r *Rates) Set(topic string, a Amount) { r.history(topic)[(r.n-1)%window] = a }

// Skip excludes everything since the last sample from the rate of a topic.
func (r *Rates) Skip(topic string, a Amount) {
	past := r.history(topic)
	last := past[(r.n-1)%window]
	for i := range past {
		past[i].Messages += a.Messages - last.Messages
		past[i].Bytes += a.Bytes - last.Bytes
	}
}

func (r *Rates) history(topic string) *[window]Amount {
	past := r.topics[topic]
	if past == nil { // its earlier samples are zero
		past = new([window]Amount)
		if r.topics == nil {
			r.topics = map[string]*[window]Amount{}
		}
		r.topics[topic] = past
	}
	return past
}

// Of returns the messages and bytes per second of a topic.
func (r *Rates) Of(topic string) (hz, bytes float64) { return r.Over(topic, window-1) }

// Over returns the messages and bytes per second of a topic over the last samples intervals between samples.
func (r *Rates) Over(topic string, samples int) (hz, bytes float64) {
	past := r.topics[topic]
	if past == nil || r.n < 2 {
		return 0, 0
	}
	newest, oldest := (r.n-1)%window, max(0, r.n-1-samples)%window
	d := (r.at[newest] - r.at[oldest]).Seconds()
	if d <= 0 {
		return 0, 0
	}
	return float64(past[newest].Messages-past[oldest].Messages) / d, float64(past[newest].Bytes-past[oldest].Bytes) / d
}
