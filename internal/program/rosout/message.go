package rosout

import (
	_ "embed" // for Definition
	"time"

	"github.com/aler9/goroslib/pkg/msgs/rosgraph_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
)

// The topic of the lines and their type.
const (
	Topic = "/rosout"
	Type  = "rosgraph_msgs/Log"
)

// MD5Sum is the md5sum of rosgraph_msgs/Log.
var MD5Sum = stdmsg.MD5Sum(rosgraph_msgs.Log{})

// Definition is the message definition of rosgraph_msgs/Log, with the comments of ROS: tools that
// compare definitions as texts, such as rosbag check, see no difference.
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
	File     string // source file, with its package
	Function string
	Line     int
}

// appendFrame appends a line as a frame, <u32 length><payload>. node is the name of the node, and
// topics are the topics that the node publishes.
func appendFrame(dst []byte, seq uint32, l *Line, node string, topics []string) []byte {
	return stdmsg.AppendFrame(dst, &rosgraph_msgs.Log{
		Header: std_msgs.Header{Seq: seq, Stamp: l.Time}, Level: int8(l.Level),
		Name: node, Msg: l.Text, File: l.File, Function: l.Function, Line: uint32(l.Line), Topics: topics,
	})
}
