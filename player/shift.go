package player

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/msgheader"
)

// stamps is the layout of the stamps of a message type, for Options.LoopShift.
type stamps uint8

const (
	noStamps    stamps = iota
	headerStamp        // the message begins with a header
	tfStamps           // a list of geometry_msgs/TransformStamped
	clockStamp         // the message is a time
)

// stampsOf returns the layout for types that begin with a header, for tf, and for the clock.
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
	frameLength    = 4 // the length prefix
	headerStampAt  = frameLength + 4
	stampBytes     = 8
	transformBytes = 7 * 8 // translation and rotation
)

// shiftStamps returns a copy of a frame with its stamps shifted, or the frame itself if it
// has no stamps or does not have the layout. A stamp of zero means none and stays zero.
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

// transformStamps returns the offsets of the stamps in a list of transforms, or nil if the
// frame is no such list. A transform is seq, stamp, frame_id, child_frame_id and seven floats.
func transformStamps(frame []byte) (at []int) {
	rest := 0 // offset of the next field
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

// shifted returns a state with its stamps shifted.
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
