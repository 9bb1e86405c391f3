package rosbag_test

import (
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestFrames: a run falls into its frames, whatever their lengths, and the last one is found.
func TestFrames(t *testing.T) {
	t.Parallel()
	frames := [][]byte{{2, 0, 0, 0, 7, 8}, {0, 0, 0, 0}, {1, 0, 0, 0, 9}}
	for n := 1; n <= len(frames); n++ {
		run := slices.Concat(frames[:n]...)
		if got := slices.Collect(rosbag.Frames(run)); !slices.EqualFunc(got, frames[:n], slices.Equal) {
			t.Errorf("%d frames: %v, want %v", n, got, frames[:n])
		}
		if got := rosbag.LastFrame(run); !slices.Equal(got, frames[n-1]) {
			t.Errorf("the last of %d frames: %v, want %v", n, got, frames[n-1])
		}
		if got := rosbag.FrameLen(run); got != len(frames[0]) {
			t.Errorf("the first of %d frames has %d bytes, want %d", n, got, len(frames[0]))
		}
	}
	for frame := range rosbag.Frames(slices.Concat(frames...)) {
		if cap(frame) != len(frame) {
			t.Error("an append to a frame would write into the next one")
		}
		break
	}
	for range rosbag.Frames(nil) {
		t.Error("an empty run has a frame")
	}
}
