package config

import (
	"errors"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/internal/moment"
)

// Play holds the options of goplay. The tags are the single source of flags,
// environment variables, defaults and help.
type Play struct {
	Files []string `arg:"" optional:"" name:"bag" help:"Bags to play; directories, and URLs that end with a slash, stand for the bags in them. Several play as one, merged by time."`

	PlaySelect `embed:""`

	Delay moment.Seconds `group:"Before the first message:" short:"d" default:"0.2" placeholder:"SEC" stock:"" help:"Wait at least this long after advertising, so that subscribers can connect (default ${default})."`
	Pause bool           `group:"Before the first message:" stock:"" help:"Start paused."`

	Rate      float64 `group:"How to play:" short:"r" default:"1" placeholder:"FACTOR" stock:"" help:"Multiply the speed by this factor (default ${default})."`
	Immediate bool    `group:"How to play:" short:"i" stock:"" help:"Play all messages as fast as the subscribers take them; see --overflow."`
	KeepAlive bool    `group:"How to play:" short:"k" stock:"" help:"Keep running after the last message, so that late subscribers get latched messages."`
	Queue     int     `group:"How to play:" default:"100" placeholder:"N" stock:"" help:"Hold at most N messages for each subscriber, then drop the oldest (default ${default}, 0 = no limit)."`

	PlaySteer `embed:""`

	Clock bool    `group:"Clock:" stock:"" help:"Publish the time of the bags on the topic clock. Without this option, unlike rosbag play, the topic is not advertised."`
	Hz    float64 `group:"Clock:" default:"100" placeholder:"HZ" stock:"" help:"With --clock: how often, in real time (default ${default})."`

	Quiet bool `group:"Control and screen:" short:"q" stock:"" help:"Print only warnings, errors and the lines that rosbag play prints: no screen, no progress and no summary. The keys work."`

	PlayScreen `embed:""`

	PlayControl `embed:""`

	Web     Web `embed:""`
	Network `embed:""`

	EmbeddedMaster Address `group:"ROS:" placeholder:"HOST:PORT" help:"Run a ROS master inside this program (default address ${master})."`

	ROS    `embed:""`
	Common `embed:""`

	TryFutureVersion bool             `stock:"" help:"Accepted and without effect, as in rosbag play."`
	Version          kong.VersionFlag `help:"Print the version and exit."`
}

// PlayHelp introduces goplay --help.
const PlayHelp = `Publish the messages of bag files again, with the original timing and latching.

ROS arguments work as in every node: __name:=, __ns:=, __master:=, __ip:=, __hostname:= and /from:=/to. ` +
	`Keys while playing: space pauses and resumes, s plays one message while paused, arrows seek and change the rate, ? lists all keys. ` +
	`Exit code: 0 all messages were played, 1 usage or start-up error, 2 internal error, 3 messages were lost or a bag is damaged.`

// PlayMultitoken names the options of goplay that take several words.
var PlayMultitoken = []string{"topics", "pause-topics", "bags"} //nolint:gochecknoglobals // a constant, but for the language

// AllBags returns the bags in the order in which stock reads them.
func (p *Play) AllBags() []string { return slices.Concat(p.Files, p.Bags) }

// Validate is called by kong and checks what the tags cannot say. The texts are
// stock's where stock has one; a rate of 0 or less and a negative delay hang stock
// or play all at once.
func (p *Play) Validate() error {
	var errs refusals
	if len(p.AllBags()) == 0 {
		errs.refuse(len(p.Topics) > 0, "When using --topics, --bags should be specified to list bags. --topics takes every word up to the next option")
		errs.refuse(len(p.PauseTopics) > 0, "When using --pause-topics, --bags should be specified to list bags. --pause-topics takes every word up to the next option")
		errs.refuse(len(p.Topics)+len(p.PauseTopics) == 0, "You must specify at least one bag to play back. Name its file, such as goplay x.bag")
	}
	errs.refuse(p.Stamps == "clock" && p.Clock, "--clock publishes the clock that --stamps=clock follows: give one of them")
	errs.refuse(p.Stamps == "clock" && p.Immediate, "--immediate waits for no clock: --stamps=clock does not go with it")
	errs.refuse(!(p.Rate >= minRate && p.Rate <= maxRate), // also NaN
		"--rate %g: want a factor from %g to %g, such as 0.5 or 2", p.Rate, minRate, maxRate)
	errs.refuse(p.RateControlMaxDelay < 0, "--rate-control-max-delay %v must be 0 or positive", time.Duration(p.RateControlMaxDelay))
	errs.refuse(p.Delay < 0, "--delay %v must be 0 or positive", time.Duration(p.Delay))
	errs.refuse(p.Queue < 0, "--queue %d must be 0 or positive: a number of messages for each subscriber; 0 is no limit", p.Queue)
	errs.refuse(p.Clock && (!(p.Hz >= minHz) || p.Hz > maxHz), "--hz %g: want a frequency from %g to %d", p.Hz, minHz, maxHz) // also NaN
	return errors.Join(errors.Join(errs...), p.checkSteer(), p.checkSelect())
}

// Limits of the rate, the same as those of player.
const (
	minRate = 1e-6
	maxRate = 1e9
)

// Limits of the clock. Above maxHz it would only burn a core; the period of a tiny
// rate would not fit a time.Duration.
const (
	minHz = 1e-3
	maxHz = 10_000
)
