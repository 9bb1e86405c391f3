package readahead

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// stampShifter shifts the stamps of messages, for Options.LoopShift.
type stampShifter struct {
	offsets []int // of the stamps in the last message
}

// shift returns a copy of a frame with its stamps shifted, or the frame itself if it has no
// stamps or does not fit its definition. A stamp of zero means none and stays zero.
func (s *stampShifter) shift(h *rosmsg.HeaderStamps, frame []byte, by time.Duration) []byte {
	if h == nil || by == 0 || len(frame) < stdmsg.FramePrefix {
		return frame
	}
	s.offsets, _ = h.AppendOffsets(s.offsets[:0], frame[stdmsg.FramePrefix:]) // none after an error
	if len(s.offsets) == 0 {
		return frame
	}
	frame = slices.Clone(frame)
	for _, at := range s.offsets {
		if t := stdmsg.StampAt(frame[stdmsg.FramePrefix:], at); !t.IsZero() {
			stdmsg.SetStamp(frame[stdmsg.FramePrefix:], at, t.Add(by))
		}
	}
	return frame
}

// shiftState returns a state with its stamps shifted.
func (s *stampShifter) shiftState(state []plan.Latched, by time.Duration) []plan.Latched {
	if by == 0 {
		return state
	}
	out := slices.Clone(state)
	for i := range out {
		out[i].Frame = s.shift(out[i].Route.Topic.Stamps, out[i].Frame, by)
	}
	return out
}
