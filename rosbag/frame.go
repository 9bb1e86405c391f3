package rosbag

import (
	"encoding/binary"
	"iter"
)

// FrameLen returns the length in bytes of the first frame of a run, including the 4 bytes of its own length.
func FrameLen(run []byte) int { return 4 + int(binary.LittleEndian.Uint32(run)) }

// Frames returns the frames of a run, which has whole frames only.
func Frames(run []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(run) > 0 {
			n := FrameLen(run)
			if !yield(run[:n:n]) {
				return
			}
			run = run[n:]
		}
	}
}

// LastFrame returns the last frame of a run, which has whole frames only.
func LastFrame(run []byte) []byte {
	for n := FrameLen(run); n < len(run); n = FrameLen(run) {
		run = run[n:]
	}
	return run
}
