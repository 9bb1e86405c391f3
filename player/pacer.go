package player

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// maxCatchUp is how far behind its schedule play may be when subscribers had no room, or
// the disk did not answer, and make up for it. What is more moves the schedule: nobody
// wants a burst after he was stopped for a minute.
const maxCatchUp = 100 * time.Millisecond

// When the log names who holds play up, and how often.
const (
	fullReport = 3 * time.Second
	fullAgain  = 10 * time.Second
)

// run is the pacer: it plays what the queue gives until its end, or that of ctx.
func (h *playhead) run(ctx context.Context) {
	h.sleeper.Attach()
	for run := make([]item, 0, runItems); ; {
		var ok bool
		run, ok = h.queue.pop(ctx, run[:0])
		h.starved = h.queue.waited > maxCatchUp
		for i := range run {
			if ok = ok && h.play(ctx, &run[i]); !ok {
				break
			}
			run[i] = item{} // frees the chunk
			h.starved = false
		}
		if !ok && (len(run) > 0 || !h.rest(ctx)) {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.over = true, true
	h.completed = h.completed || h.stopped
	h.timing.end(h.sleeper.Now())
}

// rest is the end of what was asked for. It reports whether play goes on elsewhere.
func (h *playhead) rest(ctx context.Context) bool {
	h.mu.Lock()
	switch {
	case ctx.Err() != nil:
		h.mu.Unlock()
		return false
	case !h.queue.done(): // somebody has jumped meanwhile
		h.mu.Unlock()
		return true
	}
	h.ended, h.completed = true, true
	if !h.keepAlive {
		h.over = true
		h.mu.Unlock()
		return false
	}
	if !h.schedule.paused {
		h.timing.pause(h.sleeper.Now())
	}
	h.enter(PhaseKeepAlive)
	epoch := h.epoch
	h.mu.Unlock()
	return h.queue.reopened(ctx, epoch)
}

// enter changes the phase. Called with mu held.
func (h *playhead) enter(p Phase) {
	h.phase = p
	if h.entered != nil {
		h.entered(h.status())
	}
	h.changed()
}

// play deals with one item when it is due. It reports false when ctx ended.
func (h *playhead) play(ctx context.Context, it *item) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var w waiting
	defer h.released(&w)
	for {
		switch {
		case ctx.Err() != nil:
			return false
		case it.epoch != h.epoch:
			return true
		case it.jump != nil && !it.jump.turn:
			h.arrive(it)
			return true
		case !h.begun:
			h.begin(it)
		}
		until := h.ready(it, &w)
		if until == 0 {
			if it.jump != nil {
				h.turn(it.jump)
			} else {
				h.publish(it, &w)
			}
			return true
		}
		h.mu.Unlock()
		h.sleeper.SleepUntil(until)
		h.mu.Lock()
	}
}

// waiting is what has happened to the item that play waits for.
type waiting struct {
	controlled bool          // rate control has let it pass
	paused     bool          // play was paused for its topic
	blocked    bool          // a subscriber had no room for it
	report     time.Duration // when that is worth a line in the log
	now        time.Duration // when it was looked at
	deadline   time.Duration
}

// ready returns 0 when it is time for an item, else when to look again.
func (h *playhead) ready(it *item, w *waiting) (until time.Duration) {
	step := h.schedule.paused && h.steps > 0
	w.now = h.sleeper.Now()
	if !w.controlled && !step {
		held := h.delayed > 0
		if h.delayed = h.rateControl.ahead(h.time(h.last)); h.delayed > 0 && it.jump == nil {
			return forever
		}
		w.controlled, h.delayed = true, 0
		if held {
			h.schedule.begin(h.position(), w.now)
		}
		h.skip(it, w.now)
	}
	h.next, h.haveNext = it.pos, true
	w.deadline = h.schedule.deadline(it.pos)
	switch {
	case !step && w.now < w.deadline:
		return h.crowd.wakeUp(w.deadline)
	case it.jump != nil:
		return 0
	case !step && it.route.pauses && h.pauseOn && !w.paused:
		w.paused = true
		h.pause()
		h.pausedBy = it.route.topic.name
		return forever
	case it.route.topic.off || h.hasRoom(it.route.topic):
		if late := w.now - w.deadline; (w.blocked || h.starved) && late > maxCatchUp && !h.schedule.paused {
			h.schedule.begin(it.pos, w.now)
			w.deadline = w.now
		}
		return 0
	}
	if !w.blocked {
		w.report = w.now + fullReport
	}
	w.blocked, h.full = true, it.route.topic
	if w.now >= w.report {
		w.report = w.now + fullAgain
		h.log.Warn("play waits for subscribers that do not read",
			zap.Strings("subscribers", few(notReading(h.full, h.full.publication.Stats()))))
	}
	return w.report
}

// waitsForDisk is told now and then while play waits for what is not read yet.
func (h *playhead) waitsForDisk(d time.Duration) {
	h.log.Warn("play waits for the disk", zap.Duration("for", d.Round(time.Second)))
}

// notReading returns who makes a topic have no room.
func notReading(t *topic, subscribers []tcpros.SubscriberStats) (names []string) {
	for _, s := range subscribers {
		if s.Full {
			names = append(names, s.CallerID+" of "+t.name)
		}
	}
	return names
}

// hasRoom reports whether all subscribers of a topic take another message.
func (h *playhead) hasRoom(t *topic) bool {
	return t.publication == nil || t.publication.Room()
}

// released is the end of waiting for an item.
func (h *playhead) released(w *waiting) {
	if w.blocked {
		h.full = nil
	}
	h.delayed = 0
}

// skip makes what comes after a gap due now, if the gap is too long.
func (h *playhead) skip(it *item, now time.Duration) {
	if h.skipEmpty == 0 || it.pos-h.last <= h.skipEmpty {
		return
	}
	h.schedule.begin(it.pos, now)
	h.last, h.lastClock = it.pos, it.pos
	h.tick()
}

// begin makes the first message due now.
func (h *playhead) begin(it *item) {
	h.begun = true
	h.at = place{stamp: it.stamp, rank: it.rank}
	h.settle(it.pos)
	h.timing.begin(h.sleeper.Now(), h.schedule.paused)
	h.tick()
}

// settle makes play go on at a position, now.
func (h *playhead) settle(pos time.Duration) {
	h.schedule.begin(pos, h.sleeper.Now())
	h.last, h.lastClock = pos, pos
	h.next, h.haveNext = pos, false
	h.published = false
	h.rateControl.reset(h.time(pos))
}

// turn is the end of a pass and the beginning of the next.
func (h *playhead) turn(j *jump) {
	if h.schedule.paused && h.turned && !h.published {
		h.steps = 0 // there is no message in the loop: a step would never end
	}
	h.pass++
	h.turned = true
	h.shift = j.shift
	h.at = place{stamp: h.zero.Add(j.to)}
	h.settle(j.to)
	h.tick() // before the state: a node that forgets all when time goes back gets it then
	h.setState(j)
	h.changed()
}

// arrive is the end of a jump: the reader is there, and knows the state.
func (h *playhead) arrive(it *item) {
	h.begun, h.arriving, h.turned = true, false, false
	h.at = place{stamp: it.stamp, rank: it.rank}
	if it.jump.step {
		h.steps++
	}
	h.settle(it.jump.to)
	h.timing.begin(h.sleeper.Now(), h.schedule.paused)
	h.tick()
	h.setState(it.jump)
	h.changed()
}

// publish hands a message to its topic. The time that it stamps goes out first:
// a node on simulated time must not receive a message from its future.
func (h *playhead) publish(it *item, w *waiting) {
	further, alone := it.pos-h.last, true
	h.last = it.pos
	h.at, h.published = place{stamp: it.stamp, rank: it.rank}, true
	stamp := it.pos > h.lastClock && h.clockHeard != nil && h.clockHeard()
	switch {
	case h.schedule.paused:
		h.steps--
		h.schedule.step(it.pos)
		stamp = true
	case h.schedule.immediate:
		h.timing.advance(further)
		stamp, alone = true, false
	default:
		h.crowd.add(w.now, w.deadline)
		alone = w.now-w.deadline < floodLate
		h.timing.late(w.now - w.deadline)
		h.timing.advance(further)
	}
	if (stamp || h.clockAll) && it.route.clocked {
		h.tick()
	}
	h.pausedBy = ""
	h.publishFrame(it.route, it.frame, alone)
	h.haveNext = false
}

// floodLate is how late play must be for messages to come in a flood.
const floodLate = time.Millisecond

// publishFrame hands a frame to its topic, unless that is off. One that comes alone
// goes out at once, others leave it to the links to send many together.
func (h *playhead) publishFrame(r *route, frame []byte, alone bool) {
	if r.source.latching {
		r.source.held = frame
	}
	if r.topic.off {
		return
	}
	r.source.send(frame, alone)
	h.messages++
}

// send publishes a frame and counts it.
func (s *source) send(frame []byte, alone bool) {
	if alone {
		s.PublishNow(frame)
	} else {
		s.Publish(frame)
	}
	s.topic.messages++
	s.topic.bytes += uint64(len(frame) - 4)
}

// mark notes which routes options name. Recorded names are compared as stock does,
// but the leading slash may be left out on either side.
func (p *plan) mark(o *Options) {
	names := func(list []string, recorded string) bool {
		return slices.ContainsFunc(list, func(name string) bool {
			return strings.TrimPrefix(name, "/") == strings.TrimPrefix(recorded, "/")
		})
	}
	for _, b := range p.bags {
		for _, r := range b.routes {
			r.pauses = names(o.PauseTopics, r.conn.Topic)
			r.clocked = len(o.ClockTopics) == 0 || names(o.ClockTopics, r.conn.Topic)
			p.pauses = p.pauses || r.pauses
			if r.topic != nil {
				r.topic.stamps = stampsOf(r.topic.md5, r.topic.definition)
				r.topic.pauses = r.topic.pauses || r.pauses
			}
		}
	}
}
