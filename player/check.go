package player

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/follow"
	"github.com/gorosbag/gorosbag/player/internal/output"
	"github.com/gorosbag/gorosbag/player/internal/plan"
)

// check returns the topics that need a subscriber before play begins, or an error if the
// selection must not or cannot be played.
func check(p *plan.Plan, resolve func(string) (string, error), o *Options) ([]*plan.Topic, error) {
	awaited, err := p.Awaited(o.WaitForSubscribers)
	err = errors.Join(p.Denied(), err)
	if o.Clock {
		err = errors.Join(err, checkClock(resolve, p))
	}
	if o.Stamps == StampsClock {
		err = errors.Join(err, checkExternalClock(resolve, p))
	}
	return awaited, err
}

// checkClock makes sure that the clock is not published on a topic of another type, nor
// on one that must not be played.
func checkClock(resolve func(string) (string, error), p *plan.Plan) error {
	clock, err := resolve(output.ClockTopic)
	if err != nil {
		return err
	}
	name := topicname.InGraph(clock)
	if p.Denies(name) {
		return &plan.DenyError{Topics: []string{clock}}
	}
	if t := p.Topic(name); t != nil && t.MD5Sum != stdmsg.ClockMD5 {
		return &control.OptionError{
			Option: "Clock",
			Reason: fmt.Sprintf("does not go with topic %s of the bags: its type is %s [%s], not rosgraph_msgs/Clock; "+
				"play without the clock, select other topics or put a prefix in front of them", t.Name,
				t.Type,
				t.MD5Sum),
		}
	}
	return nil
}

// checkExternalClock makes sure that play does not publish the clock that it follows.
func checkExternalClock(resolve func(string) (string, error), p *plan.Plan) error {
	name, err := resolve(follow.ClockTopic)
	if err != nil {
		return err
	}
	if t := p.Topic(topicname.InGraph(name)); t != nil {
		return &control.OptionError{
			Option: "Stamps",
			Reason: fmt.Sprintf("follows the clock on %s, and the bags have that topic, too (%s): exclude it or play it under another name",
				name, t.RecordedName),
		}
	}
	return nil
}
