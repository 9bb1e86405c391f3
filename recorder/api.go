package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
)

// What the intake knows of a recording is part of this package's API.
type (
	// State is what a recording does with the messages that arrive. Those that it does not
	// record are no losses; they are counted for themselves.
	State = intake.State
	// Waiting says what a topic without any publisher so far was waiting for when the recording
	// ended.
	Waiting = account.Waiting
)

// The zero value records.
const (
	StateRecording = intake.StateRecording
	StatePaused    = intake.StatePaused  // the bag stays open and gets nothing, until Control.Resume
	StateStopped   = intake.StateStopped // there is no bag, until Control.Start
)

// The zero value says that nothing was in the way: there was a link, or no publisher.
const (
	WaitingNone      = account.WaitingNone
	WaitingMaster    = account.WaitingMaster    // to be registered with the master, which had others before it or did not answer
	WaitingPublisher = account.WaitingPublisher // for a publisher that the master lists and that was not reached
)

// Errors of Control.
var (
	// ErrNotRecording means that there is no recording: Run has not begun, or is ending.
	ErrNotRecording = intake.ErrNotRecording
	// ErrStopped means that there is no bag at present: Start begins the next.
	ErrStopped = intake.ErrStopped
	// ErrPaused means that the bag gets nothing before Control.Resume.
	ErrPaused = intake.ErrPaused
	// ErrNoRoom means that the buffer is full.
	ErrNoRoom = intake.ErrNoRoom
	// ErrNoSnapshots means that the recording keeps nothing ready for a snapshot.
	ErrNoSnapshots = intake.ErrNoSnapshots
	// ErrOnlySnapshots means that there is no bag but those of snapshots.
	ErrOnlySnapshots = intake.ErrOnlySnapshots
)

// What bagfile knows of the disk is part of this package's API.
type (
	// Output names the bags.
	Output = bagfile.Output

	// Sync says when the recorder waits for the disk.
	Sync = bagfile.Sync

	// Retention says which closed files of a recording are deleted.
	Retention = bagfile.Retention

	// Times counts how long something took, in classes.
	Times = bagfile.Times

	// DiskTimes says how long the disk kept the recording waiting.
	DiskTimes = bagfile.DiskTimes
)

// The zero value is the default of the durability contract.
const (
	SyncInterval = bagfile.SyncInterval // every second or 32 MiB, beside the writing
	SyncChunk    = bagfile.SyncChunk    // after each chunk
	SyncNone     = bagfile.SyncNone     // never: the kernel decides
)

// Errors of the disk and of files.
var (
	// ErrMinSpace means that the recording ended because the disk is nearly full.
	ErrMinSpace = bagfile.ErrMinSpace

	// ErrDiskHangs means that the recording was to end, but the disk did not answer for
	// several seconds. Its last file has no index. What waits for the disk is left behind:
	// the process should end.
	ErrDiskHangs = bagfile.ErrDiskHangs

	// ErrNoBag means that the recording has finished no such bag, or that it is gone.
	ErrNoBag = bagfile.ErrNoBag
)

// TimeBounds returns the upper bounds of the classes of Times. What took longer than the
// last is in no class.
func TimeBounds() []time.Duration { return bagfile.TimeBounds() }
