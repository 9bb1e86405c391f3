package table

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// idCount is a ConnCount without the connection.
type idCount struct {
	id rosbag.ConnID
	n  uint32
}

// Tally counts messages.
type Tally struct {
	ByID       map[rosbag.ConnID]uint32
	start, end rosbag.Time
	some       bool
}

// Add counts n messages from time start to end.
func (t *Tally) Add(id rosbag.ConnID, n uint32, start, end rosbag.Time) {
	if t.ByID == nil {
		t.ByID = make(map[rosbag.ConnID]uint32)
	}
	t.ByID[id] += n
	if n == 0 {
		return // its index data is there all the same
	}
	if !t.some || start.Before(t.start) {
		t.start = start
	}
	if !t.some || t.end.Before(end) {
		t.end = end
	}
	t.some = true
}

// Sum returns the number of messages.
func (t *Tally) Sum() uint64 {
	var n uint64
	for _, count := range t.ByID {
		n += uint64(count)
	}
	return n
}

// Reset forgets what was counted.
func (t *Tally) Reset() {
	if len(t.ByID) > maxCleared {
		t.ByID = nil
	}
	clear(t.ByID)
	t.some = false
}

// Entries counts index entries.
func (t *Tally) Entries(id rosbag.ConnID, b []byte) {
	var first, last rosbag.Time
	n := uint32(0)
	for ; len(b) >= wire.IndexEntryBytes; b = b[wire.IndexEntryBytes:] {
		at := wire.GetTime(b)
		if n == 0 || at.Before(first) {
			first = at
		}
		if last.Before(at) {
			last = at
		}
		n++
	}
	t.Add(id, n, first, last)
}

// Equal reports whether both have counted equally many messages of each connection.
func (t *Tally) Equal(u *Tally) bool {
	for id, n := range u.ByID {
		if t.ByID[id] != n {
			return false
		}
	}
	for id, n := range t.ByID {
		if u.ByID[id] != n {
			return false
		}
	}
	return true
}
