package recorder

import "time"

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

// accepts reports whether messages of t go into the bag now. mu is held.
func (in *intake) accepts(t *topic) bool {
	return in.state == StateRecording && !in.ended && !in.atSizeLimit && !t.atLimit()
}

// countUnrecorded counts messages that arrive while nothing is recorded.
func (c *connection) countUnrecorded(messages int) {
	if !c.topic.atLimit() {
		c.topic.passed += uint64(messages)
		c.missed = c.latching
	}
}

// enter changes the state. Links that wait for room have to look again. mu is held.
func (in *intake) enter(s State) {
	in.state = s
	in.room.Broadcast()
	in.onChange()
}

// begunAt returns when the recording was started, zero while it is stopped.
func (in *intake) begunAt() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.begun
}

// hasBag says why nothing can be done to the bag: the recording ends, or is stopped.
// mu is held.
func (in *intake) hasBag() error {
	switch {
	case in.ended || in.atSizeLimit:
		return ErrNotRecording
	case in.state == StateStopped:
		return ErrStopped
	}
	return nil
}

// pause makes what arrives from now on pass.
func (in *intake) pause() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	err := in.hasBag()
	if err == nil && in.state == StateRecording {
		in.enter(StatePaused)
	}
	return err
}

// resume records again. Latched messages that came meanwhile are as good as new: they
// are written as at the beginning of a file.
func (in *intake) resume(now time.Time) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.hasBag(); err != nil || in.state == StateRecording {
		return err
	}
	in.enter(StateRecording)
	in.repeatMissed(now)
	return nil
}

// repeatMissed makes the writer repeat the latched messages that came while nothing was recorded.
// mu is held.
func (in *intake) repeatMissed(now time.Time) {
	repeat := in.fileStart(now, func(c *source) bool { return c.missed })
	repeat.resumed = true
	if len(repeat.latched) > 0 {
		in.sealOpen() // it came before
		in.enqueue(&command{kind: commandRepeat, start: repeat})
	}
}

// requestSplit begins the next file now, in whatever state but stopped.
func (in *intake) requestSplit(now time.Time) (*command, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.hasBag(); err != nil {
		return nil, err
	}
	if in.ring.isOnly() {
		return nil, ErrOnlySnapshots
	}
	return in.rotate(now), nil
}

// requestStop ends the file behind what was received until now. The command is nil if there
// is no file and none to come.
func (in *intake) requestStop() (*command, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.ended || in.atSizeLimit:
		return nil, ErrNotRecording
	case in.state == StateStopped && in.starting == nil:
		return nil, nil
	}
	in.sealOpen()
	in.starting = nil
	in.begun = time.Time{}
	in.enter(StateStopped)
	in.enqueue(&command{kind: commandReport})
	return in.enqueue(&command{kind: commandClose}), nil
}

// requestStart opens the next file and records from then on. The command is nil if there is a
// file; two starts at the same time get the same.
func (in *intake) requestStart() (*command, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.ended || in.atSizeLimit:
		return nil, ErrNotRecording
	case in.state != StateStopped:
		return nil, nil
	case in.ring.isOnly(): // there is no file to open
		now := time.Now()
		in.begun = in.sim.Steady(now)
		in.enter(StateRecording)
		in.repeatMissed(now)
		return nil, nil
	case in.starting == nil:
		in.starting = in.enqueue(&command{kind: commandOpen})
	}
	return in.starting, nil
}

// requestPin queues the protection of the files that are written to at since or later.
func (in *intake) requestPin(since time.Time) (*command, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return nil, ErrNotRecording
	}
	in.sealOpen()
	return in.enqueue(&command{kind: commandPin, since: since}), nil
}
