package intake

import "errors"

// Errors of commands. The recorder's API documents them.
var (
	ErrNotRecording  = errors.New("there is no recording")
	ErrStopped       = errors.New("stopped: there is no bag before the next start")
	ErrPaused        = errors.New("paused: nothing is recorded, no mark either")
	ErrNoRoom        = errors.New("the buffer is full: the mark is not recorded")
	ErrNoSnapshots   = errors.New("no snapshots are kept ready: record with --snapshot or --snapshot-beside")
	ErrOnlySnapshots = errors.New("only snapshots are written: there is no bag to split")
)

// ErrEnded refuses links that open too late.
var ErrEnded = errors.New("the recording has ended")
