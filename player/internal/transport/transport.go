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

// Loop says what to do at the end of a pass. A Transport changes and reads On, From and To. It passes the
// Loop on in each ReadRequest, to the reader, which reads all fields; Shift and Immediate are for the
// reader only.
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

// Transport is where play is, and its settings.
type Transport struct {
	head      Head
	loop      Loop
	skipEmpty time.Duration
	bookmarks []time.Duration

	reading       reading
	steps         int // requested while paused, not published yet
	pass          int
	pauseOnTopics bool   // pause for topics
	pausedBy      string // the topic of the message that play has paused for
}

// reading is the state of the reader as far as known.
type reading struct {
	request  ReadRequest // the last request
	jumps    uint64      // requests that moved play
	arriving bool        // a jump was requested, and the reader is not there yet
}

// New returns a transport before its first message.
func New(o Options) *Transport {
	return &Transport{
		head: Head{schedule: o.Schedule}, loop: o.Loop, skipEmpty: o.SkipEmpty,
		pauseOnTopics: o.PauseOnTopics,
	}
}

// Load sets the time of the first message, and how long after it the last one is.
func (t *Transport) Load(zero rosbag.Time, length time.Duration) {
	t.head.zero, t.head.length = zero, length
	t.head.place = Place{Stamp: zero}
}

// FirstRequest returns where reading begins.
func (t *Transport) FirstRequest() ReadRequest { return ReadRequest{Loop: t.loop} }

// Head returns the position of play, for those who read it. The same lock guards it.
func (t *Transport) Head() *Head { return &t.head }

// Stepping reports whether the next message is due at once because of a step.
func (t *Transport) Stepping() bool { return t.head.schedule.Paused && t.steps > 0 }

// Pause stops before the next message. It reports whether play was running.
func (t *Transport) Pause(now time.Duration) bool {
	if !t.head.schedule.Pause(t.head.Position(now)) {
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
	if !t.head.schedule.Resume(now) {
		return false
	}
	t.pausedBy = ""
	return true
}

// Burst makes the next n messages due at once. It reports false, and does nothing, while
// play is running or when everything is published.
func (t *Transport) Burst(n int) bool {
	if !t.head.schedule.Paused || t.head.ended || n < 1 {
		return false
	}
	t.steps += n
	return true
}

// StepBack goes back to the message before the last one that was published. It reports
// false, and does nothing, while play is running and if there is no message before.
func (t *Transport) StepBack() (Effects, bool) {
	if !t.head.schedule.Paused || t.head.finished || t.head.atFirst() {
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
	if t.head.finished {
		return Effects{}
	}
	to = max(0, min(to, t.head.length))
	t.head.place = Place{Stamp: t.head.zero.Add(to)}
	t.head.startAt(to, now)
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
	revived := t.head.ended
	t.head.ended = false
	o.Loop, o.Shift = t.loop, t.head.shift
	t.reading.request = o
	return Effects{Changed: true, Read: true, Restarted: revived, Request: o}
}

// SetRate sets the bag time per wall time, without a jump.
func (t *Transport) SetRate(rate float64, now time.Duration) {
	t.head.setRate(rate, now)
}

// SetLoop switches looping on or off: at the end of the range, play continues at its beginning.
func (t *Transport) SetLoop(on bool, now time.Duration) Effects {
	if t.loop.On == on {
		return Effects{}
	}
	t.loop.On = on
	return t.loopChanged(now)
}

// SetLoopRange sets the range that SetLoop repeats.
func (t *Transport) SetLoopRange(from, to, now time.Duration) (Effects, error) {
	from, to = max(from, 0), min(to, t.head.length)
	if from >= to {
		return Effects{},
			fmt.Errorf("a loop from %v to %v: its end has to be after its beginning, and both in the %v that are played",
				from, to, t.head.length)
	}
	t.loop.From, t.loop.To = from, to
	if to == t.head.length {
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
	case t.head.finished || t.head.ended && !t.loop.On:
		return Effects{Changed: true}
	case t.loop.On && t.head.Position(now) >= t.loop.To:
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
	pos = min(t.head.Position(now), t.head.length)
	t.bookmarks = append(t.bookmarks, pos)
	return pos, true
}

// PauseOnTopics switches pausing for topics on or off.
func (t *Transport) PauseOnTopics(on bool) { t.pauseOnTopics = on }

// PausesOnTopics reports whether play pauses for topics.
func (t *Transport) PausesOnTopics() bool { return t.pauseOnTopics }
