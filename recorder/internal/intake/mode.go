// This file says what a recording does with messages now: whether they go into the bag, and which
// commands are possible. The package is pure: the caller has the lock of the intake.

package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
)

// Mode is what the recording does with messages now.
type Mode struct {
	State control.State
	// when the recording was started, by the steady clock of Sim; zero while it is stopped
	Begun time.Time
	// opens the next file of a stopped recording; nil if none is queued
	Starting *queue.Command
	// no more messages are recorded: the file has failed, or all links are closed
	Ended bool
	// the only file has reached its maximum size: further messages are unwanted
	Full bool
}

// Records reports whether messages go into the bag.
func (m *Mode) Records() bool { return m.State == control.StateRecording && !m.Over() }

// Accepts reports whether messages of t go into the bag now.
func (m *Mode) Accepts(t *account.Topic) bool { return m.Records() && !t.AtLimit() }

// HasEnough reports whether further messages of t are unwanted: the topic has reached its limit, or the
// only file its maximum size. Unwanted messages are not counted.
func (m *Mode) HasEnough(t *account.Topic) bool { return m.Full || t.AtLimit() }

// Over reports whether the recording ends.
func (m *Mode) Over() bool { return m.Ended || m.Full }

// HasBag returns an error if there is no bag that a command could act on: the recording ends, or is stopped.
func (m *Mode) HasBag() error {
	switch {
	case m.Over():
		return control.ErrNotRecording
	case m.State == control.StateStopped:
		return control.ErrStopped
	}
	return nil
}

// CanMark returns an error if no mark can be recorded now.
func (m *Mode) CanMark() error {
	err := m.HasBag()
	if err == nil && m.State == control.StatePaused {
		return control.ErrPaused
	}
	return err
}
