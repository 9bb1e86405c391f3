package main

import (
	"slices"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/player"
)

// beginSettings are options about the begin of play that the command carries out.
type beginSettings struct {
	dryRun bool
}

func (b *beginSettings) group(o *player.Options) config.Group {
	rules := func() []config.Rule {
		return slices.Concat(patternRules("deny", o.Deny, o.Regex),
			patternRules("wait-for", o.WaitFor, o.Regex), []config.Rule{{
				Bad:     o.WaitTimeout > 0 && !o.WaitForSubscribers && len(o.WaitFor) == 0,
				Options: []string{"wait-timeout", "wait-for", "wait-for-subscribers"},
				Reason:  "--wait-timeout needs --wait-for or --wait-for-subscribers",
			}})
	}
	return config.Group{Title: "Before the first message", Rules: rules, Options: []config.Option{
		{Name: "dry-run", Value: config.Switch(&b.dryRun), Help: `
			Print what would be played, who publishes and subscribes to these topics now, and which subscribers would be refused, and exit. Nothing is
			published; topics that have subscribers are advertised for a moment, because only then these say which definition they want.`},
		{Name: "deny", Arg: "TOPIC", Value: config.Texts(&o.Deny, notEmpty), Help: `
			Refuse to start when this topic would be published, whatever its name in the bag. A glob as for --topics. May be given several times.`},
		{Name: "link-timeout", Arg: "TIME", Default: "2", Value: options.Seconds(&o.LinkTimeout, options.NotNegative), Help: `
			Wait at most this long for subscribers that the master lists when play begins, so that they miss nothing (default ${default} s; 0: do not
			wait). Subscribers that do not run any more are not waited for. A warning names those that have not connected by then.`},
		{
			Name: "wait-for-subscribers", Stock: true, Value: config.Switch(&o.WaitForSubscribers),
			Help: `Wait until each topic has a subscriber.`,
		},
		{Name: "wait-for", Arg: "TOPIC", Value: config.Texts(&o.WaitFor, notEmpty), Help: `
			Wait until this topic, by its final name, has a subscriber. A glob as for --topics. May be given several times.`},
		{Name: "wait-timeout", Arg: "TIME", Value: options.Seconds(&o.WaitTimeout, options.NotNegative), Help: `
			Wait no longer than this for subscribers, then exit with 1 and say which topics have none.`},
		{Name: "delay", Short: "d", Arg: "SEC", Default: "0.2", Stock: true, Value: options.Seconds(&o.Delay, options.NotNegative), Help: `
			Wait at least this long after advertising, so that subscribers can connect (default ${default}).`},
		{Name: "pause", Stock: true, Value: config.Switch(&o.Paused), Help: `Start paused.`},
	}}
}
