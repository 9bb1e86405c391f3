package player

import (
	"errors"
	"fmt"

	"github.com/aler9/goroslib/pkg/msgproc"
	"github.com/aler9/goroslib/pkg/msgs/rosgraph_msgs"

	"github.com/gorosbag/gorosbag/player/control"
)

// check returns the topics that need a subscriber before play begins, or an error if the
// selection must not or cannot be played.
func check(p *plan, resolve func(string) (string, error), o *Options) ([]*topic, error) {
	awaited, err := p.awaited(o.WaitForSubscribers)
	err = errors.Join(p.denied(), err)
	if o.Clock {
		err = errors.Join(err, checkClock(resolve, p))
	}
	if o.Stamps == StampsClock {
		err = errors.Join(err, checkExternalClock(resolve, p))
	}
	return awaited, err
}

// checkClock makes sure that the clock does not go out on a topic of another type, nor
// on one that must not be played.
func checkClock(resolve func(string) (string, error), p *plan) error {
	name, err := resolve(clockTopic)
	if err != nil {
		return err
	}
	if p.denies(name) {
		return &DenyError{[]string{name}}
	}
	md5, err := msgproc.MD5(rosgraph_msgs.Clock{})
	if err != nil {
		return err
	}
	if t := p.topic(name); t != nil && t.md5 != md5 {
		return &control.OptionError{Option: "Clock", Reason: fmt.Sprintf("does not go with topic %s of the bags: its type is %s [%s], not rosgraph_msgs/Clock; "+
			"play without the clock, select other topics or put a prefix in front of them", t.name, t.typ, t.md5)}
	}
	return nil
}

// checkExternalClock makes sure that play does not publish the clock that it follows.
func checkExternalClock(resolve func(string) (string, error), p *plan) error {
	name, err := resolve(externalClockTopic)
	if err != nil {
		return err
	}
	if t := p.topic(name); t != nil {
		return &control.OptionError{Option: "Stamps", Reason: fmt.Sprintf("follows the clock on %s, and the bags have that topic, too (%s): exclude it or play it under another name",
			name, t.recordedName)}
	}
	return nil
}
