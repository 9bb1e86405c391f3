package finding

import (
	"math/bits"
	"time"
)

// A stamp is off if it is older than mostBehind at arrival, or more than mostAhead in the future.
const (
	mostBehind = time.Second
	mostAhead  = 50 * time.Millisecond

	offInRow  = 10 // samples that are off one after the other: 2.5 s
	goodInRow = 4  // samples that are good one after the other: 1 s
)

// stamps judges header.stamp of a topic, by one sample for each look at which there were messages.
type stamps struct {
	last     int64 // the last stamp
	received int64 // when its message came
	offset   time.Duration
	samples  int    // since the last reset
	behind   uint64 // of the latest samples, the newest in bit 0
	ahead    uint64
	still    uint64
	backward uint64
}

// add adds a sample: a message with the stamp came at received, both in nanoseconds since 1970.
func (s *stamps) add(stamp, received int64) {
	off := time.Duration(received - stamp)
	if off > mostBehind || off < -mostAhead {
		s.offset = off
	}
	s.behind = shift(s.behind, off > mostBehind)
	s.ahead = shift(s.ahead, off < -mostAhead)
	s.still = shift(s.still, stamp == s.last)
	s.backward = shift(s.backward, stamp < s.last)
	s.last, s.received = stamp, received
	s.samples++
}

func shift(mask uint64, on bool) uint64 {
	mask <<= 1
	if on {
		mask |= 1
	}
	return mask
}

// reset forgets the samples.
func (s *stamps) reset() { *s = stamps{last: s.last, received: s.received} }

// wrong returns what is wrong with the stamps; NoCause if nothing. The median of ten seconds decides. If
// all of the latest samples are off, they decide earlier: a clock that was set is found within three
// seconds.
func (s *stamps) wrong(period float64) Cause {
	if s.samples < offInRow {
		return NoCause
	}
	width := slots
	if slow := int(10 / max(period, 1e-9)); slow < slots {
		width = max(slow, offInRow)
	}
	off := func(mask uint64) bool {
		return inRow(mask, offInRow) || s.samples >= width && bits.OnesCount64(mask&(1<<width-1)) > width/2
	}
	switch {
	case inRow(s.still, offInRow):
		return Still
	case off(s.behind):
		return Behind
	case off(s.ahead):
		return Ahead
	case bits.OnesCount64(s.backward&(1<<offInRow-1)) >= offInRow-2:
		return Backward
	}
	return NoCause
}

// good reports whether the latest samples have nothing wrong.
func (s *stamps) good(period float64) bool {
	n := goodInRow
	if period > 2*Every.Seconds() {
		n = 2
	}
	return s.samples >= n && (s.behind|s.ahead|s.still|s.backward)&(1<<n-1) == 0
}

func inRow(mask uint64, n int) bool { return mask&(1<<n-1) == 1<<n-1 }
