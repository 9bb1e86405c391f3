package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
)

// paceSettings are options about how play gets through the bags that have no field of their own in the
// player.
type paceSettings struct {
	loop        loop
	rateTopic   string        // play waits while it is ahead of this topic; empty means none
	rateMaxLead time.Duration // how far play may be ahead of rateTopic
}

// loop is a switch that may have a value.
type loop struct {
	on    bool
	shift bool // times go on from pass to pass
}

func (p *paceSettings) group(o *player.Options) config.Group {
	const wantQueue = "must be 0 or positive: a number of messages for each subscriber; 0 is no limit"
	wantRate := fmt.Sprintf("want a factor from %g to %g, such as 0.5 or 2", control.MinRate, control.MaxRate)
	rules := func() []config.Rule {
		return []config.Rule{{
			Bad: o.Stamps == player.StampsClock && o.Immediate, Options: []string{"immediate", "stamps"},
			Reason: "--immediate waits for no clock: --stamps=clock does not go with it",
		}}
	}
	return config.Group{Title: "How to play", Rules: rules, Options: []config.Option{
		{Name: "rate", Short: "r", Arg: "FACTOR", Default: "1", Stock: true, Value: config.To(&o.Rate, units.Float, units.AtLeast(control.MinRate, wantRate), units.AtMost(control.MaxRate, wantRate)), Help: `
			Multiply the speed by this factor (default ${default}).`},
		{Name: "immediate", Short: "i", Stock: true, Value: config.Switch(&o.Immediate), Help: `
			Play all messages as fast as the subscribers take them; see --overflow.`},
		{Name: "keep-alive", Short: "k", Stock: true, Value: config.Switch(&o.KeepAlive), Help: `
			Keep running after the last message, so that late subscribers get latched messages.`},
		{Name: "queue", Arg: "N", Default: "100", Stock: true, Value: config.To(&o.Queue, units.Int, units.AtLeast(0, wantQueue)), Help: `
			Hold at most N messages for each subscriber, then drop the oldest (default ${default}, 0 = no limit).`},
		{Name: "loop", Short: "l", Arg: "shift", Stock: true, Value: config.Optional(&p.loop, readLoop), Help: `
			Repeat until interrupted. The time from the last message of a pass to the first message of the next pass is the median of the times
			between messages, at least 1 ms. With --loop=shift time continues: in each pass the times of messages, the stamps in their headers and in tf, and
			the clock are shifted by the length of the passes before, so that no stamp repeats.`},
		{Name: "skip-empty", Arg: "SEC", Stock: true, Value: options.Seconds(&o.SkipEmpty, options.NotNegative), Help: `
			Jump over gaps in the bags that are longer than this (0 = never).`},
		{Name: "pause-topics", Arg: "TOPIC", Stock: true, Value: config.Many(config.Texts(&o.PauseTopics)), Help: `
			Pause before each message of these topics, by their names in the bag; the leading / may be left out. The key t switches it off and on. Takes several
			values: give the bags before it, or after it with --bags.`},
		{Name: "overflow", Default: "auto", Value: config.OneOf(&o.Overflow, "auto|drop|block", player.OverflowDefault, player.OverflowDrop, player.OverflowBlock), Help: `
			When the queue of a subscriber is full: drop = drop the oldest of --queue messages, and count it; block = wait for it, so that every
			subscriber gets every message. Default auto: block with --immediate, else drop.`},
		{Name: "stamps", Default: "recorded", Value: config.OneOf(&o.Stamps, "recorded|now|clock", player.StampsRecorded, player.StampsNow, player.StampsClock), Help: `
			Publish messages with the stamps that were recorded, or set the stamps of their headers, and recorded clocks, to the time at which they
			are published (default ${default}). now = by the wall clock, which --clock publishes then; clock = by the topic /clock of another node,
			such as a simulator: play follows it, runs at its rate and stops when it stops. A stamp keeps its distance to the time at which its
			message was received, divided by --rate, so that data fit their transforms; a stamp of zero stays zero.`},
		{Name: "rate-control-topic", Arg: "TOPIC", Stock: true, Value: config.Text(&p.rateTopic, options.UnlessEmpty(options.CheckName)), Help: `
			Wait while playback is further than --rate-control-max-delay ahead of the header.stamp of the last message of this topic. Its type has to
			begin with a header.`},
		{Name: "rate-control-max-delay", Arg: "SEC", Default: "1", Stock: true, Value: options.Seconds(&p.rateMaxLead, options.NotNegative), Help: `
			How far playback may be ahead of --rate-control-topic (default ${default}).`},
	}}
}

func readLoop(text string) (loop, error) {
	if strings.EqualFold(text, "shift") {
		return loop{on: true, shift: true}, nil
	}
	on, err := units.Switch(text)
	if err != nil || text == "0" || text == "1" { // which look like numbers of passes
		return loop{}, errors.New("want true, false or shift")
	}
	return loop{on: on}, nil
}
