package opening

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// idCount is a ConnCount without the connection.
type idCount struct {
	id rosbag.ConnID
	n  uint32
}

// tally counts messages.
type tally struct {
	byID       map[rosbag.ConnID]uint32
	start, end rosbag.Time
	some       bool
}

// add counts n messages from time start to end.
func (t *tally) add(id rosbag.ConnID, n uint32, start, end rosbag.Time) {
	if t.byID == nil {
		t.byID = make(map[rosbag.ConnID]uint32)
	}
	t.byID[id] += n
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

// sum returns the number of messages.
func (t *tally) sum() uint64 {
	var n uint64
	for _, count := range t.byID {
		n += uint64(count)
	}
	return n
}

func (t *tally) reset() {
	if len(t.byID) > maxCleared {
		t.byID = nil
	}
	clear(t.byID)
	t.some = false
}

// entries counts index entries.
func (t *tally) entries(id rosbag.ConnID, b []byte) {
	var first rosbag.Time
	if len(b) >= wire.IndexEntryBytes {
		first = wire.GetTime(b)
	}
	last := first
	n := uint32(len(b) / wire.IndexEntryBytes)
	for ; len(b) >= wire.IndexEntryBytes; b = b[wire.IndexEntryBytes:] {
		at := wire.GetTime(b)
		if at.Before(first) {
			first = at
		}
		if last.Before(at) {
			last = at
		}
	}
	t.add(id, n, first, last)
}

// equal reports whether both have counted the same messages, as far as numbers tell.
func (t *tally) equal(u *tally) bool {
	for id, n := range u.byID {
		if t.byID[id] != n {
			return false
		}
	}
	for id, n := range t.byID {
		if u.byID[id] != n {
			return false
		}
	}
	return true
}
