package player

import (
	"math/bits"
	"time"
)

// Summary is what a Run did.
type Summary struct {
	Topics      []TopicSummary // in the order of their first connection
	Messages    uint64
	Bytes       uint64        // payload, without the lengths of the frames
	Played      time.Duration // bag time, all passes
	Elapsed     time.Duration // wall time from the first to the last message, pauses excluded
	Achieved    float64       // Played / Elapsed, 0 if there is nothing to divide
	Timing      Timing
	Starved     uint64         // times that play had to wait for the disk or for decompression
	Dropped     uint64         // messages that a subscriber did not get because its queue was full
	Unplayable  []Unplayable   // connections that could not be published
	Damage      []*DamageError // the rest of the bags was played
	Mended      int            // damaged chunk indexes that were rebuilt: nothing was lost with them
	Undelivered error          // what Drain says of subscribers that did not take everything
	Interrupted bool           // the context ended before the last message
}

// TopicSummary is what went out on one topic.
type TopicSummary struct {
	Name        string // as published
	Type        string
	Messages    uint64
	Bytes       uint64
	Subscribers int    // at the end of play
	Dropped     uint64 // by full queues, over all subscribers
}

// Unplayable is a connection of a bag whose messages could not be published.
type Unplayable struct {
	Bag      string
	Topic    string // as published
	Type     string
	MD5Sum   string
	Reason   string
	Messages uint64 // that play came across
}

// Lossy reports whether something in the bags did not reach a subscriber, could not
// be read, or was damaged. An interruption by the caller is not a loss.
func (s *Summary) Lossy() bool {
	return s.Dropped > 0 || len(s.Unplayable) > 0 || len(s.Damage) > 0 || s.Mended > 0 || s.Undelivered != nil
}

// Timing says how long after their deadlines messages were published.
type Timing struct {
	Messages      uint64 // that had a deadline: not those of immediate play or of a step
	P50, P99, Max time.Duration
}

// timing measures the pacer. It does not allocate, and its memory is fixed.
type timing struct {
	histogram histogram
	lastLate  time.Duration

	started, ended bool
	from, to       time.Duration // first message, end
	paused         time.Duration // sum of the pauses that are over
	pausedAt       time.Duration
	inPause        bool
	played         time.Duration // bag time
}

func (t *timing) begin(now time.Duration, paused bool) {
	if t.started {
		return // a further pass
	}
	t.started, t.from = true, now
	t.inPause, t.pausedAt = paused, now
}

func (t *timing) end(now time.Duration) {
	t.ended, t.to = true, now
}

func (t *timing) pause(now time.Duration) {
	t.inPause, t.pausedAt = true, now
}

func (t *timing) resume(now time.Duration) {
	if t.inPause && t.started {
		t.paused += now - t.pausedAt
	}
	t.inPause = false
}

func (t *timing) late(d time.Duration) {
	t.lastLate = d
	t.histogram.add(d)
}

func (t *timing) advance(d time.Duration) { t.played += d }

// elapsed is the wall time spent playing up to now.
func (t *timing) elapsed(now time.Duration) time.Duration {
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

func (t *timing) achieved(now time.Duration) float64 {
	d := t.elapsed(now)
	if d <= 0 || t.played <= 0 {
		return 0
	}
	return float64(t.played) / float64(d)
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

// quantile returns a duration that the share q of all does not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	rank, seen := uint64(q*float64(h.count)), uint64(0)
	for i, n := range h.buckets {
		if seen += n; n > 0 && seen > rank || seen == h.count && n > 0 {
			return min(time.Duration(bucketTop(i)), h.max)
		}
	}
	return 0
}

func (h *histogram) summary() Timing {
	return Timing{Messages: h.count, P50: h.quantile(0.5), P99: h.quantile(0.99), Max: h.max}
}
