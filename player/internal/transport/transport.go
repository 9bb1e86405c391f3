// Package transport tracks the position of play, computes when the next message is due, and
// decides where play continues after a command to pause, step, seek or loop.
//
// It is pure: it has no clock, no lock and no goroutine. The caller passes the time, guards
// the Transport, and carries out the Effects that it returns.
package transport

import (
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Place is a place in the merged bags: Rank is the index of a message among the messages
// with the same stamp.
type Place struct {
	Stamp rosbag.Time
	Rank  int
}

// Loop says what to do at the end of a pass.
type Loop struct {
	On        bool
	From, To  time.Duration // the repeated range; To is Forever for the last message
	Shift     bool          // stamps go on from pass to pass: see ReadRequest.Shift
	Immediate bool          // messages have no deadlines, so an empty pass would take no time
}

// ReadRequest says where to read from.
type ReadRequest struct {
	From   Place // the first message, or the first one after this place
	Back   int   // begin this many messages before From
	Arrive bool  // play jumps: queue the jump first, with the latched messages that are valid there
	Loop   Loop
	Shift  time.Duration // added to stamps from here on
}

// Effects lists what the caller has to do after a change, in the order of the fields. The
// zero value means that nothing has changed.
type Effects struct {
	Changed   bool        // inform watchers
	Moved     bool        // the position has jumped; Reached and Clock return the new one already
	Read      bool        // submit Request to the reader
	Restarted bool        // play had ended and continues
	Request   ReadRequest // only with Read
}

// Options are the initial settings of a Transport.
type Options struct {
	Schedule      Schedule
	Loop          Loop          // To is Forever if the last message ends it
	SkipEmpty     time.Duration // jump over gaps that are longer; zero means never
	PauseOnTopics bool
}

// Transport is the position and the settings of play.
type Transport struct {
	schedule  Schedule
	loop      Loop
	skipEmpty time.Duration

	zero      rosbag.Time   // first selected message
	length    time.Duration // from the first to the last selected message
	bookmarks []time.Duration

	rateChanges []rateChange  // the latest, in order
	origin      time.Duration // where play at this pass would have begun without jumps and passes: see Played

	head          head
	reading       reading
	steps         int // requested while paused, not published yet
	pass          int
	pauseOnTopics bool   // pause for topics
	pausedBy      string // the topic of the message that play has paused for
}

// head is the position.
type head struct {
	begun     bool          // play has begun
	place     Place         // of the last published message or, after a jump, of the next one
	published bool          // a message was published since the last jump
	passEnded bool          // the last jump was the end of a pass
	startedAt time.Duration // when this pass, or play after a jump, began
	last      time.Duration // position of place
	next      time.Duration // position of the next message
	haveNext  bool          // next is valid: not while waiting for the disk, nor after the end
	clock     time.Duration // the latest position that was published as the clock
	shift     time.Duration // added to stamps because of the loop
}

// reading is the state of the reader as far as known.
type reading struct {
	request  ReadRequest // the last request
	jumps    uint64      // requests that moved play
	arriving bool        // a jump was requested, and the reader is not there yet
	ended    bool        // everything is published
	finished bool        // and play cannot restart
}

// New returns a transport before its first message.
func New(o Options) *Transport {
	return &Transport{schedule: o.Schedule, loop: o.Loop, skipEmpty: o.SkipEmpty, pauseOnTopics: o.PauseOnTopics}
}

// Load sets the time of the first message, and how long after it the last one is.
func (t *Transport) Load(zero rosbag.Time, length time.Duration) {
	t.zero, t.length = zero, length
	t.head.place = Place{Stamp: zero}
}

// FirstRequest returns where reading begins.
func (t *Transport) FirstRequest() ReadRequest { return ReadRequest{Loop: t.loop} }

// time returns the bag time of a position, including the shift of the loop.
func (t *Transport) time(pos time.Duration) rosbag.Time { return t.zero.Add(Sum(pos, t.head.shift)) }

// Reached returns the time of the last published message or, after a jump, of its target.
func (t *Transport) Reached() rosbag.Time { return t.time(t.head.last) }

// Position returns the position of play. It does not pass a message that is not published
// yet, also when play is late, and never decreases within a pass. After the last message it
// continues only while play may restart.
func (t *Transport) Position(now time.Duration) time.Duration {
	pos := t.schedule.Position(now)
	switch {
	case t.head.haveNext:
		pos = min(pos, t.head.next)
	case !t.reading.ended || t.reading.finished || t.schedule.Immediate:
		pos = t.head.last // the time of the next message is not known yet, or there is none
	}
	return max(pos, t.head.last)
}

// Clock returns the time to publish as the clock. It reports false before play has begun.
func (t *Transport) Clock(now time.Duration) (rosbag.Time, bool) {
	if !t.head.begun {
		return rosbag.Time{}, false
	}
	t.head.clock = max(t.head.clock, t.Position(now))
	return t.time(t.head.clock), true
}

// ClockIsBehind reports whether the published clock is before a position.
func (t *Transport) ClockIsBehind(pos time.Duration) bool { return pos > t.head.clock }

// Paused reports whether play is paused.
func (t *Transport) Paused() bool { return t.schedule.Paused }

// Ended reports whether everything is published.
func (t *Transport) Ended() bool { return t.reading.ended }

// Pause stops before the next message. It reports whether play was running.
func (t *Transport) Pause(now time.Duration) bool {
	if !t.schedule.Pause(t.Position(now)) {
		return false
	}
	t.steps = 0
	return true
}

// PauseFor pauses before a message of a topic that play pauses for.
func (t *Transport) PauseFor(topic string, now time.Duration) {
	t.Pause(now)
	t.pausedBy = topic
}

// Resume continues as if no time had passed. It reports whether play was paused.
func (t *Transport) Resume(now time.Duration) bool {
	if !t.schedule.Resume(now) {
		return false
	}
	t.pausedBy = ""
	return true
}

// Burst makes the next n messages due at once. It reports false, and does nothing, while
// play is running or when everything is published.
func (t *Transport) Burst(n int) bool {
	if !t.schedule.Paused || t.reading.ended || n < 1 {
		return false
	}
	t.steps += n
	return true
}

// StepBack goes back to the message before the last one that was published. It reports
// false, and does nothing, while play is running.
func (t *Transport) StepBack() (Effects, bool) {
	if !t.schedule.Paused || t.reading.finished {
		return Effects{}, false
	}
	back := 1
	if t.reading.arriving { // the reader is not there yet: count back from the pending target
		back += t.reading.request.Back
	}
	return t.jump(ReadRequest{From: t.head.place, Back: back}), true
}

// Seek goes to a position. The clock changes at once; the latched messages follow as soon as
// the reader has found them.
func (t *Transport) Seek(to, now time.Duration) Effects {
	if t.reading.finished {
		return Effects{}
	}
	to = max(0, min(to, t.length))
	t.head.place = Place{Stamp: t.zero.Add(to)}
	t.startAt(to, now)
	e := t.jump(ReadRequest{From: t.head.place})
	e.Moved = true
	return e
}

// jump requests reading from another place, with the latched messages there.
func (t *Transport) jump(o ReadRequest) Effects {
	t.reading.jumps++
	t.steps = 0
	t.pausedBy = ""
	t.reading.arriving = true
	o.Arrive = true
	return t.read(o)
}

// read requests reading from another place.
func (t *Transport) read(o ReadRequest) Effects {
	revived := t.reading.ended
	t.reading.ended = false
	o.Loop, o.Shift = t.loop, t.head.shift
	t.reading.request = o
	return Effects{Changed: true, Read: true, Restarted: revived, Request: o}
}

// SetRate sets the bag time per wall time, without a jump.
func (t *Transport) SetRate(rate float64, now time.Duration) {
	pos := t.Position(now)
	t.changeRate(pos)
	t.schedule.Begin(pos, now)
	t.schedule.Rate = rate
}

// SetLoop switches looping on or off: at the second mark, play continues at the first.
func (t *Transport) SetLoop(on bool, now time.Duration) Effects {
	if t.loop.On == on {
		return Effects{}
	}
	t.loop.On = on
	return t.loopChanged(now)
}

// SetMarks sets the range that SetLoop repeats.
func (t *Transport) SetMarks(from, to, now time.Duration) (Effects, error) {
	from, to = max(from, 0), min(to, t.length)
	if from >= to {
		return Effects{}, fmt.Errorf("marks at %v and %v: the second has to be behind the first, and both in the %v that are played",
			from, to, t.length)
	}
	t.loop.From, t.loop.To = from, to
	if to == t.length {
		t.loop.To = Forever
	}
	return t.loopChanged(now), nil
}

// loopChanged requests reading again from the position of play: the reader may be beyond the
// end of the loop already, or in the next pass.
func (t *Transport) loopChanged(now time.Duration) Effects {
	from := t.head.place
	if t.head.published {
		from.Rank++
	}
	switch {
	case t.reading.finished || t.reading.ended && !t.loop.On:
		return Effects{Changed: true}
	case t.loop.On && t.Position(now) >= t.loop.To:
		return t.Seek(t.loop.From, now)
	case t.reading.arriving:
		return t.read(t.reading.request)
	}
	return t.read(ReadRequest{From: from})
}

// maxBookmarks bounds the bookmarks: any node may set them, at any rate, and each state that
// the front ends send has them all.
const maxBookmarks = 1000

// Bookmark stores the position of play and returns it. It reports false, and does nothing, if
// there are maxBookmarks already.
func (t *Transport) Bookmark(now time.Duration) (pos time.Duration, ok bool) {
	if len(t.bookmarks) == maxBookmarks {
		return 0, false
	}
	pos = min(t.Position(now), t.length)
	t.bookmarks = append(t.bookmarks, pos)
	return pos, true
}

// PauseOnTopics switches pausing for topics on or off.
func (t *Transport) PauseOnTopics(on bool) { t.pauseOnTopics = on }

// PausesOnTopics reports whether play pauses for topics.
func (t *Transport) PausesOnTopics() bool { return t.pauseOnTopics }
