package player

import (
	"fmt"
	"time"
)

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
	if !h.ended {
		h.timing.pause(h.sleeper.Now())
	}
	h.changed()
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
	h.pausedBy = ""
	if !h.ended {
		h.timing.resume(now)
	}
	h.changed()
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
func (h *playhead) Step() bool { return h.Burst(1) }

// Burst implements Control.
func (h *playhead) Burst(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.schedule.paused || h.ended || n < 1 {
		return false
	}
	h.steps += n
	h.changed()
	return true
}

// StepBack implements Control.
func (h *playhead) StepBack() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.schedule.paused || h.over {
		return false
	}
	back := 1
	if h.arriving { // the reader has not got there yet: further back from where it was sent
		back += h.ordered.back
	}
	h.jump(order{from: h.at, back: back})
	return true
}

// Seek implements Control.
func (h *playhead) Seek(to time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.seek(to)
	}
}

// seek goes to a position. The clock says so at once; the state there comes as soon as
// the reader has found it. Called with mu held.
func (h *playhead) seek(to time.Duration) {
	to = max(0, min(to, h.length))
	h.at = place{stamp: h.zero.Add(to)}
	h.arriving = true
	h.settle(to)
	h.tick()
	h.jump(order{from: h.at})
}

// jump makes the reader go elsewhere, and tell the state there. Called with mu held.
func (h *playhead) jump(o order) {
	h.seeks++
	h.steps = 0
	h.pausedBy = ""
	h.arriving = true
	o.arrive = true
	h.read(o)
}

// read gives the reader a new order. Called with mu held.
func (h *playhead) read(o order) {
	if h.ended {
		h.ended, h.completed = false, false
		if !h.schedule.paused {
			h.timing.resume(h.sleeper.Now())
		}
		h.enter(PhasePlay)
	}
	o.loop, o.shift = h.loop, h.shift
	h.epoch = h.queue.restart()
	o.epoch = h.epoch
	h.ordered = o
	h.reader.give(o)
	h.changed()
}

// SetRate implements Control.
func (h *playhead) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.schedule.begin(h.position(), h.sleeper.Now())
	h.schedule.rate = rate
	h.changed()
	return nil
}

// SetLoop implements Control.
func (h *playhead) SetLoop(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loop.on != on {
		h.loop.on = on
		h.loopChanged()
	}
}

// SetMarks implements Control.
func (h *playhead) SetMarks(from, to time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	from, to = max(from, 0), min(to, h.length)
	if from >= to {
		return fmt.Errorf("player: marks at %v and %v: the second has to be behind the first, and both in the %v that are played",
			from, to, h.length)
	}
	h.loop.from, h.loop.to = from, to
	if to == h.length {
		h.loop.to = forever
	}
	h.loopChanged()
	return nil
}

// loopChanged tells the reader, which may be beyond the end of the loop already, or in
// the next pass. It reads again from where play is. Called with mu held.
func (h *playhead) loopChanged() {
	from := h.at
	if h.published {
		from.rank++
	}
	switch {
	case h.over || h.ended && !h.loop.on:
		h.changed()
	case h.loop.on && h.position() >= h.loop.to:
		h.seek(h.loop.from)
	case h.arriving:
		h.read(h.ordered)
	default:
		h.read(order{from: from})
	}
}

// Bookmark implements Control.
func (h *playhead) Bookmark() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	pos := min(h.position(), h.length)
	h.bookmarks = append(h.bookmarks, pos)
	h.changed()
	return pos
}

// PauseOnTopics implements Control.
func (h *playhead) PauseOnTopics(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pauseOn = on
	h.changed()
}

// SetTopic implements Control.
func (h *playhead) SetTopic(name string, on bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.plan.byName[name]
	if t == nil || t.publication == nil {
		return fmt.Errorf("player: topic %q is not played", name)
	}
	if t.off == !on {
		return nil
	}
	t.off = !on
	for _, s := range h.sources {
		switch {
		case s.topic != t:
		case !on:
			s.Unlatch()
		case s.held != nil:
			s.send(s.held, false)
			h.messages++
		}
	}
	h.changed()
	return nil
}

// Stop implements Control.
func (h *playhead) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.stop()
	h.changed()
}

// changed tells all who wait that something did. Called with mu held.
func (h *playhead) changed() {
	if h.change != nil {
		close(h.change)
		h.change = nil
	}
	h.sleeper.Wake()
}

// Changed implements Control.
func (h *playhead) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.change == nil {
		h.change = make(chan struct{})
	}
	return h.change
}
