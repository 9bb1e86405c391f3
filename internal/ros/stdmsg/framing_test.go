package stdmsg_test

import (
	"bytes"
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/rosgraph_msgs"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestStamps: a stamp is two little-endian numbers, and what is around it stays.
func TestStamps(t *testing.T) {
	t.Parallel()
	payload := []byte{9, 4, 3, 2, 1, 8, 7, 6, 5, 9}
	want := rosbag.Time{Sec: 0x01020304, Nsec: 0x05060708}
	if got := stdmsg.StampAt(payload, 1); got != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
	stdmsg.SetStamp(payload, 1, rosbag.Time{Sec: 0xfffefdfc, Nsec: 1})
	if !bytes.Equal(payload, []byte{9, 0xfc, 0xfd, 0xfe, 0xff, 1, 0, 0, 0, 9}) {
		t.Errorf("wrote %x", payload)
	}
}

// TestClock: the constants agree with another implementation of the clock.
func TestClock(t *testing.T) {
	t.Parallel()
	md5sum, payload := stdmsg.MD5Sum(rosgraph_msgs.Clock{}), stdmsg.Encode(&rosgraph_msgs.Clock{})
	if md5sum != stdmsg.ClockMD5 || len(payload) != stdmsg.ClockBytes {
		t.Errorf("md5sum %s, %d bytes", md5sum, len(payload))
	}
}
