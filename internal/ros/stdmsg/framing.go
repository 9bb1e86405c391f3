// This file knows the layout of what is published: the length of a frame, and the stamps in its
// payload.

package stdmsg

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/rosbag"
)

// FramePrefix is the length of the length in front of a frame.
const FramePrefix = 4

// ClockBytes is the length of a rosgraph_msgs/Clock, without that of its frame.
const ClockBytes = 8

// ClockType is the type of the clock.
const ClockType = "rosgraph_msgs/Clock"

// ClockMD5 is that of rosgraph_msgs/Clock.
const ClockMD5 = "a9c97c1d230cfc112e270351a944ee47"

// StampAt reads the stamp at an offset of a payload.
func StampAt(payload []byte, offset int) rosbag.Time {
	b := payload[offset : offset+8]
	return rosbag.Time{Sec: binary.LittleEndian.Uint32(b), Nsec: binary.LittleEndian.Uint32(b[4:])}
}

// SetStamp writes the stamp at an offset of a payload.
func SetStamp(payload []byte, offset int, t rosbag.Time) {
	b := payload[offset : offset+8]
	binary.LittleEndian.PutUint32(b, t.Sec)
	binary.LittleEndian.PutUint32(b[4:], t.Nsec)
}
