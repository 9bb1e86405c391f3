package intake

import (
	"errors"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// ErrEnded refuses links that open too late.
var ErrEnded = errors.New("the recording has ended")

// State is what the recording does with the messages that arrive.
type State = control.State

// The states of a recording.
const (
	StateRecording = control.StateRecording
	StatePaused    = control.StatePaused
	StateStopped   = control.StateStopped
)

// Errors of commands.
var (
	ErrNotRecording  = control.ErrNotRecording
	ErrStopped       = control.ErrStopped
	ErrPaused        = control.ErrPaused
	ErrNoRoom        = control.ErrNoRoom
	ErrNoSnapshots   = control.ErrNoSnapshots
	ErrOnlySnapshots = control.ErrOnlySnapshots
)
