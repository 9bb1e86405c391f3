// Package timeline gives out the messages of a plan in the order of play, by time of receipt or by the
// stamps of their headers, and finds the way back. One goroutine, the reader's, uses an Order and its
// Sequences; another may close a Sequence.
package timeline

import (
	"time"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options says in which order the messages of a plan come, and how they are read.
type Options struct {
	Reach   time.Duration // see Options.HeaderReach of play; zero means the order of receipt
	Workers int           // decompression workers for each bag
	Damaged func(*control.DamageError)
	Memory  rosbag.Memory // for chunks, in the order of receipt; may be nil
}

// Order gives out the messages of a plan in the order of play, from any time on, and finds the way
// back. One goroutine uses it.
type Order struct {
	Options
	plan *plan.Plan

	byTime    []*spansByTime       // one for each bag; made at the first step back
	crowded   bool                 // logged that maxReorderBytes are too few
	farStamps map[*plan.Topic]bool // logged that stamps are too far from the time of receipt
}

// New returns the order of the messages of a plan.
func New(o Options, p *plan.Plan) *Order {
	return &Order{Options: o, plan: p, farStamps: map[*plan.Topic]bool{}}
}

// Sequence returns messages in the order of play.
type Sequence interface {
	// Begin starts decompressing the first chunks on other cores.
	Begin()
	// Next returns the next message and its route, or nil at the end and after a cancellation. Both
	// are valid until the following call; the frame stays valid. Next skips damage, which is
	// reported once for each place.
	Next() (*rosbag.Message, *plan.Route)
	// Close closes the cursors and their read-ahead.
	Close()
}

// From returns the messages from a time on. In the order of headers, earlier messages of latched
// connections are passed to before, which may be nil. The sequence ends early when cancel is closed.
func (o *Order) From(t rosbag.Time, cancel <-chan struct{},
	before func(*plan.Route, *rosbag.Message),
) Sequence {
	received := o.received(t.Add(-o.Reach), cancel)
	if o.Reach == 0 {
		return received
	}
	return &headerOrder{order: o, from: t, before: before, received: received}
}

// Latched returns what is latched before the messages that From returns for the same time. It returns
// early, with an incomplete state, when cancel is closed.
func (o *Order) Latched(from rosbag.Time, cancel <-chan struct{}) (s plan.State) {
	for _, b := range o.plan.Bags {
		for c, m := range b.LatchedBefore(from.Add(-o.Reach), b.Playable, o.Damaged) {
			select {
			case <-cancel:
				return s
			default:
				s.Add(b.Routes[c], m)
			}
		}
	}
	return s
}
