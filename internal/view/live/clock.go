package live

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// clockInterval is the wall time between two times that are sent to a viewer, one for each frame of a
// screen: viewers draw the state at the last time that they received.
const clockInterval = time.Second / 60

// clock decides when the time is sent to one viewer. The time goes back only by a jump, and it is
// sent before messages that are later by more than clockInterval.
type clock struct {
	on      bool
	told    rosbag.Time // the time that was sent last
	ever    bool        // told is valid
	toldAt  time.Time   // wall time at which told was sent
	pending rosbag.Time // the time to send next
	number  uint64      // number of the frame that pending comes before
	waiting bool        // pending is valid
}

// set notes that the time is t, after all frames with a lower number. Zero means that the time is not
// known yet: sending zero would turn the next time into a jump.
func (c *clock) set(t rosbag.Time, number uint64) {
	if c.on && !t.IsZero() {
		c.pending, c.number, c.waiting = t, number, true
	}
}

// jumpTo notes that the viewer learns the time t from a jump.
func (c *clock) jumpTo(t rosbag.Time) {
	c.told, c.ever, c.waiting = t, true, false
	c.toldAt = time.Time{}
}

// take returns the time that was set, if it comes before the frame with this number.
func (c *clock) take(number uint64) (f Frame, ok bool) {
	if !c.waiting || c.number > number {
		return Frame{}, false
	}
	c.waiting = false
	if c.ever && !c.told.Before(c.pending) {
		return Frame{}, false
	}
	return c.tell(c.pending, time.Now()), true
}

// before returns the time of a message, if it must be told before the message.
func (c *clock) before(message *Frame) (f Frame, ok bool) {
	if !c.on || c.ever && !c.told.Before(message.Time) {
		return Frame{}, false
	}
	now := time.Now()
	if c.ever && now.Sub(c.toldAt) < clockInterval {
		return Frame{}, false
	}
	return c.tell(message.Time, now), true
}

func (c *clock) tell(t rosbag.Time, now time.Time) Frame {
	c.told, c.ever, c.toldAt = t, true, now
	return Frame{Kind: Clock, Time: t}
}
