package player

import (
	"context"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Control steers a running Run. Its methods may be called from any goroutine, do
// not block and do nothing once Run has returned.
type Control interface {
	// Pause stops before the next message. It reports whether play was running.
	Pause() bool
	// Resume goes on as if no time had passed. It reports whether play was paused.
	Resume() bool
	// Toggle pauses or resumes and reports whether play is paused now.
	Toggle() bool
	// Step publishes the next message at once and stays paused. It reports false,
	// and does nothing, while play is running.
	Step() bool
	// Status returns where play is.
	Status() Status
}

// Phase is what Run is doing.
type Phase int

// The phases, in order. Run skips those that its options do not ask for.
const (
	PhaseRegister  Phase = iota // waiting until the master knows the topics
	PhaseDelay                  // Options.Delay runs
	PhaseWait                   // waiting for subscribers
	PhasePlay                   // playing, or paused
	PhaseKeepAlive              // all is published, the node stays
	PhaseDrain                  // waiting until the subscribers have read what is queued
	PhaseDone
)

// Status is a snapshot of a running Run.
type Status struct {
	Phase    Phase
	Paused   bool
	Rate     float64       // asked for
	Achieved float64       // bag time per wall time so far, pauses excluded; 0 if not known yet
	Late     time.Duration // how long after its deadline the last message went out
	BagTime  bagfmt.Time   // the same as Position, as recorded
	Position time.Duration // since the first selected message
	Length   time.Duration // from the first to the last selected message
	Pass     int           // complete passes, with Options.Loop
	Messages uint64        // published so far
}

// playhead is where play is: the one state that the pacer, the clock and Control
// share. Publishing happens under its lock, so that nothing is published once
// Pause has returned, and no clock value overtakes a message. The lock is never
// held while waiting: tcpros.Source.Publish does not block.
type playhead struct {
	sleeper sleeper
	zero    bagfmt.Time   // first selected message
	length  time.Duration // up to the last one
	// publishClock publishes the position; nil without --clock. Called with mu held.
	publishClock func(pos time.Duration)
	// clockHeard reports whether the clock has subscribers. Called with mu held.
	clockHeard func() bool

	mu        sync.Mutex
	schedule  schedule
	phase     Phase
	begun     bool // the first message of the first pass is known
	ended     bool // nothing more will come
	pass      int
	steps     int           // asked for while paused, not taken yet
	last      time.Duration // position of the last published message of this pass
	next      time.Duration // position of the message being waited for
	haveNext  bool          // false while the disk is awaited and after the end
	lastClock time.Duration
	messages  uint64
	completed bool // the last message of the last pass is out
	latched   []latchedMessage
	timing    timing
}

// run is the pacer: it plays what the queue gives until its end, or that of ctx.
func (h *playhead) run(ctx context.Context, q *queue) {
	h.sleeper.Attach()
	for {
		it, ok := q.pop(ctx)
		if !ok || !h.play(ctx, &it) {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.completed = true, ctx.Err() == nil
	h.timing.end(h.sleeper.Now())
}

// play publishes one message when it is due. It reports false when ctx ended.
func (h *playhead) play(ctx context.Context, it *item) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		if ctx.Err() != nil {
			return false
		}
		// A further pass begins with its first message. While paused, play stays where
		// the last pass has ended.
		if !h.begun || it.pass != h.pass && (!h.schedule.paused || h.steps > 0) {
			h.beginPass(it)
		}
		if it.pass == h.pass {
			h.next, h.haveNext = it.pos, true
		}
		deadline := h.schedule.deadline(it.pos)
		now := h.sleeper.Now()
		if now >= deadline || h.schedule.paused && h.steps > 0 {
			h.publish(it, now, deadline)
			return true
		}
		h.mu.Unlock()
		h.sleeper.SleepUntil(deadline)
		h.mu.Lock()
	}
}

// beginPass makes the first message of a pass due now.
func (h *playhead) beginPass(it *item) {
	now := h.sleeper.Now()
	h.begun, h.pass = true, it.pass
	h.schedule.begin(it.pos, now)
	h.last, h.lastClock = it.pos, it.pos
	h.next, h.haveNext = it.pos, true
	h.timing.begin(now, h.schedule.paused)
	if h.pass > 0 {
		h.publishLatched()
	}
	h.tick()
}

// publish hands a message to its topic. The time that it stamps goes out first:
// a node on simulated time must not receive a message from its future.
func (h *playhead) publish(it *item, now, deadline time.Duration) {
	further := it.pos - h.last
	h.last = it.pos
	switch {
	case h.schedule.paused:
		h.steps--
		h.schedule.step(it.pos)
		h.tick()
	case h.schedule.immediate:
		h.timing.advance(further)
		h.tick()
	default:
		h.timing.late(now - deadline)
		h.timing.advance(further)
		if it.pos > h.lastClock && h.clockHeard != nil && h.clockHeard() {
			h.tick()
		}
	}
	it.route.publish(it.frame)
	h.messages++
	h.haveNext = false
}

// position returns where play is. It waits for what is not published yet, also
// when play is behind its schedule, and never goes back within a pass.
func (h *playhead) position() time.Duration {
	pos := h.schedule.position(h.sleeper.Now())
	switch {
	case h.haveNext:
		pos = min(pos, h.next)
	case !h.ended || h.schedule.immediate:
		pos = h.last // the time of the next message is not known yet
	}
	return max(pos, h.last)
}

// tick publishes the clock, if there is one and play has begun.
func (h *playhead) tick() {
	if h.publishClock == nil || !h.begun {
		return
	}
	h.lastClock = max(h.lastClock, h.position())
	h.publishClock(h.lastClock)
}

// Pause implements Control.
func (h *playhead) Pause() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pause()
}

func (h *playhead) pause() bool {
	if !h.schedule.pause(h.position()) {
		return false
	}
	h.steps = 0
	h.timing.pause(h.sleeper.Now())
	h.sleeper.Wake()
	return true
}

// Resume implements Control.
func (h *playhead) Resume() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.resume()
}

func (h *playhead) resume() bool {
	now := h.sleeper.Now()
	if !h.schedule.resume(now) {
		return false
	}
	h.timing.resume(now)
	h.sleeper.Wake()
	return true
}

// Toggle implements Control.
func (h *playhead) Toggle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.pause() {
		h.resume()
	}
	return h.schedule.paused
}

// Step implements Control.
func (h *playhead) Step() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.schedule.paused || h.ended {
		return false
	}
	h.steps++
	h.sleeper.Wake()
	return true
}

// Status implements Control.
func (h *playhead) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status()
}

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
	}
}
