package tcpros

import (
	"github.com/aler9/goroslib/pkg/msgs/std_srvs"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
)

// The services of std_srvs.
var (
	// EmptyService has an empty request and an empty response.
	EmptyService = serviceType(std_srvs.Empty{})
	// TriggerService has an empty request and responds with an Outcome.
	TriggerService = serviceType(std_srvs.Trigger{})
	// SetBoolService has a bool as its request and responds with an Outcome.
	SetBoolService = serviceType(std_srvs.SetBool{})
)

// serviceType returns the type of a service of goroslib.
func serviceType(srv any) ServiceType {
	typ, md5sum := stdmsg.Service(srv)
	return ServiceType{Type: typ, MD5Sum: md5sum}
}

// Outcome is the response of std_srvs/Trigger and std_srvs/SetBool: Success and Message. Its method
// Encode serializes it.
type Outcome = stdmsg.Outcome

// DecodeOutcome decodes the bytes that Outcome.Encode returns.
func DecodeOutcome(b []byte) (Outcome, error) { return stdmsg.DecodeOutcome(b) }

// EncodeBool serializes the request of std_srvs/SetBool.
func EncodeBool(v bool) []byte { return stdmsg.EncodeBool(v) }

// DecodeTrigger returns an error unless b is the request of std_srvs/Trigger, which is empty.
func DecodeTrigger(b []byte) error { return stdmsg.DecodeTrigger(b) }

// DecodeBool reads the request of std_srvs/SetBool.
func DecodeBool(b []byte) (bool, error) { return stdmsg.DecodeBool(b) }

// ClockDefinition is the definition of rosgraph_msgs/Clock.
const ClockDefinition = stdmsg.ClockDefinition

// The wire type of DiagnosticArray.
const (
	DiagnosticArrayType       = stdmsg.DiagnosticArrayType
	DiagnosticArrayDefinition = stdmsg.DiagnosticArrayDefinition
)

// DiagnosticArrayMD5Sum is the md5sum of DiagnosticArray.
var DiagnosticArrayMD5Sum = stdmsg.DiagnosticArrayMD5Sum()

// Types of diagnostic_msgs.
type (
	// DiagnosticArray is a diagnostic_msgs/DiagnosticArray; AppendFrame makes a frame of it.
	DiagnosticArray = stdmsg.DiagnosticArray
	// DiagnosticStatus is the state of one component: Level, Name, Message, HardwareId, Values.
	DiagnosticStatus = stdmsg.DiagnosticStatus
	// DiagnosticValue is a diagnostic_msgs/KeyValue.
	DiagnosticValue = stdmsg.DiagnosticValue
	// DiagnosticLevel is the health of a component.
	DiagnosticLevel = stdmsg.DiagnosticLevel
)

// The levels of diagnostic_msgs/DiagnosticStatus.
const (
	DiagnosticOK    = stdmsg.DiagnosticOK
	DiagnosticWarn  = stdmsg.DiagnosticWarn
	DiagnosticError = stdmsg.DiagnosticError
	DiagnosticStale = stdmsg.DiagnosticStale
)
