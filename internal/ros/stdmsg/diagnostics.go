package stdmsg

import (
	"time"

	"github.com/aler9/goroslib/pkg/msgs/diagnostic_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
)

// DiagnosticArrayType is the name of the type of DiagnosticArray.
const DiagnosticArrayType = "diagnostic_msgs/DiagnosticArray"

// DiagnosticArrayMD5Sum returns the md5sum of DiagnosticArray.
func DiagnosticArrayMD5Sum() string { return MD5Sum(diagnostic_msgs.DiagnosticArray{}) }

// DiagnosticArrayDefinition is the definition as genmsg writes it, byte by byte.
const DiagnosticArrayDefinition = "# This message is used to send diagnostic information about the state of the robot\n" +
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

// DiagnosticLevel is the health of a component.
type DiagnosticLevel = int8

// The levels of diagnostic_msgs/DiagnosticStatus.
const (
	DiagnosticOK    = diagnostic_msgs.DiagnosticStatus_OK
	DiagnosticWarn  = diagnostic_msgs.DiagnosticStatus_WARN
	DiagnosticError = diagnostic_msgs.DiagnosticStatus_ERROR
	DiagnosticStale = diagnostic_msgs.DiagnosticStatus_STALE
)

// DiagnosticStatus is the state of one component: Level, Name (such as "gorecord: /imu"), Message,
// HardwareId and Values.
type DiagnosticStatus = diagnostic_msgs.DiagnosticStatus

// DiagnosticValue is a diagnostic_msgs/KeyValue.
type DiagnosticValue = diagnostic_msgs.KeyValue

// DiagnosticArray is a diagnostic_msgs/DiagnosticArray whose frame_id is empty.
type DiagnosticArray struct {
	Seq    uint32
	Stamp  time.Time // between 1970 and 2106, the range of ROS time
	Status []DiagnosticStatus
}

// AppendFrame appends the message as a frame, <u32 length><payload>, to dst: the argument of
// tcpros.Source.Publish, and the tail of a message record in a bag.
func (d *DiagnosticArray) AppendFrame(dst []byte) []byte {
	return AppendFrame(dst, &diagnostic_msgs.DiagnosticArray{
		Header: std_msgs.Header{Seq: d.Seq, Stamp: d.Stamp}, Status: d.Status,
	})
}
