package player

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/rosbag"
)

// frameLength is the length of the length in front of a frame.
const frameLength = 4

// clockBytes is the length of a rosgraph_msgs/Clock, without that of its frame.
const clockBytes = 8

// clockMD5 is that of rosgraph_msgs/Clock.
const clockMD5 = "a9c97c1d230cfc112e270351a944ee47"

// stampAt reads the stamp at an offset of a payload.
func stampAt(payload []byte, offset int) rosbag.Time {
	b := payload[offset : offset+8]
	return rosbag.Time{Sec: binary.LittleEndian.Uint32(b), Nsec: binary.LittleEndian.Uint32(b[4:])}
}

// setStamp writes the stamp at an offset of a payload.
func setStamp(payload []byte, offset int, t rosbag.Time) {
	b := payload[offset : offset+8]
	binary.LittleEndian.PutUint32(b, t.Sec)
	binary.LittleEndian.PutUint32(b[4:], t.Nsec)
}
