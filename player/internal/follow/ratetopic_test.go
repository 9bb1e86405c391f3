package follow

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// stamped is a frame whose payload has a number of bytes and begins with a header.
func stamped(size int, stamp rosbag.Time) []byte {
	frame := binary.LittleEndian.AppendUint32(nil, uint32(size))
	for _, v := range []uint32{7, stamp.Sec, stamp.Nsec} {
		frame = binary.LittleEndian.AppendUint32(frame, v)
	}
	return append(frame, make([]byte, max(size-12, 0))...)[:4+size]
}

// TestRateLink: of what comes, in whatever sizes, the last stamp counts.
func TestRateLink(t *testing.T) {
	t.Parallel()
	c := NewRateControl(0)
	l := &rateLink{to: c}
	expect := func(what string, sec uint32) {
		t.Helper()
		if c.stamp.Sec != sec {
			t.Errorf("%s: %v, want %d s", what, c.stamp, sec)
		}
	}
	run := append(stamped(20, rosbag.Time{Sec: 1}), stamped(12, rosbag.Time{Sec: 2})...)
	l.Frames(run, 2, time.Time{})
	expect("two in one run", 2)
	l.Frames(stamped(11, rosbag.Time{Sec: 3}), 1, time.Time{})
	expect("too short for a stamp", 2)
	large := stamped(100_000, rosbag.Time{Sec: 4, Nsec: 5})
	f := l.Large(len(large))
	copy(f.Room(len(large)), large)
	if f.Room(len(large)-stampEnd) != nil {
		t.Error("the rest of a large message is wanted")
	}
	expect("a large one", 4)
	if c.stamp.Nsec != 5 {
		t.Errorf("nanoseconds: %v", c.stamp)
	}
	bad := &rateLink{to: c, noStamp: true}
	bad.Frames(stamped(20, rosbag.Time{Sec: 9}), 1, time.Time{})
	if bad.Large(100_000) != nil {
		t.Error("a large message of a bad type is wanted")
	}
	expect("of a bad type", 4)
}
