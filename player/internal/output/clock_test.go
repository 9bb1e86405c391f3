package output

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosbag"
)

func TestClockFrames(t *testing.T) {
	var frames clockFrames
	first := frames.frame(rosbag.Time{Sec: 1, Nsec: 512})
	for range 1000 {
		frames.frame(rosbag.Time{Sec: 9})
	}
	if d := cmp.Diff([]byte{8, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0}, first); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := testing.AllocsPerRun(1000, func() { frames.frame(rosbag.Time{}) }); n != 0 {
		t.Errorf("%v allocations for each frame, want less than one", n)
	}
}
