package rosmsg

import (
	"encoding/binary"
	"math"
	"strconv"
)

// integer returns an integer of kind k, or a bool as 0 or 1. An uint64 above the largest int64 wraps.
func integer(k Kind, b []byte) int64 {
	//exhaustive:ignore
	switch k {
	case Uint8:
		return int64(b[0])
	case Uint16:
		return int64(binary.LittleEndian.Uint16(b))
	case Uint32:
		return int64(binary.LittleEndian.Uint32(b))
	case Int8:
		return int64(int8(b[0]))
	case Int16:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case Int32:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case Bool:
		if b[0] != 0 {
			return 1
		}
		return 0
	default:
		return int64(binary.LittleEndian.Uint64(b))
	}
}

// appendInteger writes an integer of kind k.
func appendInteger(dst []byte, k Kind, b []byte) []byte {
	if k == Uint64 {
		return strconv.AppendUint(dst, binary.LittleEndian.Uint64(b), 10)
	}
	return strconv.AppendInt(dst, integer(k, b), 10)
}

func float(k Kind, b []byte) float64 {
	if k == Float32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// timeParts returns the seconds and nanoseconds of a time or duration, the latter
// brought between 0 and a second where ROS does so.
func timeParts(w *wire, b []byte) (secs, nsecs int64) {
	if w.kind == Time {
		s := stamp(b)
		secs, nsecs = int64(s.Secs), int64(s.Nsecs)
	} else {
		s := span(b)
		secs, nsecs = int64(s.Secs), int64(s.Nsecs)
	}
	if !w.normal {
		return secs, nsecs
	}
	over := nsecs / 1e9
	if nsecs%1e9 < 0 {
		over--
	}
	return secs + over, nsecs - over*1e9
}
