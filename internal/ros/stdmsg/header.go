// This file reads the std_msgs/Header at the start of messages without decoding the
// rest.

package stdmsg

import (
	"encoding/binary"
	"strings"
)

// FirstField returns the name of the first field of a message definition, and whether it is
// a header.
func FirstField(definition string) (name string, ok bool) {
	for line := range strings.Lines(definition) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" || strings.Contains(line, "=") { // not a field but a constant
			continue
		}
		f := strings.Fields(line)
		if len(f) != 2 {
			return "", false
		}
		switch f[0] {
		case "Header", "std_msgs/Header", "roslib/Header": // the last before ROS 1.2
			return f[1], true
		}
		return f[1], false
	}
	return "", false
}

// HeaderStamp returns the stamp of a serialized message that begins with a header. It reports
// false for one that is too short.
func HeaderStamp(payload []byte) (sec, nsec uint32, ok bool) {
	if len(payload) < 12 { // seq, secs, nsecs
		return 0, 0, false
	}
	return binary.LittleEndian.Uint32(payload[4:]), binary.LittleEndian.Uint32(payload[8:]), true
}
