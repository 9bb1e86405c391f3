package transport

import (
	"math"
	"slices"
	"time"
)

// rateChange says that play had another rate until it was at a position.
type rateChange struct {
	pos  time.Duration
	rate float64 // before
}

// rateChanges are the latest changes of the rate, in order.
type rateChanges []rateChange

// maxRateChanges bounds the rates that are remembered. An older rate matters only for a message with a stamp
// from before that many changes.
const maxRateChanges = 16

// end remembers the rate that ends at a position.
func (c *rateChanges) end(rate float64, pos time.Duration) {
	n := len(*c)
	if n > 0 && (*c)[n-1].pos == pos {
		return // nothing was played at the rate that ends
	}
	if n == maxRateChanges {
		*c = slices.Delete(*c, 0, 1)
	}
	*c = append(*c, rateChange{pos, rate})
}

// move is called when play moves by a jump or a step, which takes no time. What is before the new
// position counts as played at the same rates as what is before the old one.
func (c rateChanges) move(by time.Duration) {
	for i := range c {
		c[i].pos = Sum(c[i].pos, by)
	}
}

// playTime returns how long play takes from one position to another if it now has a rate.
func (c rateChanges) playTime(from, to time.Duration, rate float64) (sum time.Duration) {
	for _, change := range slices.Backward(c) {
		if to >= change.pos || from < change.pos {
			break
		}
		sum += playTime(change.pos-from, rate)
		from, rate = change.pos, change.rate
	}
	return sum + playTime(to-from, rate)
}

// maxPlayTime, four years, bounds times so that sums of them do not overflow.
const maxPlayTime = math.MaxInt64 / 64

// playTime returns how long d takes at a rate.
func playTime(d time.Duration, rate float64) time.Duration {
	if rate != 1 { // exact also after months, where a float64 is not
		d = addClamped(0, float64(d)/rate)
	}
	return max(-maxPlayTime, min(d, maxPlayTime))
}
