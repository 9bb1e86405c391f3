package stdmsg_test

import (
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
)

func TestFirst(t *testing.T) {
	t.Parallel()
	tests := []struct {
		definition, name string
		ok               bool
	}{
		{"Header header\nint32 x\n", "header", true},
		{"# a comment\n\n  std_msgs/Header   head # the head\n", "head", true},
		{"uint8 DEBUG=1\nstring S=#=1\nHeader header\n", "header", true},
		{"roslib/Header header", "header", true},
		{"int32 x\nHeader header\n", "x", false},
		{"Headers header\n", "header", false},
		{"# Header header\n", "", false},
		{"Header[] headers\n", "headers", false},
		{"my_msgs/Header header\n", "header", false},
		{"Header\n", "", false},
		{"", "", false},
		{"===\nMSG: std_msgs/Header\n", "std_msgs/Header", false},
	}
	for _, tc := range tests {
		if name, ok := stdmsg.FirstField(tc.definition); name != tc.name || ok != tc.ok {
			t.Errorf("%q: %q, %v; want %q, %v", tc.definition, name, ok, tc.name, tc.ok)
		}
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	payload := []byte{1, 0, 0, 0, 2, 1, 0, 0, 3, 0, 0, 1, 0xff}
	if sec, nsec, ok := stdmsg.HeaderStamp(payload); sec != 258 || nsec != 1<<24+3 || !ok {
		t.Errorf("got %d, %d, %v", sec, nsec, ok)
	}
	if _, _, ok := stdmsg.HeaderStamp(payload[:11:11]); ok {
		t.Error("a stamp in 11 bytes")
	}
}
