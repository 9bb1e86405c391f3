package player

import (
	"math"
	"time"
)

// schedule says when a position in the bags is due. It is pure: the caller gives
// it the time, so tests are exact.
//
// Positions are durations since the first selected message, times are durations
// since an arbitrary fixed moment of the monotonic clock: a step of the wall
// clock (NTP) cannot move a deadline.
//
// Each deadline is computed from one anchor (this position is due at that time),
// never from the previous message. The anchor moves only when a pass begins or
// somebody interferes, so rounding does not add up and a late message does not
// delay those after it.
type schedule struct {
	rate      float64 // bag time per wall time
	immediate bool    // everything is due at once
	paused    bool

	anchorPos time.Duration // while paused: where play stands still
	anchorAt  time.Duration // not used while paused
}

// forever is later than every deadline.
const forever = time.Duration(math.MaxInt64)

// begin makes pos due at now.
func (s *schedule) begin(pos, now time.Duration) {
	s.anchorPos, s.anchorAt = pos, now
}

// deadline returns when pos is due. It is forever while paused.
func (s *schedule) deadline(pos time.Duration) time.Duration {
	switch {
	case s.paused:
		return forever
	case s.immediate:
		return s.anchorAt
	case s.rate == 1:
		return s.anchorAt + (pos - s.anchorPos) // exact also after months, where a float64 is not
	}
	return addClamped(s.anchorAt, float64(pos-s.anchorPos)/s.rate)
}

// position returns the bag position that is due at now. It is forever in
// immediate mode, where time does not limit the position.
func (s *schedule) position(now time.Duration) time.Duration {
	switch {
	case s.paused:
		return s.anchorPos
	case s.immediate:
		return forever
	case s.rate == 1:
		return s.anchorPos + (now - s.anchorAt)
	}
	return addClamped(s.anchorPos, float64(now-s.anchorAt)*s.rate)
}

// pause stops at pos, which is where play is. It reports whether it was running.
func (s *schedule) pause(pos time.Duration) bool {
	if s.paused {
		return false
	}
	s.paused, s.anchorPos = true, pos
	return true
}

// step moves to pos while paused.
func (s *schedule) step(pos time.Duration) {
	s.anchorPos = pos
}

// resume goes on from where pause stopped. It reports whether it was paused.
func (s *schedule) resume(now time.Duration) bool {
	if !s.paused {
		return false
	}
	s.paused, s.anchorAt = false, now
	return true
}

// addClamped returns base plus ns rounded to the nearest, within what a Duration
// holds: at a rate of 1e-12 a deadline lies beyond the 292 years of int64.
func addClamped(base time.Duration, ns float64) time.Duration {
	switch sum := float64(base) + ns; {
	case sum >= math.MaxInt64:
		return forever
	case sum <= math.MinInt64:
		return math.MinInt64
	}
	return base + time.Duration(math.Round(ns))
}
