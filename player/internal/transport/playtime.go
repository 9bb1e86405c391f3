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

// maxRateChanges bounds the rates that are remembered: as many changes as somebody makes
// within the time that a sensor takes from its stamp to its message.
const maxRateChanges = 16

// changeRate remembers the rate that ends at a position.
func (t *Transport) changeRate(pos time.Duration) {
	n := len(t.rateChanges)
	if n > 0 && t.rateChanges[n-1].pos == pos {
		return // nothing was played at the rate that ends
	}
	if n == maxRateChanges {
		t.rateChanges = slices.Delete(t.rateChanges, 0, 1)
	}
	t.rateChanges = append(t.rateChanges, rateChange{pos, t.schedule.Rate})
}

// moveRateChanges is called when play moves without taking time, by a jump or a step: what is
// before the place where it continues counts as played at the rates before.
func (t *Transport) moveRateChanges(by time.Duration) {
	for i := range t.rateChanges {
		t.rateChanges[i].pos = Sum(t.rateChanges[i].pos, by)
	}
}

// Anchor returns the position from which the schedule counts, and when it is due. It does
// not change while play goes on without a command or a delay.
func (t *Transport) Anchor() (pos, due time.Duration) {
	return t.schedule.anchorPos, t.schedule.anchorAt
}

// PlayTime returns how long play takes from one position to another, negative if the second
// is before the first. It takes the rates that play had on the way to the first, as far as
// they are remembered. In immediate mode it takes no time.
func (t *Transport) PlayTime(from, to time.Duration) (sum time.Duration) {
	if t.schedule.Immediate {
		return 0
	}
	rate := t.schedule.Rate
	for _, c := range slices.Backward(t.rateChanges) {
		if to >= c.pos || from < c.pos {
			break
		}
		sum += playTime(c.pos-from, rate)
		from, rate = c.pos, c.rate
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
