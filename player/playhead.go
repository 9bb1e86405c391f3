package player

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// playhead is where play is: the one state that the pacer, the clock and Control
// share. Publishing happens under its lock, so that nothing is published once
// Pause has returned, and no clock value overtakes a message. The lock is never
// held while waiting: tcpros.Source.Publish does not block.
type playhead struct {
	sleeper sleeper
	plan    *plan
	awaited []*topic // that have to have subscribers before play begins
	log     *zap.Logger
	queue   *queue
	reader  *reader
	zero    bagfmt.Time   // first selected message
	length  time.Duration // up to the last one
	sources []*source     // those that latch

	skipEmpty   time.Duration // Options
	rateControl *RateControl
	clockAll    bool // Options.ClockPerMessage
	keepAlive   bool
	// publishClock publishes a time; nil without --clock. Called with mu held.
	publishClock func(t bagfmt.Time)
	// clockHeard reports whether the clock has subscribers. Called with mu held.
	clockHeard func() bool
	// entered is told each change of the phase; nil if nobody wants to know. Called with mu held.
	entered func(Status)
	stop    context.CancelFunc // ends play, for Control.Stop
	starved bool               // the message that is due had to be waited for; only for the pacer

	mu        sync.Mutex
	schedule  schedule
	loop      loop // its end is forever if that is the last message
	phase     Phase
	pauseOn   bool          // pause for Options.PauseTopics
	pausedBy  string        // the topic that it was done for
	full      *topic        // with a subscriber that holds play up
	delayed   time.Duration // how far play is ahead of rate control that holds it up
	bookmarks []time.Duration
	epoch     uint64 // of the queue: items of others are outdated
	begun     bool   // there is a position
	arriving  bool   // an order to jump was given, and the reader is not there yet
	ordered   order  // the last one
	ended     bool   // all is published
	over      bool   // and there is no way back
	stopped   bool   // by Control.Stop
	pass      int
	seeks     uint64
	steps     int           // asked for while paused, not taken yet
	at        place         // of the last published message or, if there is none since a jump, of the next one
	published bool          // a message since the last jump
	turned    bool          // and that was the end of a pass
	last      time.Duration // position of at
	next      time.Duration // position of what is being waited for
	haveNext  bool          // false while the disk is awaited and after the end
	lastClock time.Duration
	shift     time.Duration // what the loop adds to stamps
	messages  uint64
	completed bool // the last message of the last pass is out
	latched   []latchedMessage
	timing    timing
	crowd     crowd
	change    chan struct{} // closed at the next change, if somebody waits for it
}

// begins says, before play, what there is to play and how to stop it.
func (h *playhead) begins(zero bagfmt.Time, length time.Duration, stop context.CancelFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.zero, h.length, h.stop = zero, length, stop
	h.at = place{stamp: zero}
}

// time returns the time of a position, as the clock and rate control have it.
func (h *playhead) time(pos time.Duration) bagfmt.Time { return h.zero.Add(pos + h.shift) }

// position returns where play is. It waits for what is not published yet, also
// when play is behind its schedule, and never goes back within a pass. Behind the last
// message time goes on only if play stays.
func (h *playhead) position() time.Duration {
	pos := h.schedule.position(h.sleeper.Now())
	switch {
	case h.haveNext:
		pos = min(pos, h.next)
	case !h.ended || h.over || h.schedule.immediate:
		pos = h.last // the time of the next message is not known yet, or there is none
	}
	return max(pos, h.last)
}

// tick publishes the clock, if there is one and play has begun.
func (h *playhead) tick() {
	if h.publishClock == nil || !h.begun {
		return
	}
	h.lastClock = max(h.lastClock, h.position())
	h.publishClock(h.time(h.lastClock))
}

// Status implements Control.
func (h *playhead) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status()
}

// starving returns how long play has been waiting for the disk, if that is worth a word.
func (h *playhead) starving() time.Duration {
	d := h.queue.dryFor()
	if d < starvingLeast {
		return 0
	}
	return d
}

// starvingLeast is what nobody would have time to read.
const starvingLeast = time.Second

func (h *playhead) status() Status {
	pos := min(h.position(), h.length)
	return Status{
		Phase:    h.phase,
		Paused:   h.schedule.paused,
		Rate:     h.schedule.rate,
		Achieved: h.timing.achieved(h.sleeper.Now()),
		Late:     h.timing.lastLate,
		BagTime:  h.zero.Add(pos),
		Position: pos,
		Length:   h.length,
		Pass:     h.pass,
		Messages: h.messages,

		Loop:          h.loop.on,
		MarkFrom:      h.loop.from,
		MarkTo:        min(h.loop.to, h.length),
		Bookmarks:     h.bookmarks[:len(h.bookmarks):len(h.bookmarks)],
		PauseOnTopics: h.pauseOn && h.plan.pauses,
		PausedBy:      h.pausedBy,
		Delayed:       h.delayed,
		Starving:      h.starving(),
		Seeks:         h.seeks,
	}
}
