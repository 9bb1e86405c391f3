package player

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/follow"
	"github.com/gorosbag/gorosbag/player/internal/output"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/viewing"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Options says what to play and how. Node and Bags are required.
type Options struct {
	Node *tcpros.Node
	Bags []*Bag // played as one, merged by time

	// What to play: connections that match Topics (names or globs of recorded names) or
	// Types (globs), or all if both are empty, except those that match Exclude. With Regex,
	// Topics, Exclude, Deny, WaitFor and the first half of each Rename are regular
	// expressions that match whole names.
	Topics  []string
	Types   []string
	Exclude []string
	Regex   bool

	Rename []string // FROM=TO: recorded names to be played under another name
	Prefix string   // prepended to each name, before name resolution
	Deny   []string // refuse to publish on topics whose resolved names match

	Start    time.Duration // offset of the window from the earliest message of all bags
	Duration time.Duration // length of the window, which includes its end; zero means to the end of the bags

	// ByHeader plays by the stamps of headers instead of by the time of receipt. A stamp
	// further than HeaderReach (zero means 1 s) from the time of receipt is ignored.
	ByHeader    bool
	HeaderReach time.Duration

	// bag time per wall time; zero means 1
	Rate float64
	// publish without waiting for time; pausing still works
	Immediate bool
	// start paused
	Paused bool
	// start again, forever; the gap between passes is the median gap between messages, at least 1 ms
	Loop bool
	// shift stamps by the length of the passes before, so that time goes on from pass to pass of a loop
	LoopShift bool
	// stay in the graph after the last message, until the context ends
	KeepAlive bool

	// NewNode, if it is not nil, opens a node with a full name. Run opens one for each
	// original publisher, publishes its messages from there, and closes them.
	NewNode func(ctx context.Context, name string) (*tcpros.Node, error)

	SkipEmpty   time.Duration // jump over gaps that are longer; zero means never
	PauseTopics []string      // recorded names; play pauses before each of their messages
	RateControl *RateControl  // blocks play while a subscriber is too far behind; nil means no rate control

	Queue    int      // messages held for each subscriber; zero means unlimited
	Overflow Overflow // what to do when the queue of a subscriber is full

	// between advertising and the first message
	Delay time.Duration
	// wait this long for the links of subscribers that the master lists; zero means not at all
	LinkTimeout time.Duration
	// begin only when each topic has a subscriber
	WaitForSubscribers bool
	// begin only when the topics with these resolved names have a subscriber
	WaitFor []string
	// how long to wait for subscribers before Run returns a *WaitError; zero means forever
	WaitTimeout time.Duration

	Stamps Stamps // stamps that messages are published with; LoopShift works with StampsRecorded only

	// ToWanted converts messages for subscribers that want another version of their type, if that needs
	// no decision. Others get what was recorded. Without it such subscribers are refused, as by every
	// publisher.
	ToWanted bool
	// Definitions knows what subscribers want that send no definition, only its md5sum; nil knows
	// nothing. It is used by one goroutine at a time.
	Definitions Definitions

	Clock bool    // publish the bag time on topic clock
	Hz    float64 // minimum frequency in wall time, 0.001 to 1e6; zero means 100
	// ClockTopics are recorded names; none means all topics. Besides the ticks at Hz, the
	// clock is published before messages of these topics only, so that messages of other
	// topics may be ahead of the clock.
	ClockTopics []string
	// ClockPerMessage publishes the clock before each such message, even if the clock has no
	// subscriber or has not changed.
	ClockPerMessage bool

	// Own are names, before name resolution, of topics that the caller publishes beside play. A recorded
	// topic that would be published under such a name, or under that of the clock with Clock, is left
	// out, unless Topics or Types select it: subscribers would take the old state for the present one,
	// and a clock would jump between two times. /rosout is not such a topic: all nodes share it, and its
	// messages name their node.
	Own []string

	Log *zap.Logger // nil means none

	Viewing *Viewing // shows what is played to live viewers; nil means none

	// OnStart is called once, with the control of this Run, when the first message has been read.
	OnStart func(control.Control)
	// OnStatus is called at each change of the phase, and ten times a second. The calls come
	// one at a time from a goroutine of their own, so that a slow call does not delay play.
	// At the end Run waits at most a second for the last call.
	OnStatus func(control.Status)

	resolve func(name string) (string, error) // resolves names instead of Node, for Check
}

// Definitions finds definitions of message types. Its method is
//
//	Find(typ string) ([]Definition, error)
//
// which returns the definitions of a type, the best one first; none if the type is not known. The error
// says why a type that is there has no usable definition.
type Definitions = mismatch.Known

// Definition is the definition of a message type: Type, MD5Sum and Text.
type Definition = mismatch.Definition

// Overflow says what to do when the queue of a subscriber is full.
type Overflow int

const (
	// OverflowDefault is OverflowBlock with Options.Immediate, else OverflowDrop.
	OverflowDefault Overflow = iota
	// OverflowDrop drops the oldest message of a subscriber whose queue is full, and
	// counts it, as stock does.
	OverflowDrop
	// OverflowBlock blocks play until all subscribers of the next message's topic have room
	// for it, so that each gets every message. Options.Queue has no effect.
	OverflowBlock
)

// Stamps says which stamps messages are published with.
type Stamps int

const (
	// StampsRecorded keeps the stamps of the bags.
	StampsRecorded Stamps = iota
	// StampsNow moves stamps to the wall clock: a stamp that is the time of receipt becomes the
	// time at which the message is published. Other stamps keep their distance to the time of
	// receipt, divided by the rate, so that equal stamps stay equal and data stay in line with
	// their transforms. StampsNow sets the stamp of each std_msgs/Header, wherever it is, and
	// messages of type rosgraph_msgs/Clock; stamps of zero stay zero. Options.Clock publishes
	// the wall clock.
	StampsNow
	// StampsClock moves stamps in the same way to the clock that another node publishes on the
	// topic clock, and play follows that clock: play begins with the first message of the clock,
	// stands still with the clock, and Options.Rate is bag time per time of the clock.
	StampsClock
)

// RateControl keeps play from running ahead of a subscriber, see Options.RateControl.
type RateControl = follow.RateControl

// NewRateControl returns a RateControl for the Options of one Run that permits play to be
// ahead by a delay.
func NewRateControl(delay time.Duration) *RateControl { return follow.NewRateControl(delay) }

// Viewing shows what is played to live viewers; its method Source returns what a server shows them.
type Viewing = viewing.Viewing

// ViewingOptions says what viewers learn of a playback: Name, of the source, as viewers show it, and Graph, a
// func(context.Context) (tcpros.SystemState, error) that asks the master; nil for no graph.
type ViewingOptions = viewing.Options

// NewViewing returns a Viewing for the Options of one Run.
func NewViewing(o ViewingOptions) *Viewing { return viewing.New(o) }

// Limits of Options.Hz. The period must fit a Duration, and the timer must keep up.
const (
	minHz = 1e-3
	maxHz = 1e6
)

func (o Options) withDefaults() (Options, error) {
	if o.Rate == 0 {
		o.Rate = 1
	}
	if o.Hz == 0 {
		o.Hz = 100
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	o.Log = loglimit.Logger(o.Log)
	o.LoopShift = o.LoopShift && o.Stamps == StampsRecorded
	if o.Overflow == OverflowDefault {
		o.Overflow = OverflowDrop
		if o.Immediate {
			o.Overflow = OverflowBlock
		}
	}
	switch {
	case o.Node == nil && o.resolve == nil:
		return o, &control.OptionError{Option: "Node", Reason: "is missing"}
	case len(o.Bags) == 0:
		return o, &control.OptionError{Option: "Bags", Reason: "is empty"}
	case checkRate(o.Rate) != nil:
		return o, checkRate(o.Rate)
	case !(o.Hz >= minHz) || o.Hz > maxHz: // also NaN
		return o, &control.OptionError{
			Option: "Hz",
			Reason: fmt.Sprintf("must be between %g and %g", minHz, maxHz),
		}
	case o.Start < 0, o.Duration < 0, o.HeaderReach < 0, o.Delay < 0, o.LinkTimeout < 0, o.WaitTimeout < 0:
		return o, &control.OptionError{Option: "Start, Duration, HeaderReach, Delay, LinkTimeout or WaitTimeout", Reason: "is negative"}
	case o.Stamps != StampsRecorded && o.Stamps != StampsNow && o.Stamps != StampsClock:
		return o, &control.OptionError{Option: "Stamps", Reason: "is none of the constants"}
	case o.Stamps == StampsClock && (o.Clock || o.Immediate):
		return o, &control.OptionError{
			Option: "Stamps",
			Reason: "follows a clock: neither Clock nor Immediate go with that",
		}
	case o.SkipEmpty < 0:
		return o, &control.OptionError{Option: "SkipEmpty", Reason: "is negative"}
	case o.Overflow != OverflowDrop && o.Overflow != OverflowBlock:
		return o, &control.OptionError{Option: "Overflow", Reason: "is none of the constants"}
	case o.Queue < 0:
		return o, &control.OptionError{Option: "Queue", Reason: "is negative"}
	}
	return o, nil
}

// checkRate returns an *OptionError for an invalid rate.
func checkRate(rate float64) error {
	if !(rate >= control.MinRate && rate <= control.MaxRate) { // also NaN
		return &control.OptionError{
			Option: "Rate",
			Reason: fmt.Sprintf("must be between %g and %g", control.MinRate, control.MaxRate),
		}
	}
	return nil
}

// timeBaseOf returns what play takes its time from. The caller has to call End.
func timeBaseOf(o *Options) (follow.TimeBase, error) {
	if o.Stamps == StampsClock {
		return follow.SubscribeClock(o.Node, o.Log)
	}
	return follow.Machine(pacing.NewSleeper(o.Log), o.Stamps == StampsNow), nil
}

// aheadWorkers returns how many chunks of a bag are decompressed ahead at the same time. At
// the recorded rate one is enough, and decompressing bz2 on two cores makes messages late.
func aheadWorkers(o *Options) int {
	if o.Immediate || o.Rate > 1 {
		return 2
	}
	return 1
}

// orderOf returns the order of play.
func orderOf(o *Options, damaged func(*control.DamageError)) timeline.Options {
	order := timeline.Options{Workers: aheadWorkers(o), Damaged: damaged}
	if o.ByHeader {
		order.Reach = cmp.Or(o.HeaderReach, defaultReach)
	}
	return order
}

// defaultReach is that of Options.ByHeader.
const defaultReach = time.Second

// planOf returns what to plan. Without publish, nothing is prepared for that.
func planOf(o *Options, publish bool) plan.Options {
	own := o.Own
	if o.Clock {
		own = append(slices.Clone(own), output.ClockTopic)
	}
	return plan.Options{
		Log: o.Log, Topics: o.Topics, Types: o.Types, Exclude: o.Exclude, Regex: o.Regex, Rename: o.Rename,
		Prefix: o.Prefix,
		Deny:   o.Deny, WaitFor: o.WaitFor, Start: o.Start, Duration: o.Duration, PauseTopics: o.PauseTopics,
		ClockTopics: o.ClockTopics, Own: own,
		FindStamps: publish && (o.Stamps != StampsRecorded || o.LoopShift), CopyStamped: publish &&
			o.Stamps != StampsRecorded,
	}
}
