package main

import (
	"errors"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/recorder"
)

// selectionSettings are options about what to record that the command carries out.
type selectionSettings struct {
	require    bool     // a topic that never appears is an error
	notes      []string // KEY=VALUE
	notesError error    // of all notes together
}

func (c *selectionSettings) group(o *recorder.Options) config.Group {
	rules := func() []config.Rule { return c.rules(&o.Select) }
	return config.Group{Title: "What to record", Rules: rules, Options: []config.Option{
		{Name: "topic", Arg: "TOPIC", Stock: true, Value: config.Texts(&o.Select.Topics), Help: `
			Record this topic; the same as naming it without an option. May be given several times.`},
		{
			Name: "all", Short: "a", Stock: true, Value: config.Switch(&o.Select.All),
			Help: `Record all topics, also those that appear later.`,
		},
		{Name: "regex", Short: "e", Stock: true, Value: config.Switch(&o.Select.Regex), Help: `
			Read the topics as regular expressions (RE2 syntax, matching the whole name).`},
		{Name: "exclude", Short: "x", Arg: "REGEX", Stock: true, Value: config.Texts(&o.Select.Exclude, topicmatch.CheckRegex), Help: `
			Exclude topics whose whole name matches this regular expression (not a glob). May be given several times. Does not apply to topics named
			in full.`},
		{Name: "type", Arg: "TYPE", Value: config.Texts(&o.Select.Types, topicmatch.CheckGlob), Help: `
			Record all topics of this type, such as sensor_msgs/Image or sensor_msgs/*. May be given several times.`},
		{Name: "node", Arg: "NODE", Stock: true, Value: config.Texts(&o.Select.Nodes, options.CheckName), Help: `
			Record all topics that this node subscribes to. May be given several times.`},
		{Name: "node-publications", Arg: "NODE", Value: config.Texts(&o.Select.NodePublications, options.CheckName), Help: `
			Record all topics that this node publishes. May be given several times.`},
		{Name: "note", Arg: "KEY=VALUE", Value: config.Texts(&c.notes, checkNote), Help: `
			Write this note into each bag: a line "KEY: VALUE" in a latched std_msgs/String on /metadata, which rosbag_metadata and bag-database read.
			May be given several times.`},
		{Name: "params", Value: config.Switch(&o.Params), Help: `
			Store the parameters and the node graph as they are at the start, as latched JSON text on /gorecord/params and /gorecord/graph
			(std_msgs/String).`},
		{Name: "summary", Default: "on-loss", Value: config.OneOf(&o.Report, "on-loss|always|never", recorder.ReportOnLoss, recorder.ReportAlways, recorder.ReportNever), Help: `
			When to write a summary of losses, by topic and cause, at the end of the last bag: a latched diagnostic_msgs/DiagnosticArray on
			/gorecord/summary (default ${default}).`},
		{
			Name: "require", Value: config.Switch(&c.require),
			Help: `Exit with 3 if a requested topic never appeared.`,
		},
	}}
}

func selectsNothing(o *recorder.Selection) bool {
	return len(o.Topics)+len(o.Types)+len(o.Nodes)+len(o.NodePublications)+len(o.Exclude) == 0 && !o.All
}

func (c *selectionSettings) rules(o *recorder.Selection) []config.Rule {
	check := checkTopicOrGlob
	if o.Regex {
		check = topicmatch.CheckRegex
	}
	rules := append(config.Each([]string{"topic", "regex"}, check, o.Topics...), config.Rule{
		Bad:     selectsNothing(o),
		Options: []string{"topic", "all", "type", "node", "node-publications", "exclude"},
		Reason:  "No topics specified. Name topics, or use -a for all",
	})
	if err := c.notesError; err != nil {
		rules = append(rules, config.Rule{Bad: true, Options: []string{"note"}, Reason: err.Error()})
	}
	return rules
}

func checkTopicOrGlob(text string) error {
	if topicmatch.IsGlob(text) {
		return topicmatch.CheckGlob(text)
	}
	return options.CheckName(text)
}

func checkNote(text string) error {
	_, err := note.ParseNote(text)
	var bad *note.Error
	if errors.As(err, &bad) {
		return errors.New(bad.Reason)
	}
	return err
}
