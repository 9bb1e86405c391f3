package player

import (
	"time"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// orderOptions says in which order the messages of a plan come, and how they are read.
type orderOptions struct {
	reach   time.Duration // of the order by header; zero: by time of receipt
	workers int           // decompression workers for each bag
	damaged func(*control.DamageError)
}

// order gives out the messages of a plan in the order of play, from any time on, and finds the way
// back. One goroutine uses it.
type order struct {
	orderOptions
	plan *plan

	byTime    []*spansByTime  // one for each bag; made at the first step back
	crowded   bool            // logged that maxReorderBytes are too few
	farStamps map[*topic]bool // logged that stamps are too far from the time of receipt
}

func newOrder(o orderOptions, p *plan) *order {
	return &order{orderOptions: o, plan: p, farStamps: map[*topic]bool{}}
}

// sequence returns messages in the order of play.
type sequence interface {
	// begin starts decompressing the first chunks on other cores.
	begin()
	// next returns the next message and its route, or nil at the end, and once it was canceled. Both
	// are valid until the following call; the frame stays valid. It skips damage, which is reported
	// once for each place.
	next() (*rosbag.Message, *route)
	// close closes the cursors and their read-ahead.
	close()
}

// from returns the messages from a time on. In the order of headers it passes earlier
// messages of latched connections to before, which may be nil. When cancel is closed it
// ends early.
func (o *order) from(t rosbag.Time, cancel <-chan struct{}, before func(*route, *rosbag.Message)) sequence {
	received := o.received(t.Add(-o.reach), cancel)
	if o.reach == 0 {
		return received
	}
	return &headerOrder{order: o, from: t, before: before, received: received}
}
