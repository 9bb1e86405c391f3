package control

import "time"

// Times counts how long operations took, in classes.
type Times struct {
	Count uint64
	Sum   time.Duration
	// operations that took at most as long as TimeBounds says, and longer than the class before
	Classes [len(timeBounds)]uint64
}

// timeBounds suit disks: from a page cache that answers at once to a card that pauses for seconds.
var timeBounds = [...]time.Duration{
	100 * time.Microsecond, 300 * time.Microsecond, time.Millisecond, 3 * time.Millisecond,
	10 * time.Millisecond,
	30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second,
}

// TimeBounds returns the upper bounds of the classes of Times. An operation that took longer than
// the last bound is in no class.
func TimeBounds() []time.Duration { return append([]time.Duration(nil), timeBounds[:]...) }

// Add counts one operation.
func (t *Times) Add(took time.Duration) {
	t.Count++
	t.Sum += took
	for i, bound := range timeBounds {
		if took <= bound {
			t.Classes[i]++
			return
		}
	}
}

// DiskTimes says how long the disk kept the recording waiting.
type DiskTimes struct {
	// of a chunk with its index records, and of the head and the end of a file
	Writes Times
	// beside the writing, but with SyncChunk
	Syncs Times
	// for which no chunk was written because the next file was opened; what arrives is buffered meanwhile
	Splits Times
}
