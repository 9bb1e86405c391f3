package screen

import "time"

// window is the number of samples of a rate: about four seconds, so that it is steady for a
// topic of a few Hz and still follows changes quickly.
const window = 16

// minSampleInterval is the minimum time between two samples. Otherwise the extra frames after key presses
// would shorten the window.
const minSampleInterval = refresh * 3 / 4

// rates computes rates from samples of counters. Their time is wall time or bag time, and does
// not decrease.
type rates struct {
	at     [window]time.Duration
	n      int // samples so far; the next one is stored at n%window
	topics map[string]*[window]amount
}

// amount is a sample of counters, which never decrease.
type amount struct{ messages, bytes uint64 }

// next begins the next sample. It replaces the last one if that is too close to its
// predecessor.
func (r *rates) next(at time.Duration) {
	if r.n >= 2 && r.at[(r.n-1)%window]-r.at[(r.n-2)%window] < minSampleInterval {
		r.n--
	}
	r.at[r.n%window] = at
	r.n++
}

// set adds the counters of a topic to the sample.
func (r *rates) set(topic string, a amount) { r.history(topic)[(r.n-1)%window] = a }

// skip excludes everything since the last sample from the rate of a topic.
func (r *rates) skip(topic string, a amount) {
	past := r.history(topic)
	last := past[(r.n-1)%window]
	for i := range past {
		past[i].messages += a.messages - last.messages
		past[i].bytes += a.bytes - last.bytes
	}
}

func (r *rates) history(topic string) *[window]amount {
	past := r.topics[topic]
	if past == nil { // its earlier samples are zero
		past = new([window]amount)
		if r.topics == nil {
			r.topics = map[string]*[window]amount{}
		}
		r.topics[topic] = past
	}
	return past
}

// of returns the messages and bytes per second of a topic.
func (r *rates) of(topic string) (hz, bytes float64) { return r.over(topic, window-1) }

// over returns the messages and bytes per second of a topic since so many samples before the last.
func (r *rates) over(topic string, samples int) (hz, bytes float64) {
	past := r.topics[topic]
	if past == nil || r.n < 2 {
		return 0, 0
	}
	newest, oldest := (r.n-1)%window, max(0, r.n-1-samples)%window
	d := (r.at[newest] - r.at[oldest]).Seconds()
	if d <= 0 {
		return 0, 0
	}
	return float64(past[newest].messages-past[oldest].messages) / d, float64(past[newest].bytes-past[oldest].bytes) / d
}
