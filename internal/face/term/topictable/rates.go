package topictable

import (
	"maps"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/term"
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
	topics map[string]*history
}

// history is the samples of a topic.
type history struct {
	past [window]Amount
	set  int // the value of Rates.n when the latest of them was set
}

// Amount is a sample of counters.
type Amount struct{ Messages, Bytes uint64 }

// Next begins the next sample. The next sample replaces the last one if that is too close to the one
// before. Topics of which the whole window has no sample are forgotten.
func (r *Rates) Next(at time.Duration) {
	maps.DeleteFunc(r.topics, func(_ string, h *history) bool { return r.n-h.set >= window })
	if r.n >= 2 && r.at[(r.n-1)%window]-r.at[(r.n-2)%window] < minSampleInterval {
		r.n--
	}
	r.at[r.n%window] = at
	r.n++
}

// Set adds the counters of a topic to the sample.
func (r *Rates) Set(topic string, a Amount) { r.history(topic).past[(r.n-1)%window] = a }

// Skip excludes everything since the last sample from the rate of a topic.
func (r *Rates) Skip(topic string, a Amount) {
	past := &r.history(topic).past
	last := past[(r.n-1)%window]
	for i := range past {
		past[i].Messages += a.Messages - last.Messages
		past[i].Bytes += a.Bytes - last.Bytes
	}
}

func (r *Rates) history(topic string) *history {
	h := r.topics[topic]
	if h == nil { // its earlier samples are zero
		h = new(history)
		if r.topics == nil {
			r.topics = map[string]*history{}
		}
		r.topics[topic] = h
	}
	h.set = r.n
	return h
}

// Of returns the messages and bytes per second of a topic.
func (r *Rates) Of(topic string) (hz, bytes float64) { return r.Over(topic, window-1) }

// Over returns the messages and bytes per second of a topic over the last samples intervals between samples.
func (r *Rates) Over(topic string, samples int) (hz, bytes float64) {
	h := r.topics[topic]
	if h == nil || r.n < 2 {
		return 0, 0
	}
	newest, oldest := (r.n-1)%window, max(0, r.n-1-samples)%window
	d := (r.at[newest] - r.at[oldest]).Seconds()
	if d <= 0 {
		return 0, 0
	}
	now, before := h.past[newest], h.past[oldest]
	return growth(now.Messages, before.Messages) / d, growth(now.Bytes, before.Bytes) / d
}

// growth returns by how much a counter has grown; zero if it was replaced by a new one, as that of a
// topic that comes back. Skip may have shifted both values below zero.
func growth(now, before uint64) float64 { return float64(max(0, int64(now-before))) }
