package rosout

import (
	_ "embed" // for Definition
	"encoding/binary"
	"time"
)

// The wire type of Message.
const (
	Topic  = "/rosout"
	Type   = "rosgraph_msgs/Log"
	MD5Sum = "acffd30cd6b6de30f120938c17c593fb"
)

// Definition is the text of ROS, comments included: tools that compare definitions as texts,
// such as rosbag check, find it unchanged.
//
//go:embed log.msg
var Definition string

// Level is the severity of a line. The levels are bits, so that filters can combine them.
type Level byte

// The levels of rosgraph_msgs/Log.
const (
	Debug Level = 1
	Info  Level = 2
	Warn  Level = 4
	Error Level = 8
	Fatal Level = 16
)

// Line is one line of a log.
type Line struct {
	Time     time.Time // between 1970 and 2106, the range of ROS time
	Level    Level
	Text     string
	File     string // of the source, with its package
	Function string
	Line     int
}

// appendFrame appends a line as a frame, <u32 length><payload>. node is the name of the node,
// and topics are those that it publishes.
func appendFrame(dst []byte, seq uint32, l *Line, node string, topics []string) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0) // the length is set below
	dst = binary.LittleEndian.AppendUint32(dst, seq)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.Time.Unix()))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.Time.Nanosecond()))
	dst = appendString(dst, "") // frame_id
	dst = append(dst, byte(l.Level))
	for _, s := range [...]string{node, l.Text, l.File, l.Function} {
		dst = appendString(dst, s)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.Line))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(topics)))
	for _, t := range topics {
		dst = appendString(dst, t)
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendString appends a string in ROS serialization: its length, then its bytes.
func appendString(dst []byte, s string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s))) // a line of a log is far below 4 GiB
	return append(dst, s...)
}
