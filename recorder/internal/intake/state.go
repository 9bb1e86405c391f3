package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
)

// accepts reports whether messages of t go into the bag now. mu is held.
func (in *Intake) accepts(t *account.Topic) bool {
	return in.State == StateRecording && !in.Ended && !in.AtSizeLimit && !t.AtLimit()
}

// enter changes the state. Links that wait for room have to look again. mu is held.
func (in *Intake) enter(s State) {
	in.State = s
	in.Room.Broadcast()
	in.onChange()
}

// BegunAt returns when the recording was started, zero while it is stopped.
func (d Commands) BegunAt() time.Time {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Begun
}

// hasBag says why nothing can be done to the bag: the recording ends, or is stopped.
// mu is held.
func (in *Intake) hasBag() error {
	switch {
	case in.Ended || in.AtSizeLimit:
		return ErrNotRecording
	case in.State == StateStopped:
		return ErrStopped
	}
	return nil
}

// Pause makes what arrives from now on pass.
func (d Commands) Pause() error {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	err := in.hasBag()
	if err == nil && in.State == StateRecording {
		in.enter(StatePaused)
	}
	return err
}

// Resume records again. Latched messages that came meanwhile are as good as new: they
// are written as at the beginning of a file.
func (d Commands) Resume(now time.Time) error {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if err := in.hasBag(); err != nil || in.State == StateRecording {
		return err
	}
	in.enter(StateRecording)
	in.repeatMissed(now)
	return nil
}

// repeatMissed makes the writer repeat the latched messages that came while nothing was recorded.
// mu is held.
func (in *Intake) repeatMissed(now time.Time) {
	repeat := in.fileStart(now, func(c *latch.Source) bool { return c.Missed })
	repeat.Resumed = true
	if len(repeat.Latched) > 0 {
		in.SealOpen() // it came before
		in.Enqueue(&Command{Kind: CommandRepeat, Start: repeat})
	}
}

// RequestSplit begins the next file now, in whatever state but stopped.
func (d Commands) RequestSplit(now time.Time) (*Command, error) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if err := in.hasBag(); err != nil {
		return nil, err
	}
	if in.Ring.IsOnly() {
		return nil, ErrOnlySnapshots
	}
	return in.Rotate(now), nil
}

// RequestStop ends the file behind what was received until now. The command is nil if there
// is no file and none to come.
func (d Commands) RequestStop() (*Command, error) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	switch {
	case in.Ended || in.AtSizeLimit:
		return nil, ErrNotRecording
	case in.State == StateStopped && in.starting == nil:
		return nil, nil
	}
	in.SealOpen()
	in.starting = nil
	in.Begun = time.Time{}
	in.enter(StateStopped)
	in.Enqueue(&Command{Kind: CommandReport})
	return in.Enqueue(&Command{Kind: CommandClose}), nil
}

// RequestStart opens the next file and records from then on. The command is nil if there is a
// file; two starts at the same time get the same.
func (d Commands) RequestStart() (*Command, error) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	switch {
	case in.Ended || in.AtSizeLimit:
		return nil, ErrNotRecording
	case in.State != StateStopped:
		return nil, nil
	case in.Ring.IsOnly(): // there is no file to open
		now := time.Now()
		in.Begun = in.Sim.Steady(now)
		in.enter(StateRecording)
		in.repeatMissed(now)
		return nil, nil
	case in.starting == nil:
		in.starting = in.Enqueue(&Command{Kind: CommandOpen})
	}
	return in.starting, nil
}

// RequestPin queues the protection of the files that are written to at since or later.
func (d Commands) RequestPin(since time.Time) (*Command, error) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if in.Ended {
		return nil, ErrNotRecording
	}
	in.SealOpen()
	return in.Enqueue(&Command{Kind: CommandPin, Since: since}), nil
}
