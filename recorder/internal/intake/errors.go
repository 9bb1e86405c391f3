package intake

import (
	"errors"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// ErrEnded refuses links that open too late.
var ErrEnded = errors.New("the recording has ended")

// The intake uses words of the contract.
type (
	// State is what the recording does with the messages that arrive.
	State = control.State
	// Waiting says what a topic without any publisher was waiting for when the recording ended.
	Waiting = control.Waiting
	// DropCause says why messages that were received are not in the bag.
	DropCause = control.DropCause
)

// The states of a recording.
const (
	StateRecording = control.StateRecording
	StatePaused    = control.StatePaused
	StateStopped   = control.StateStopped
)

// The causes of lost messages.
const (
	DropBufferFull = control.DropBufferFull
	DropOversize   = control.DropOversize
	DropDisk       = control.DropDisk
	DropAborted    = control.DropAborted
	DropCodec      = control.DropCodec
	dropLink       = control.DropLink
	DropDeleted    = control.DropDeleted
	dropUDP        = control.DropUDP
	DropCauses     = control.DropCauses
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
