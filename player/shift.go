package player

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/msgheader"
)

// stamps says where the stamps of a type are, for Options.LoopShift.
type stamps uint8

const (
	noStamps    stamps = iota
	headerStamp        // it begins with a header
	tfStamps           // a list of geometry_msgs/TransformStamped
	clockStamp         // it is a time
)

// stampsOf knows the types that begin with a header, those of tf, and the clock.
func stampsOf(md5, definition string) stamps {
	switch md5 {
	case "94810edda583a504dfda3829e70d7eec": // tf2_msgs/TFMessage and tf/tfMessage
		return tfStamps
	case "a9c97c1d230cfc112e270351a944ee47": // rosgraph_msgs/Clock
		return clockStamp
	}
	if _, ok := msgheader.First(definition); ok {
		return headerStamp
	}
	return noStamps
}

const (
	frameLength    = 4 // of its prefix
	headerStampAt  = frameLength + 4
	stampBytes     = 8
	transformBytes = 7 * 8 // translation and rotation
)

// shiftStamps returns a frame with its stamps moved: a copy, or the frame itself if it
// has none, or is not what its type says. A stamp of zero stays: it means none.
func (s stamps) shiftStamps(frame []byte, by time.Duration) []byte {
	var at []int
	switch s {
	case noStamps:
	case headerStamp:
		at = []int{headerStampAt}
	case clockStamp:
		at = []int{frameLength}
	case tfStamps:
		at = transformStamps(frame)
	}
	if len(at) == 0 || at[len(at)-1]+stampBytes > len(frame) || by == 0 {
		return frame
	}
	frame = slices.Clone(frame)
	for _, i := range at {
		b := frame[i : i+stampBytes]
		t := bagfmt.Time{Sec: binary.LittleEndian.Uint32(b), Nsec: binary.LittleEndian.Uint32(b[4:])}
		if !t.IsZero() {
			t = t.Add(by)
			binary.LittleEndian.PutUint32(b, t.Sec)
			binary.LittleEndian.PutUint32(b[4:], t.Nsec)
		}
	}
	return frame
}

// transformStamps returns where the stamps of a list of transforms are, nil if it is
// none: seq, stamp, frame_id, child_frame_id and seven floats for each.
func transformStamps(frame []byte) (at []int) {
	rest := 0 // where the next field is
	length := func() bool {
		if len(frame)-rest < 4 {
			return false
		}
		n := int64(binary.LittleEndian.Uint32(frame[rest:]))
		rest += 4
		if n > int64(len(frame)-rest) {
			return false
		}
		rest += int(n)
		return true
	}
	rest = frameLength
	if len(frame)-rest < 4 {
		return nil
	}
	count := int64(binary.LittleEndian.Uint32(frame[rest:]))
	rest += 4
	for ; count > 0; count-- {
		at = append(at, rest+4)
		rest += 4 + stampBytes
		if len(frame) < rest || !length() || !length() || len(frame)-rest < transformBytes {
			return nil
		}
		rest += transformBytes
	}
	if rest != len(frame) {
		return nil
	}
	return at
}

// shifted returns a state with its stamps moved.
func shifted(state []latchedMessage, by time.Duration) []latchedMessage {
	if by == 0 {
		return state
	}
	out := slices.Clone(state)
	for i := range out {
		out[i].frame = out[i].route.topic.stamps.shiftStamps(out[i].frame, by)
	}
	return out
}
