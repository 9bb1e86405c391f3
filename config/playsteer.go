package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/internal/moment"
)

// PlaySteer says how goplay gets through the bags, beside stock's plain options.
type PlaySteer struct {
	Loop        Loop           `group:"How to play:" short:"l" placeholder:"shift" stock:"" help:"Repeat until interrupted. From the last message of a pass to the first one of the next it takes as long as between two messages (the median, at least 1 ms). With --loop=shift time continues: in each pass the times of messages, the stamps in their headers and in tf, and the clock are shifted by the length of the passes before, so that no stamp repeats."`
	SkipEmpty   moment.Seconds `group:"How to play:" placeholder:"SEC" stock:"" help:"Jump over gaps in the bags that are longer than this (0 = never)."`
	PauseTopics []string       `group:"How to play:" sep:"none" placeholder:"TOPIC" stock:"" help:"Pause before each message of these topics, by their names in the bag; the leading / may be left out. The key t toggles it. Takes several values: give the bags before it, or after it with --bags."`
	Overflow    string         `group:"How to play:" default:"auto" placeholder:"auto|drop|block" enum:"auto,drop,block" help:"When the queue of a subscriber is full: drop = drop the oldest of --queue messages, and count it; block = wait for it, so that every subscriber gets every message. Default auto: block with --immediate, else drop."`

	Stamps string `group:"How to play:" default:"recorded" placeholder:"recorded|now|clock" enum:"recorded,now,clock" help:"Publish messages with the stamps that were recorded, or set the stamps of their headers, and recorded clocks, to the time at which they are published (default ${default}). now = by the wall clock, which --clock publishes then; clock = by the topic /clock of another node, such as a simulator: play follows it, runs at its rate and stops when it stops. A stamp keeps its distance to the time at which its message was received, divided by --rate, so that data fit their transforms; a stamp of zero stays zero."`

	ClockTopics     []string `group:"Clock:" sep:"none" placeholder:"TOPIC" help:"With --clock: besides --hz, publish the time before messages of these topics only, by their names in the bag, not before all. May be given several times."`
	ClockPerMessage bool     `group:"Clock:" help:"With --clock: publish the time before each message, even if it is the same as before."`
}

// checkSteer checks what the tags cannot say.
func (p *PlaySteer) checkSteer() error {
	switch {
	case p.SkipEmpty < 0:
		return errors.New("--skip-empty must be 0 or positive")
	case (len(p.ClockTopics) > 0) && p.ClockTopics[0] == "":
		return errors.New("--clock-topics: a topic must not be empty")
	}
	return nil
}

// Loop is a switch that may have a value.
type Loop struct {
	On    bool
	Shift bool // times go on from pass to pass
}

// IsBool tells kong that the option may stand without a value.
func (*Loop) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (l *Loop) Decode(ctx *kong.DecodeContext) error {
	*l = Loop{On: true}
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	text := fmt.Sprint(ctx.Scan.Pop().Value)
	if strings.EqualFold(text, "shift") {
		l.Shift = true
		return nil
	}
	on, ok := parseSwitch(text)
	if !ok {
		return fmt.Errorf("%q: want true, false or shift", text)
	}
	l.On = on
	return nil
}
