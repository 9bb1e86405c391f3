package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
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
