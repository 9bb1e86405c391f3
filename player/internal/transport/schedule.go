package transport

import (
	"math"
	"time"
)

// Schedule says when a position in the bags is due. It is pure: the caller gives
// it the time, so tests are exact.
//
// Positions are durations since the first selected message, times are durations
// since an arbitrary fixed moment of the monotonic clock: a step of the wall
// clock (NTP) cannot move a deadline.
//
// Each deadline is computed from one anchor (this position is due at that time),
// never from the previous message. The anchor moves only when a pass begins or a
// command changes play, so rounding errors do not add up and a late message does not
// delay those after it.
type Schedule struct {
	Rate      float64 // bag time per wall time
	Immediate bool    // everything is due at once
	Paused    bool

	anchorPos time.Duration // while paused: the position
	anchorAt  time.Duration // not used while paused
}

// Forever is later than every deadline.
const Forever = time.Duration(math.MaxInt64)

// Begin makes pos due at now.
func (s *Schedule) Begin(pos, now time.Duration) {
	s.anchorPos, s.anchorAt = pos, now
}

// Deadline returns when pos is due. It is Forever while paused.
func (s *Schedule) Deadline(pos time.Duration) time.Duration {
	switch {
	case s.Paused:
		return Forever
	case s.Immediate:
		return s.anchorAt
	case s.Rate == 1:
		return Sum(s.anchorAt, pos-s.anchorPos) // exact also after months, where a float64 is not
	}
	return addClamped(s.anchorAt, float64(pos-s.anchorPos)/s.Rate)
}

// Position returns the bag position that is due at now. It is Forever in
// immediate mode, where time does not limit the position.
func (s *Schedule) Position(now time.Duration) time.Duration {
	switch {
	case s.Paused:
		return s.anchorPos
	case s.Immediate:
		return Forever
	case s.Rate == 1:
		return s.anchorPos + (now - s.anchorAt)
	}
	return addClamped(s.anchorPos, float64(now-s.anchorAt)*s.Rate)
}

// Pause stops at pos, the position of play. It reports whether play was running.
func (s *Schedule) Pause(pos time.Duration) bool {
	if s.Paused {
		return false
	}
	s.Paused, s.anchorPos = true, pos
	return true
}

// Step moves to pos while paused.
func (s *Schedule) Step(pos time.Duration) {
	s.anchorPos = pos
}

// Resume continues at now from the position of Pause. It reports whether play was paused.
func (s *Schedule) Resume(now time.Duration) bool {
	if !s.Paused {
		return false
	}
	s.Paused, s.anchorAt = false, now
	return true
}

// Sum returns a+b, or the Duration nearest to it. A loop over a bag with stamps of zero
// reaches the 292 years of int64 in its third pass.
func Sum(a, b time.Duration) time.Duration {
	if sum := a + b; (sum > a) == (b > 0) {
		return sum
	}
	if b > 0 {
		return Forever
	}
	return math.MinInt64
}

// addClamped returns base plus ns rounded to the nearest, within what a Duration
// holds: at a rate of 1e-12 a deadline lies beyond the 292 years of int64.
func addClamped(base time.Duration, ns float64) time.Duration {
	switch sum := float64(base) + ns; {
	case sum >= math.MaxInt64:
		return Forever
	case sum <= math.MinInt64:
		return math.MinInt64
	}
	return base + time.Duration(math.Round(ns))
}
