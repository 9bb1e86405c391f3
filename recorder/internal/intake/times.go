package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// runTimes are the times in the bag of the messages of a run that are still to be recorded. All times of
// messages come from here. The last message was complete when the run was received. The times of a run
// are one nanosecond apart, so that tools that sort by time keep the order; chunk.Builder.AppendRun does
// the same. With a simulated clock many messages have the same time, as in stock.
type runTimes struct {
	next     rosbag.Time   // of the next message
	step     time.Duration // between two messages
	received time.Time     // when the last message was complete
}

// timesOf returns the times of a run of messages.
func (in *Intake) timesOf(received time.Time, count int) runTimes {
	step := in.cfg.Sim.Step()
	last := rosbag.TimeOf(in.cfg.Sim.At(received))
	return runTimes{last.Add(-step * time.Duration(count-1)), step, received}
}

// backdatedLocked returns the time of a message of the recorder itself that comes now and is dated back
// to at, as far as the rotation allows. A simulation may run at any rate: its messages are not dated
// back.
func (in *Intake) backdatedLocked(now, at time.Time) time.Time {
	if in.cfg.Sim != nil {
		return in.cfg.Sim.At(now)
	}
	return in.rotation.Backdate(now, at, in.mode.Begun)
}

// skip leaves out the next message.
func (r *runTimes) skip() { r.next = r.next.Add(r.step) }

// takeLocked returns the time of the first of the next n messages, which go into the present file. A link
// may have waited since the run was received, so the file may have begun later.
func (r *runTimes) takeLocked(in *Intake, n int) rosbag.Time {
	first := in.rotation.Stamp(r.next, r.received, in.cfg.Sim != nil)
	r.next = first.Add(r.step * time.Duration(n))
	return first
}
