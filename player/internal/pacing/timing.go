package pacing

import (
	"math/bits"
	"time"
)

// Timing measures how punctual play is. It does not allocate, and its memory is fixed.
type Timing struct {
	histogram histogram
	lastLate  time.Duration

	started, ended bool
	from, to       time.Duration // first message, end
	paused         time.Duration // sum of the pauses that are over
	pausedAt       time.Duration
	inPause        bool
}

// Begin records the time of the first message. Further calls do nothing.
func (t *Timing) Begin(now time.Duration, paused bool) {
	if t.started {
		return // a further pass
	}
	t.started, t.from = true, now
	t.inPause, t.pausedAt = paused, now
}

// End records the end of play.
func (t *Timing) End(now time.Duration) {
	t.ended, t.to = true, now
}

// Pause records the beginning of a pause.
func (t *Timing) Pause(now time.Duration) {
	t.inPause, t.pausedAt = true, now
}

// Resume records the end of a pause.
func (t *Timing) Resume(now time.Duration) {
	if t.inPause && t.started {
		t.paused += now - t.pausedAt
	}
	t.inPause = false
}

// Late records how long after its deadline a message is published.
func (t *Timing) Late(d time.Duration) {
	t.lastLate = d
	t.histogram.add(d)
}

// Elapsed is the wall time spent playing up to now.
func (t *Timing) Elapsed(now time.Duration) time.Duration {
	if !t.started {
		return 0
	}
	if t.ended {
		now = t.to
	}
	d := now - t.from - t.paused
	if t.inPause && t.pausedAt < now {
		d -= now - t.pausedAt
	}
	return max(d, 0)
}

// LastLate returns how long after its deadline the last message was published.
func (t *Timing) LastLate() time.Duration { return t.lastLate }

// Quantiles says how late messages were published.
type Quantiles struct {
	Messages      uint64
	P50, P99, Max time.Duration
}

// Quantiles returns how late messages were published until now.
func (t *Timing) Quantiles() Quantiles {
	h := &t.histogram
	return Quantiles{Messages: h.count, P50: h.quantile(0.5), P99: h.quantile(0.99), Max: h.max}
}

// histogram counts durations with a resolution of 1/32, from 1 ns to 292 years.
type histogram struct {
	buckets [64 * subBuckets]uint64
	count   uint64
	max     time.Duration
}

const (
	subBits    = 5
	subBuckets = 1 << subBits
)

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucketOf(uint64(d))]++
	h.count++
	h.max = max(h.max, d)
}

// bucketOf maps v to its power of two and the subBits bits below the leading one.
func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return (shift+1)<<subBits + int(v>>shift) - subBuckets
}

// bucketTop returns the largest value that bucketOf maps to i.
func bucketTop(i int) uint64 {
	if i < subBuckets {
		return uint64(i)
	}
	shift := i>>subBits - 1
	return (uint64(i&(subBuckets-1))+subBuckets+1)<<shift - 1
}

// quantile returns a duration that the fraction q, below 1, of all durations does not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	rank, seen := uint64(q*float64(h.count)), uint64(0)
	for i, n := range h.buckets {
		if seen += n; seen > rank {
			return min(time.Duration(bucketTop(i)), h.max)
		}
	}
	return 0
}
