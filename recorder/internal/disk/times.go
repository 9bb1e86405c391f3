package disk

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// note adds the duration of a finished operation to times.
func note(times *control.DiskTimes, what string, took time.Duration) {
	switch what {
	case "write":
		times.Writes.Add(took)
	case "sync":
		times.Syncs.Add(took)
	}
}

// CountSplit counts a change of the file that began at start.
func (s *Watchdog) CountSplit(start time.Time) {
	s.mu.Lock()
	s.times.Splits.Add(time.Since(start))
	s.mu.Unlock()
}

// Account returns how long finished operations took.
func (s *Watchdog) Account() control.DiskTimes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times
}
