package transport

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// The methods in this file record the progress of play.

// Begin makes the first message due now.
func (t *Transport) Begin(at Place, pos, now time.Duration) {
	t.head.begun = true
	t.head.place = at
	t.head.startAt(pos, now)
}

// SetNext sets the position of the next message, and returns when it is due.
func (t *Transport) SetNext(pos time.Duration) (deadline time.Duration) {
	t.head.next, t.head.haveNext = pos, true
	return t.head.schedule.Deadline(pos)
}

// Rebase moves the schedule so that play continues from its position now, without making up
// for a delay.
func (t *Transport) Rebase(now time.Duration) { t.head.schedule.Begin(t.head.Position(now), now) }

// RebaseTo makes a position due now.
func (t *Transport) RebaseTo(pos, now time.Duration) { t.head.schedule.Begin(pos, now) }

// Skip makes the message at pos due now if the gap before it is longer than Options.SkipEmpty, and
// reports whether it is.
func (t *Transport) Skip(pos, now time.Duration) bool {
	if t.skipEmpty == 0 || pos-t.head.last <= t.skipEmpty {
		return false
	}
	t.head.leap(pos, now)
	t.head.schedule.Begin(pos, now)
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
	case t.head.schedule.Paused:
		t.steps--
		t.head.leap(pos, now)
		t.head.schedule.Step(pos)
		pace = ByStep
	case t.head.schedule.Immediate:
		pace = AtOnce
	}
	t.head.place, t.head.published, t.head.last, t.head.haveNext = at, true, pos, false
	t.pausedBy = ""
	return pace
}

// minPassTime is the shortest wall time of a pass. A loop around one message, or between two
// ends that are almost equal, would otherwise occupy a core and flood the subscribers.
// ADR 0080: a pass ends one message interval after its last message.
const minPassTime = 10 * time.Millisecond

// NextPass ends a pass and begins the next: now or, except in immediate mode, minPassTime
// after the pass before began.
func (t *Transport) NextPass(to, shift, now time.Duration) {
	if t.head.schedule.Paused && t.head.passEnded && !t.head.published {
		t.steps = 0 // there is no message in the loop: a step would never end
	}
	t.pass++
	t.head.passEnded = true
	t.head.shift = shift
	t.head.place = Place{Stamp: t.head.zero.Add(to)}
	begins := now
	if !t.head.schedule.Immediate {
		begins = max(now, t.head.startedAt+minPassTime)
	}
	t.head.startAt(to, begins)
}

// Arrive completes a jump: the reader has reached the place. With step the message there is
// published even while paused.
func (t *Transport) Arrive(at Place, to time.Duration, step bool, now time.Duration) {
	t.head.begun, t.reading.arriving, t.head.passEnded = true, false, false
	t.head.place = at
	if step {
		t.steps++
	}
	t.head.startAt(to, now)
}

// End records that everything is published. A seek may restart play.
func (t *Transport) End() { t.head.ended = true }

// Finish records that play has ended, for good, where it is now.
func (t *Transport) Finish(now time.Duration) {
	if !t.head.ended {
		t.head.last, t.head.haveNext = t.head.Position(now), false
	}
	t.head.ended, t.head.finished = true, true
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
	Played        time.Duration // bag time that was played, see Head.Played
}

// State returns a snapshot at now.
func (t *Transport) State(now time.Duration) State {
	pos := min(t.head.Position(now), t.head.length)
	return State{
		Paused:        t.head.schedule.Paused,
		Rate:          t.head.schedule.Rate,
		Position:      pos,
		BagTime:       t.head.zero.Add(pos),
		Length:        t.head.length,
		Pass:          t.pass,
		Loop:          t.loop.On,
		From:          t.loop.From,
		To:            min(t.loop.To, t.head.length),
		Bookmarks:     t.bookmarks[:len(t.bookmarks):len(t.bookmarks)],
		PauseOnTopics: t.pauseOnTopics,
		PausedBy:      t.pausedBy,
		Jumps:         t.reading.jumps,
		Played:        t.head.Played(now),
	}
}
