package stdmsg_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// TestDiagnosticArray checks checksum, definition and encoding against each other.
func TestDiagnosticArray(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse(stdmsg.DiagnosticArrayType, stdmsg.DiagnosticArrayDefinition)
	if err != nil {
		t.Fatal(err)
	}
	if sum := typ.MD5Sum(); sum != stdmsg.DiagnosticArrayMD5Sum() {
		t.Errorf("the definition has md5sum %s, want %s", sum, stdmsg.DiagnosticArrayMD5Sum())
	}
	array := stdmsg.DiagnosticArray{Seq: 7, Stamp: time.Unix(1_700_000_000, 5), Status: []stdmsg.DiagnosticStatus{
		{Level: stdmsg.DiagnosticError, Name: "recorder", Message: "ünder way", HardwareId: "r2", Values: []stdmsg.DiagnosticValue{{Key: "file", Value: "a.bag"}, {Key: "empty"}}},
		{Name: "no values"},
	}}
	frame := array.AppendFrame([]byte("before"))[len("before"):]
	if n := int(binary.LittleEndian.Uint32(frame)); n != len(frame)-4 {
		t.Errorf("a frame of %d bytes says %d", len(frame)-4, n)
	}
	got, err := typ.AppendJSON(nil, frame[4:])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"header":{"seq":7,"stamp":{"secs":1700000000,"nsecs":5},"frame_id":""},"status":[` +
		`{"level":2,"name":"recorder","message":"ünder way","hardware_id":"r2","values":[{"key":"file","value":"a.bag"},{"key":"empty","value":""}]},` +
		`{"level":0,"name":"no values","message":"","hardware_id":"","values":[]}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
