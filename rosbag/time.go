package rosbag

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

const nsecPerSec = uint64(time.Second)

// Time is a ROS time as a bag stores it: seconds and nanoseconds since 1970 UTC.
// The zero Time is a legal stamp.
//
// In a bag, Nsec may be a second or more. Compare and Before look at Sec first, as the order of messages
// does: such a time is before those of the next second. Add(0) carries the nanoseconds.
type Time struct{ Sec, Nsec uint32 }

// maxTime is the last instant that a bag can store, in the year 2106.
var maxTime = Time{math.MaxUint32, uint32(nsecPerSec) - 1}

// TimeOf converts t. Instants that a bag cannot store become the nearest one it can.
func TimeOf(t time.Time) Time {
	switch sec := t.Unix(); {
	case sec < 0:
		return Time{}
	case sec > math.MaxUint32:
		return maxTime
	default:
		return Time{uint32(sec), uint32(t.Nanosecond())}
	}
}

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.Unix(int64(t.Sec), int64(t.Nsec)).UTC() }

// IsZero reports whether t is the zero Time.
func (t Time) IsZero() bool { return t == Time{} }

// Compare returns -1, 0 or 1 when t is before, the same as or after u.
func (t Time) Compare(u Time) int { return cmp.Compare(t.key(), u.key()) }

// Before reports whether t is before u.
func (t Time) Before(u Time) bool { return t.key() < u.key() }

// key returns a number that sorts as t does: merging compares times for each message, and one
// comparison is cheaper than two.
func (t Time) key() uint64 { return uint64(t.Sec)<<32 | uint64(t.Nsec) }

// Sub returns t-u. It cannot overflow: 136 years fit a time.Duration.
func (t Time) Sub(u Time) time.Duration {
	return time.Duration(int64(t.Sec)-int64(u.Sec))*time.Second + time.Duration(int64(t.Nsec)-int64(u.Nsec))
}

// Add returns t+d. A sum that a bag cannot store becomes the nearest one it can.
func (t Time) Add(d time.Duration) Time {
	ns := t.nanos()
	switch {
	case d < 0 && uint64(-d) > ns: // -MinInt64 is its own negative; as uint64 it is right
		return Time{}
	case d < 0:
		ns -= uint64(-d)
	default:
		ns += uint64(d) // at most 2^32 s + 2^63 ns: fits
	}
	if ns > maxTime.nanos() {
		return maxTime
	}
	return Time{uint32(ns / nsecPerSec), uint32(ns % nsecPerSec)}
}

func (t Time) nanos() uint64 { return uint64(t.Sec)*nsecPerSec + uint64(t.Nsec) }

// String returns the seconds with nine decimals, for example "1.000000002".
func (t Time) String() string { return fmt.Sprintf("%d.%09d", t.Sec, t.Nsec) }
