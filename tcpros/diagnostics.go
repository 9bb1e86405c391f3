package tcpros

import (
	"encoding/binary"
	"time"
)

// The wire type of DiagnosticArray. The definition is that of genmsg, byte by byte.
const (
	DiagnosticArrayType       = "diagnostic_msgs/DiagnosticArray"
	DiagnosticArrayMD5Sum     = "60810da900de1dd6ddd437c3503511da"
	DiagnosticArrayDefinition = "# This message is used to send diagnostic information about the state of the robot\n" +
		"Header header #for timestamp\n" +
		"DiagnosticStatus[] status # an array of components being reported on\n" +
		definitionRule + "MSG: std_msgs/Header\n" + headerDefinition + "\n" +
		definitionRule + "MSG: diagnostic_msgs/DiagnosticStatus\n" +
		"# This message holds the status of an individual component of the robot.\n" +
		"# \n" +
		"\n" +
		"# Possible levels of operations\n" +
		"byte OK=0\n" +
		"byte WARN=1\n" +
		"byte ERROR=2\n" +
		"byte STALE=3\n" +
		"\n" +
		"byte level # level of operation enumerated above \n" +
		"string name # a description of the test/component reporting\n" +
		"string message # a description of the status\n" +
		"string hardware_id # a hardware unique string\n" +
		"KeyValue[] values # an array of values associated with the status\n" +
		"\n" +
		"\n" +
		definitionRule + "MSG: diagnostic_msgs/KeyValue\n" +
		"string key # what to label this value when viewing\n" +
		"string value # a value to track over time\n"
)

// DiagnosticLevel is the health of a component.
type DiagnosticLevel byte

// The levels of diagnostic_msgs/DiagnosticStatus.
const (
	DiagnosticOK DiagnosticLevel = iota
	DiagnosticWarn
	DiagnosticError
	DiagnosticStale
)

// DiagnosticArray is a diagnostic_msgs/DiagnosticArray, without generated code.
type DiagnosticArray struct {
	Seq    uint32
	Stamp  time.Time // between 1970 and 2106, the range of ROS time
	Status []DiagnosticStatus
}

// DiagnosticStatus is the state of one component.
type DiagnosticStatus struct {
	Level      DiagnosticLevel
	Name       string // of the component, such as "gorecord: /imu"
	Message    string
	HardwareID string
	Values     []DiagnosticValue
}

// DiagnosticValue is a diagnostic_msgs/KeyValue.
type DiagnosticValue struct{ Key, Value string }

// AppendFrame appends the message as a frame, <u32 length><payload>, to dst: the argument of
// Source.Publish, and the tail of a message record in a bag. frame_id is empty.
func (d *DiagnosticArray) AppendFrame(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0) // the length is set below
	dst = binary.LittleEndian.AppendUint32(dst, d.Seq)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(d.Stamp.Unix()))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(d.Stamp.Nanosecond()))
	dst = appendString(dst, "")
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(d.Status)))
	for i := range d.Status {
		s := &d.Status[i]
		dst = append(dst, byte(s.Level))
		dst = appendString(dst, s.Name)
		dst = appendString(dst, s.Message)
		dst = appendString(dst, s.HardwareID)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.Values)))
		for _, v := range s.Values {
			dst = appendString(appendString(dst, v.Key), v.Value)
		}
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendString appends a string in ROS serialization: its length, then its bytes.
func appendString(dst []byte, s string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s))) // texts are far below 4 GiB
	return append(dst, s...)
}
