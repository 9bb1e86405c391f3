package transport

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// The methods in this file record the progress of play.

// Begun reports whether Begin or Arrive was called.
func (t *Transport) Begun() bool { return t.head.begun }

// Begin makes the first message due now.
func (t *Transport) Begin(at Place, pos, now time.Duration) {
	t.head.begun = true
	t.head.place = at
	t.startAt(pos, now)
}

// startAt continues play at a position, now.
func (t *Transport) startAt(pos, now time.Duration) {
	t.leap(pos, now)
	t.schedule.Begin(pos, now)
	t.head.startedAt = now
	t.head.last, t.head.clock = pos, pos
	t.head.next, t.head.haveNext = pos, false
	t.head.published = false
}

// Stepping reports whether the next message is due at once because of a step.
func (t *Transport) Stepping() bool { return t.schedule.Paused && t.steps > 0 }

// SetNext sets the position of the next message, and returns when it is due.
func (t *Transport) SetNext(pos time.Duration) (deadline time.Duration) {
	t.head.next, t.head.haveNext = pos, true
	return t.schedule.Deadline(pos)
}

// Rebase moves the schedule so that play continues from its position now, without making up
// for a delay.
func (t *Transport) Rebase(now time.Duration) { t.schedule.Begin(t.Position(now), now) }

// RebaseTo makes a position due now.
func (t *Transport) RebaseTo(pos, now time.Duration) { t.schedule.Begin(pos, now) }

// Skip makes the message at pos due now if the gap before it is too long, which it reports.
func (t *Transport) Skip(pos, now time.Duration) bool {
	if t.skipEmpty == 0 || pos-t.head.last <= t.skipEmpty {
		return false
	}
	t.leap(pos, now)
	t.schedule.Begin(pos, now)
	t.head.last, t.head.clock = pos, pos
	return true
}

// Pace is the reason why a message is published now.
type Pace int

// The reasons to publish a message.
const (
	OnTime Pace = iota // by its deadline
	AtOnce             // immediate mode
	ByStep             // while paused
)

// Publish records that a message is published at now, and returns the reason.
func (t *Transport) Publish(at Place, pos, now time.Duration) Pace {
	pace := OnTime
	switch {
	case t.schedule.Paused:
		t.steps--
		t.leap(pos, now)
		t.schedule.Step(pos)
		pace = ByStep
	case t.schedule.Immediate:
		pace = AtOnce
	}
	t.head.place, t.head.published, t.head.last, t.head.haveNext = at, true, pos, false
	t.pausedBy = ""
	return pace
}

// leap is called before play moves to a position without taking time, by a jump or a step.
func (t *Transport) leap(pos, now time.Duration) {
	t.moveRateChanges(pos - t.Position(now))
	t.origin = Sum(pos, -t.Played(now))
}

// Played returns the bag time that was played up to now, in all passes and with the gaps
// between them. It excludes what play passed over by a jump or a step.
func (t *Transport) Played(now time.Duration) time.Duration {
	pos := t.head.last
	if !t.reading.ended { // behind the last message only the clock goes on
		pos = t.Position(now)
	}
	return Sum(pos, -t.origin)
}

// minPassTime is the shortest wall time of a pass. A loop around one message, or between two
// marks that are almost equal, would otherwise occupy a core and flood the subscribers.
const minPassTime = 10 * time.Millisecond

// NextPass ends a pass and begins the next: now or, except in immediate mode, minPassTime
// after the pass before began.
func (t *Transport) NextPass(to, shift, now time.Duration) {
	if t.schedule.Paused && t.head.passEnded && !t.head.published {
		t.steps = 0 // there is no message in the loop: a step would never end
	}
	t.pass++
	t.head.passEnded = true
	t.head.shift = shift
	t.head.place = Place{Stamp: t.zero.Add(to)}
	if !t.schedule.Immediate {
		now = max(now, t.head.startedAt+minPassTime)
	}
	t.startAt(to, now)
}

// Arrive completes a jump: the reader has reached the place. With step the message there is
// published even while paused.
func (t *Transport) Arrive(at Place, to time.Duration, step bool, now time.Duration) {
	t.head.begun, t.reading.arriving, t.head.passEnded = true, false, false
	t.head.place = at
	if step {
		t.steps++
	}
	t.startAt(to, now)
}

// End records that everything is published. A seek may restart play.
func (t *Transport) End() { t.reading.ended = true }

// Finish records that play has ended, for good, where it is now.
func (t *Transport) Finish(now time.Duration) {
	if !t.reading.ended {
		t.head.last, t.head.haveNext = t.Position(now), false
	}
	t.reading.ended, t.reading.finished = true, true
}

// State is a snapshot of a Transport.
type State struct {
	Paused        bool
	Rate          float64
	Position      time.Duration // at most the length
	BagTime       rosbag.Time   // the same, as recorded
	Length        time.Duration
	Pass          int
	Loop          bool
	From, To      time.Duration   // of the loop
	Bookmarks     []time.Duration // not to be modified
	PauseOnTopics bool
	PausedBy      string
	Jumps         uint64
}

// State returns a snapshot at now.
func (t *Transport) State(now time.Duration) State {
	pos := min(t.Position(now), t.length)
	return State{
		Paused:        t.schedule.Paused,
		Rate:          t.schedule.Rate,
		Position:      pos,
		BagTime:       t.zero.Add(pos),
		Length:        t.length,
		Pass:          t.pass,
		Loop:          t.loop.On,
		From:          t.loop.From,
		To:            min(t.loop.To, t.length),
		Bookmarks:     t.bookmarks[:len(t.bookmarks):len(t.bookmarks)],
		PauseOnTopics: t.pauseOnTopics,
		PausedBy:      t.pausedBy,
		Jumps:         t.reading.jumps,
	}
}

// Span returns the time of the first message, and how long after it the last one is.
func (t *Transport) Span() (zero rosbag.Time, length time.Duration) { return t.zero, t.length }
