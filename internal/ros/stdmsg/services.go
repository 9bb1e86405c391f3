package stdmsg

import (
	"fmt"

	"github.com/aler9/goroslib/pkg/msgs/std_srvs"
)

// Outcome is the response of std_srvs/Trigger and std_srvs/SetBool.
type Outcome struct {
	Success bool
	Message string
}

// Encode serializes the response.
func (o Outcome) Encode() []byte {
	return Encode(&std_srvs.TriggerRes{Success: o.Success, Message: o.Message})
}

// DecodeOutcome decodes the bytes that Encode returns.
func DecodeOutcome(b []byte) (Outcome, error) {
	var res std_srvs.TriggerRes
	if err := Decode(b, &res); err != nil {
		return Outcome{}, fmt.Errorf("response of std_srvs/Trigger or SetBool: %w", err)
	}
	return Outcome{res.Success, res.Message}, nil
}

// DecodeTrigger returns an error unless b is the request of std_srvs/Trigger, which is empty.
func DecodeTrigger(b []byte) error {
	if err := Decode(b, new(std_srvs.TriggerReq)); err != nil {
		return fmt.Errorf("request of std_srvs/Trigger: %w", err)
	}
	return nil
}

// EncodeBool serializes the request of std_srvs/SetBool.
func EncodeBool(v bool) []byte { return Encode(&std_srvs.SetBoolReq{Data: v}) }

// DecodeBool reads the request of std_srvs/SetBool.
func DecodeBool(b []byte) (bool, error) {
	var req std_srvs.SetBoolReq
	if err := Decode(b, &req); err != nil {
		return false, fmt.Errorf("request of std_srvs/SetBool: %w", err)
	}
	return req.Data, nil
}
