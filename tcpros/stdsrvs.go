package tcpros

import (
	"encoding/binary"
	"fmt"

	"github.com/gorosbag/gorosbag/tcpros/internal/service"
)

// The services of std_srvs, without generated code.
var (
	// EmptyService has an empty request and an empty response.
	EmptyService = service.Type{Type: "std_srvs/Empty", MD5Sum: "d41d8cd98f00b204e9800998ecf8427e"}
	// TriggerService has an empty request and responds with an Outcome.
	TriggerService = service.Type{Type: "std_srvs/Trigger", MD5Sum: "937c9679a518e3a18d831e57125ea522"}
	// SetBoolService has a bool as its request and responds with an Outcome.
	SetBoolService = service.Type{Type: "std_srvs/SetBool", MD5Sum: "09fb03525b03e7ea1fd3992bafd87e16"}
)

// Outcome is the response of std_srvs/Trigger and std_srvs/SetBool.
type Outcome struct {
	Success bool
	Message string
}

// Encode serializes the response.
func (o Outcome) Encode() []byte {
	return appendString(EncodeBool(o.Success), o.Message)
}

// DecodeOutcome reads what Encode makes.
func DecodeOutcome(b []byte) (Outcome, error) {
	if len(b) < 5 {
		return Outcome{}, fmt.Errorf("response of %d bytes, a bool and a string need 5", len(b))
	}
	if n := int64(binary.LittleEndian.Uint32(b[1:])); n != int64(len(b)-5) {
		return Outcome{}, fmt.Errorf("response with a string of %d bytes, %d left", n, len(b)-5)
	}
	success, err := DecodeBool(b[:1])
	return Outcome{success, string(b[5:])}, err
}

// EncodeBool serializes the request of std_srvs/SetBool.
func EncodeBool(v bool) []byte {
	if v {
		return []byte{1}
	}
	return []byte{0}
}

// DecodeBool reads the request of std_srvs/SetBool.
func DecodeBool(b []byte) (bool, error) {
	if len(b) != 1 {
		return false, fmt.Errorf("request of %d bytes, a bool has 1", len(b))
	}
	return b[0] != 0, nil
}
