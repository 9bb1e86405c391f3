package bagfile

import "time"

// Times counts how long something took, in classes.
type Times struct {
	Count   uint64
	Sum     time.Duration
	Classes [len(timeBounds)]uint64 // those that took at most as long as TimeBounds says, and longer than the class before
}

// timeBounds suit disks: from a page cache that answers at once to a card that thinks.
//
//nolint:gochecknoglobals // a constant, but for the language
var timeBounds = [...]time.Duration{
	100 * time.Microsecond, 300 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond,
	30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second,
}

// TimeBounds returns the upper bounds of the classes of Times. What took longer than the
// last is in no class.
func TimeBounds() []time.Duration { return append([]time.Duration(nil), timeBounds[:]...) }

func (t *Times) add(took time.Duration) {
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
	Writes Times // of a chunk with its index records, and of the head and the end of a file
	Syncs  Times // beside the writing, but with SyncChunk
	Splits Times // for which no chunk was written because the next file was opened; what arrives is buffered meanwhile
}

// note counts an operation that is over. mu is held.
func (s *Watchdog) note(what string, took time.Duration) {
	switch what {
	case "write":
		s.times.Writes.add(took)
	case "sync":
		s.times.Syncs.add(took)
	}
}

// CountSplit counts a change of the file that began at start.
func (s *Watchdog) CountSplit(start time.Time) {
	s.mu.Lock()
	s.times.Splits.add(time.Since(start))
	s.mu.Unlock()
}

// Account returns how long the operations took that are over.
func (s *Watchdog) Account() DiskTimes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times
}
