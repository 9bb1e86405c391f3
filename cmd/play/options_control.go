package main

import "github.com/gorosbag/gorosbag/config"

// controlSettings say how play is shown and steered.
type controlSettings struct{ quiet, noScreen, noServices bool }

func (c *controlSettings) group() config.Group {
	return config.Group{Title: "Control and screen", Options: []config.Option{
		{Name: "quiet", Short: "q", Stock: true, Value: config.Switch(&c.quiet), Help: `
			Print only warnings, errors and the lines that rosbag play prints: no screen, no progress and no summary. The keys work.`},
		{Name: "no-screen", Value: config.Switch(&c.noScreen), Help: `
			In a terminal: print lines at events and every 10 s, without the live screen. The keys work.`},
		{Name: "no-services", Value: config.Switch(&c.noServices), Help: `
			Do not offer services such as ~pause_playback and ~step, nor command topics such as ~seek, nor the topic ~status.`},
	}}
}
