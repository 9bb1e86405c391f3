package stdmsg_test

import (
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/rosgraph_msgs"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
)

// TestSums checks goroslib's md5sums against the md5sums of ROS.
func TestSums(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"a9c97c1d230cfc112e270351a944ee47": stdmsg.MD5Sum(rosgraph_msgs.Clock{}),
		"acffd30cd6b6de30f120938c17c593fb": stdmsg.MD5Sum(rosgraph_msgs.Log{}),
		"60810da900de1dd6ddd437c3503511da": stdmsg.DiagnosticArrayMD5Sum(),
	} {
		if got != want {
			t.Errorf("md5sum %s, want %s", got, want)
		}
	}
}

// TestOutcome checks the bytes of a response, and that an invalid response is an error.
func TestOutcome(t *testing.T) {
	t.Parallel()
	for wire, o := range map[string]stdmsg.Outcome{
		"\x00\x00\x00\x00\x00":          {},
		"\x01\x05\x00\x00\x00caf\u00e9": {Success: true, Message: "caf\u00e9"},
		"\x00\x02\x00\x00\x00no":        {Message: "no"},
	} {
		if got := string(o.Encode()); got != wire {
			t.Errorf("%+v is encoded as %q, want %q", o, got, wire)
		}
		if got, err := stdmsg.DecodeOutcome([]byte(wire)); err != nil || got != o {
			t.Errorf("%q is decoded as %+v, %v", wire, got, err)
		}
		for i := range wire {
			if got, err := stdmsg.DecodeOutcome([]byte(wire[:i])); err == nil {
				t.Errorf("%q is decoded as %+v", wire[:i], got)
			}
		}
	}
	for _, bad := range []string{"\x01\x03\x00\x00\x00yesx", "\x01\xff\xff\xff\xffyes"} {
		if o, err := stdmsg.DecodeOutcome([]byte(bad)); err == nil {
			t.Errorf("%q is decoded as %+v", bad, o)
		}
	}
}

// TestBool checks the bytes of a request, and that an invalid request is an error.
func TestBool(t *testing.T) {
	t.Parallel()
	for wire, v := range map[string]bool{"\x00": false, "\x01": true} {
		if got := string(stdmsg.EncodeBool(v)); got != wire {
			t.Errorf("%v is encoded as %q, want %q", v, got, wire)
		}
		if got, err := stdmsg.DecodeBool([]byte(wire)); err != nil || got != v {
			t.Errorf("%q is decoded as %v, %v", wire, got, err)
		}
	}
	for _, bad := range []string{"", "\x01\x00"} {
		if _, err := stdmsg.DecodeBool([]byte(bad)); err == nil {
			t.Errorf("%q is a bool", bad)
		}
	}
}
