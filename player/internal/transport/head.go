package transport

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Head is where play is: the position, when a position is due, and what the clock says. Its exported
// methods read it, but for Clock, which remembers the time that it returns. Only a Transport moves it.
type Head struct {
	schedule Schedule
	rates    rateChanges

	zero   rosbag.Time   // first selected message
	length time.Duration // from the first to the last selected message
	origin time.Duration // position less the bag time that was played so far: see Played

	begun     bool          // play has begun
	ended     bool          // everything is published
	finished  bool          // play has ended for good: no seek restarts it
	place     Place         // of the last published message or, after a jump, of the next one
	published bool          // a message was published since the last jump
	passEnded bool          // the last jump was to the beginning of a pass
	startedAt time.Duration // when this pass, or play after a jump, began
	last      time.Duration // position of place
	next      time.Duration // position of the next message
	haveNext  bool          // next is valid: not while waiting for the disk, nor after the end
	clock     time.Duration // the latest position that was published as the clock
	shift     time.Duration // added to stamps because of the loop
}

// Span returns the time of the first message, and how long after it the last one is.
func (h *Head) Span() (zero rosbag.Time, length time.Duration) { return h.zero, h.length }

// Begun reports whether play has begun.
func (h *Head) Begun() bool { return h.begun }

// atFirst reports whether play is at the first message, or before it.
func (h *Head) atFirst() bool { return h.place == Place{Stamp: h.zero} }

// Paused reports whether play is paused.
func (h *Head) Paused() bool { return h.schedule.Paused }

// Ended reports whether everything is published.
func (h *Head) Ended() bool { return h.ended }

// Reached returns the time of the last published message or, after a jump, of its target.
func (h *Head) Reached() rosbag.Time { return h.time(h.last) }

// time returns the bag time of a position, including the shift of the loop.
func (h *Head) time(pos time.Duration) rosbag.Time { return h.zero.Add(Sum(pos, h.shift)) }

// Position returns the position of play. It does not pass a message that is not published
// yet, also when play is late, and never decreases within a pass. After the last message it
// continues only while play may restart.
func (h *Head) Position(now time.Duration) time.Duration {
	pos := h.schedule.Position(now)
	switch {
	case h.haveNext:
		pos = min(pos, h.next)
	case !h.ended || h.finished || h.schedule.Immediate:
		pos = h.last // the time of the next message is not known yet, or there is none
	}
	return max(pos, h.last)
}

// Clock returns the time to publish as the clock. It reports false before play has begun.
func (h *Head) Clock(now time.Duration) (rosbag.Time, bool) {
	if !h.begun {
		return rosbag.Time{}, false
	}
	h.clock = max(h.clock, h.Position(now))
	return h.time(h.clock), true
}

// ClockIsBefore reports whether the published clock is before a position.
func (h *Head) ClockIsBefore(pos time.Duration) bool { return pos > h.clock }

// Anchor returns the position from which the schedule counts, and when it is due. It does
// not change while play goes on without a command or a delay.
func (h *Head) Anchor() (pos, due time.Duration) {
	return h.schedule.anchorPos, h.schedule.anchorAt
}

// PlayTime returns how long play takes from one position to another, negative if the second
// is before the first. For the way to the first position, PlayTime uses the rates that play had
// there, as far as they are remembered. In immediate mode play takes no time.
func (h *Head) PlayTime(from, to time.Duration) time.Duration {
	if h.schedule.Immediate {
		return 0
	}
	return h.rates.playTime(from, to, h.schedule.Rate)
}

// setRate sets the bag time per wall time, without a jump: play counts from its position, now. For a new
// rate together with a jump, call setRate before startAt: startAt may let play begin later than now,
// which setRate would undo.
func (h *Head) setRate(rate float64, now time.Duration) {
	pos := h.Position(now)
	h.rates.end(h.schedule.Rate, pos)
	h.schedule.Begin(pos, now)
	h.schedule.Rate = rate
}

// startAt continues play at a position, at now, which may be in the future.
func (h *Head) startAt(pos, now time.Duration) {
	h.leap(pos, now)
	h.schedule.Begin(pos, now)
	h.startedAt = now
	h.last, h.clock = pos, pos
	h.next, h.haveNext = pos, false
	h.published = false
}

// leap is called before play moves to a position without taking time, by a jump or a step.
func (h *Head) leap(pos, now time.Duration) {
	h.rates.move(pos - h.Position(now))
	h.origin = Sum(pos, -h.Played(now))
}

// Played returns the bag time that was played up to now, in all passes and with the gaps
// between them. It excludes what play passed over by a jump or a step.
func (h *Head) Played(now time.Duration) time.Duration {
	pos := h.last
	if !h.ended { // after the last message only the clock advances
		pos = h.Position(now)
	}
	return Sum(pos, -h.origin)
}
