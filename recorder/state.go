package recorder

import (
	"context"
	"time"
)

// State is what a recording does with the messages that arrive. Those that it does not
// record are no losses; they are counted for themselves.
type State int

// The zero value records.
const (
	StateRecording State = iota
	StatePaused          // the bag stays open and gets nothing, until Control.Resume
	StateStopped         // there is no bag, until Control.Start
)

// String returns the state as people read it.
func (s State) String() string {
	switch s {
	case StateRecording:
		return "recording"
	case StatePaused:
		return "paused"
	case StateStopped:
		return "stopped"
	}
	return "unknown"
}

// errand is what the writer does when it has written what was queued before. It alone
// touches the file, so whatever is done to files comes to it in this way.
type errand struct {
	do   func(*errand) error
	done chan struct{} // closed when it is done; then the following are final
	file *bagFile      // that was closed or opened; nil if none was
	err  error
}

func (e *errand) run() {
	e.err = e.do(e)
	close(e.done)
}

// send queues an errand. mu is held, so that it has its place among the chunks.
func (p *pipeline) send(do func(*errand) error) *errand {
	e := &errand{do: do, done: make(chan struct{})}
	p.sealed.put(&chunk{errand: e})
	return e
}

// wants reports whether messages of t go into the bag now. mu is held.
func (p *pipeline) wants(t *topic) bool {
	return p.state == StateRecording && !p.ended && !p.full && !p.atLimit(t)
}

// pass counts messages that arrive while nothing is recorded. mu is held.
func (p *pipeline) pass(c *connection, messages int) {
	if !p.atLimit(c.topic) {
		c.topic.passed += uint64(messages)
		c.missed = c.latching
	}
}

// enter changes the state. Links that wait for room have to look again. mu is held.
func (p *pipeline) enter(s State) {
	p.state = s
	p.room.Broadcast()
	p.onChange()
}

// begunAt returns when the recording was started, zero while it is stopped.
func (p *pipeline) begunAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}

// hasBag says why nothing can be done to the bag: the recording ends, or is stopped.
// mu is held.
func (p *pipeline) hasBag() error {
	switch {
	case p.ended || p.full:
		return ErrNotRecording
	case p.state == StateStopped:
		return ErrStopped
	}
	return nil
}

// pause makes what arrives from now on pass.
func (p *pipeline) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.hasBag()
	if err == nil && p.state == StateRecording {
		p.enter(StatePaused)
	}
	return err
}

// resume records again. Latched messages that came meanwhile are as good as new: they
// are written as at the beginning of a file.
func (p *pipeline) resume(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.hasBag(); err != nil || p.state == StateRecording {
		return err
	}
	p.enter(StateRecording)
	if p.snaps.only() { // each snapshot has them anyway
		return nil
	}
	repeat := p.opening(now, func(c *connection) bool { return c.missed })
	if len(repeat.latched) > 0 {
		p.sealOpen() // it came before
		p.send(func(*errand) error {
			p.repeat(repeat)
			return nil
		})
	}
	return nil
}

// cut begins the next file now, in whatever state but stopped.
func (p *pipeline) cut(now time.Time) (*errand, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.hasBag(); err != nil {
		return nil, err
	}
	if p.snaps.only() {
		return nil, ErrOnlySnapshots
	}
	return p.split(now), nil
}

// stop ends the file behind what was received until now. The errand is nil if there
// is no file and none to come.
func (p *pipeline) stop() (*errand, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended || p.full:
		return nil, ErrNotRecording
	case p.state == StateStopped && p.starting == nil:
		return nil, nil
	}
	p.sealOpen()
	p.starting = nil
	p.begun = time.Time{}
	p.enter(StateStopped)
	p.send(p.writeReport)
	return p.send(p.endFile), nil
}

// endFile leaves the file to the closer. It is an errand.
func (p *pipeline) endFile(e *errand) error {
	e.file = p.out
	if e.file == nil { // the start before failed
		return nil
	}
	p.mu.Lock()
	p.out = nil
	p.mu.Unlock()
	p.closing <- e.file
	return nil
}

// start opens the next file and records from then on. The errand is nil if there is a
// file; two starts at the same time get the same.
func (p *pipeline) start() (*errand, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended || p.full:
		return nil, ErrNotRecording
	case p.state != StateStopped:
		return nil, nil
	case p.snaps.only(): // there is no file to open
		p.begun = p.sim.at(time.Now())
		p.enter(StateRecording)
		return nil, nil
	case p.starting == nil:
		p.starting = p.send(p.beginFile)
	}
	return p.starting, nil
}

// beginFile opens the next file after a stop. It is an errand. What arrives before
// that is not recorded: a file that cannot be had must not cost messages.
func (p *pipeline) beginFile(e *errand) error {
	now := time.Now()
	var out *bagFile
	err := ErrNotRecording
	if p.err == nil && !p.hurried() {
		err = p.disk.short()
	}
	if err == nil {
		out, err = p.outputs.create(now)
	}
	p.mu.Lock()
	wanted := p.starting == e // and not stopped again; then that errand ends the file
	if wanted {
		p.starting = nil
	}
	if err != nil {
		p.mu.Unlock()
		return err
	}
	e.file, p.out = out, out
	p.parts.restart(p.sim.at(now))
	p.freshRecords()
	next := p.opening(now, nil)
	if wanted {
		p.begun = p.sim.at(now)
		p.enter(StateRecording)
	}
	p.mu.Unlock()
	p.opened(out)
	p.repeat(next)
	return nil
}

// pin protects files from the retention: at once those that there are, and what is
// queued for files to come when it is written.
func (p *pipeline) pin(ctx context.Context, since time.Time) ([]string, error) {
	p.retain.pin(since)
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return nil, ErrNotRecording
	}
	p.sealOpen()
	var names []string
	e := p.send(func(*errand) error {
		names = p.retain.pin(since)
		return nil
	})
	p.mu.Unlock()
	if err := e.wait(ctx); err != nil {
		return nil, err
	}
	return names, nil
}
