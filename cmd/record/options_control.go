package main

import (
	"os"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
)

// controlSettings say how the recording begins, and how it is shown and steered.
type controlSettings struct {
	paused, stopped bool // how the recording begins
	quiet, noScreen bool
	noServices      bool
}

// hasScreen reports whether there is a live screen.
func (c *controlSettings) hasScreen() bool {
	return !c.quiet && !c.noScreen && program.Terminal(os.Stderr)
}

func (c *controlSettings) group() config.Group {
	rules := func() []config.Rule {
		return []config.Rule{{
			Bad: c.paused && c.stopped, Options: []string{"paused", "stopped"},
			Reason: "a recording begins in one way: leave out --paused or --stopped",
		}}
	}
	return config.Group{Title: "Control and screen", Rules: rules, Options: []config.Option{
		{Name: "paused", Value: config.Switch(&c.paused), Help: `
			Begin paused: open a bag, and record nothing until the space key is pressed or the service ~resume is called. Latched messages that
			arrived before are recorded at that point.`},
		{Name: "stopped", Value: config.Switch(&c.stopped), Help: `
			Begin without a bag: the space key or the service ~start begins one, the service ~stop ends it.`},
		{Name: "quiet", Short: "q", Stock: true, Value: config.Switch(&c.quiet), Help: `
			Print warnings and errors only: no live screen and no summary either.`},
		{
			Name: "no-screen", Value: config.Switch(&c.noScreen),
			Help: `In a terminal: print only the log, without the live screen and its keys.`,
		},
		{Name: "no-services", Value: config.Switch(&c.noServices), Help: `
			Do not offer the services ~start, ~stop, ~pause, ~resume, ~pause_recording, ~split, ~pin, ~snapshot and ~mark, nor the topics ~mark and
			~status.`},
	}}
}
