package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Play holds the options of goplay. The tags are the single source of flags,
// environment variables, defaults and help.
type Play struct {
	Files []string `arg:"" optional:"" name:"bag" help:"Bags to play. Several play as one, merged by time."`
	Bags  []string `sep:"none" placeholder:"BAG" help:"Further bags to play. Takes several words: ends a list of --topics."`

	Prefix string   `short:"p" env:"GOPLAY_PREFIX" placeholder:"PREFIX" help:"Put PREFIX in front of each topic name as it is, before names are resolved."`
	Topics []string `env:"GOPLAY_TOPICS" placeholder:"TOPIC" help:"Play only these topics, by their names in the bag; the leading / may be left out. Takes several words: give the bags before it, or after it with --bags."`

	Rate      float64  `short:"r" env:"GOPLAY_RATE" default:"1" placeholder:"FACTOR" help:"Play this many times as fast (default ${default})."`
	Start     Seconds  `short:"s" env:"GOPLAY_START" default:"0" placeholder:"SEC" help:"Start this many seconds after the earliest message of the bags. Latched topics get the message that was valid then."`
	Duration  *Seconds `short:"u" env:"GOPLAY_DURATION" placeholder:"SEC" help:"Play only this many seconds of the bags."`
	Immediate bool     `short:"i" env:"GOPLAY_IMMEDIATE" help:"Play all messages without waiting. Subscribers need --queue=0 to get all."`
	Loop      bool     `short:"l" env:"GOPLAY_LOOP" help:"Play again and again."`
	Pause     bool     `env:"GOPLAY_PAUSE" help:"Start paused."`
	KeepAlive bool     `short:"k" env:"GOPLAY_KEEP_ALIVE" help:"Stay after the last message, so that late subscribers get latched messages."`

	Queue              int     `env:"GOPLAY_QUEUE" default:"100" placeholder:"N" help:"Hold at most N messages for each subscriber, then drop the oldest (default ${default}, 0 = no limit)."`
	Delay              Seconds `short:"d" env:"GOPLAY_DELAY" default:"0.2" placeholder:"SEC" help:"Wait this long after advertising, so that subscribers can connect (default ${default})."`
	WaitForSubscribers bool    `env:"GOPLAY_WAIT_FOR_SUBSCRIBERS" help:"Wait until each topic has a subscriber."`

	Clock bool    `env:"GOPLAY_CLOCK" help:"Publish the time of the bags on the topic clock. Without this option, unlike rosbag play, the topic is not advertised."`
	Hz    float64 `env:"GOPLAY_HZ" default:"100" placeholder:"HZ" help:"With --clock: how often, in real time (default ${default})."`

	Quiet bool `short:"q" env:"GOPLAY_QUIET" help:"No status line and no summary."`

	EmbeddedMaster Address          `env:"GOPLAY_EMBEDDED_MASTER" placeholder:"HOST:PORT" help:"Run a ROS master inside this program (default address ${master})."`
	Version        kong.VersionFlag `help:"Print the version and exit."`
}

// PlayHelp introduces goplay --help.
const PlayHelp = `Publish the messages of bag files again, with their timing and their latching.

ROS arguments work as in every node: __name:=, __ns:=, __master:=, __ip:=, __hostname:= and /from:=/to. ` +
	`Keys while playing: space pauses and resumes, s plays one message while paused. ` +
	`Exit code: 0 complete, 1 usage or start-up error, 2 internal error, 3 finished but messages were lost or a bag is damaged.`

// PlayMultitoken names the options of goplay that take several words.
var PlayMultitoken = []string{"topics", "bags"} //nolint:gochecknoglobals // a constant, but for the language

// AllBags returns the bags in the order in which stock reads them.
func (p *Play) AllBags() []string { return slices.Concat(p.Files, p.Bags) }

// Validate is called by kong and checks what the tags cannot say. The texts are
// stock's where stock has one; a rate of 0 or less and a negative delay hang stock
// or play all at once.
func (p *Play) Validate() error {
	switch {
	case len(p.Files)+len(p.Bags) == 0 && len(p.Topics) > 0:
		return errors.New("When using --topics, --bags should be specified to list bags.") //nolint:staticcheck,revive // stock's text
	case len(p.Files)+len(p.Bags) == 0:
		return errors.New("You must specify at least one bag to play back.") //nolint:staticcheck,revive // stock's text
	case p.Duration != nil && *p.Duration <= 0:
		return errors.New("Invalid duration, must be > 0.0") //nolint:staticcheck // stock's text
	case !(p.Rate > 0) || math.IsInf(p.Rate, 0): // also NaN
		return errors.New("--rate must be positive")
	case p.Start < 0:
		return errors.New("--start must be 0 or positive")
	case p.Delay < 0:
		return errors.New("--delay must be 0 or positive")
	case p.Queue < 0:
		return errors.New("--queue must be 0 or positive")
	case !(p.Hz >= minHz) || p.Hz > maxHz: // also NaN
		return fmt.Errorf("--hz must be between %g and %d", minHz, maxHz)
	}
	return nil
}

// Limits of the clock. Above maxHz it would only burn a core; the period of a tiny
// rate would not fit a time.Duration.
const (
	minHz = 1e-3
	maxHz = 10_000
)

// PlayFor returns --duration; zero means to the end.
func (p *Play) PlayFor() time.Duration {
	if p.Duration == nil {
		return 0
	}
	return time.Duration(*p.Duration)
}

// Seconds is a length of time as rosbag play writes it: a float without a unit.
type Seconds time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Seconds) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	switch {
	case err != nil || math.IsNaN(v):
		return fmt.Errorf("%q is not a number of seconds", text)
	case !(math.Abs(v) < maxSeconds):
		return fmt.Errorf("%q is longer than 292 years", text)
	}
	*s = Seconds(math.Round(v * float64(time.Second)))
	return nil
}

const maxSeconds = float64(math.MaxInt64/int64(time.Second) - 1)
