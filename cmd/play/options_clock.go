package main

import (
	"fmt"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/player"
)

// Limits of the clock. Above maxHz it would only burn a core; the period of a tiny
// rate would not fit a time.Duration.
const (
	minHz = 1e-3
	maxHz = 10_000
)

func clockOptions(o *player.Options) config.Group {
	rules := func() []config.Rule {
		inRange := o.Hz >= minHz && o.Hz <= maxHz // NaN is not
		return []config.Rule{
			{
				Bad: o.Stamps == player.StampsClock && o.Clock, Options: []string{"clock", "stamps"},
				Reason: "--clock publishes the clock that --stamps=clock follows: give one of them",
			},
			{
				Bad: o.Clock && !inRange, Options: []string{"hz"},
				Reason: fmt.Sprintf("want a frequency from %g to %d", minHz, maxHz),
			},
		}
	}
	return config.Group{Title: "Clock", Rules: rules, Options: []config.Option{
		{Name: "clock-topics", Arg: "TOPIC", Value: config.Texts(&o.ClockTopics, notEmpty), Help: `
			With --clock: besides at --hz, publish the time before messages of these topics only, by their names in the bag, instead of before all
			messages. May be given several times.`},
		{Name: "clock-per-message", Value: config.Switch(&o.ClockPerMessage), Help: `
			With --clock: publish the time before each message, even if it is the same as before.`},
		{Name: "clock", Stock: true, Value: config.Switch(&o.Clock), Help: `
			Publish the time of the bags on the topic clock. Without this option, unlike rosbag play, the topic is not advertised. A /clock in the bags
			is then left out, unless --topics or --type asks for it.`},
		{Name: "hz", Arg: "HZ", Default: "100", Stock: true, Value: config.To(&o.Hz, units.Float), Help: `
			With --clock: how often, in real time (default ${default}).`},
	}}
}
