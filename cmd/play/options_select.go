package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/text/timearg"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/rosbag"
)

// selectionSettings say which bags are played, and which part of them.
type selectionSettings struct {
	bags        []string
	window      timearg.Window
	maxChunk    units.ChunkLimit
	definitions string // directory with .msg files
}

func (c *selectionSettings) group(o *player.Options) config.Group {
	rules := func() []config.Rule { return c.rules(o) }
	return config.Group{Title: "What to play", Rules: rules, Options: []config.Option{
		{Name: "bags", Arg: "BAG", Stock: true, Value: config.Many(config.Texts(&c.bags)), Help: `
			Further bags to play. Takes several values: ends a list of --topics.`},
		{Name: "topics", Arg: "TOPIC", Stock: true, Value: config.Many(config.Texts(&o.Topics, notEmpty)), Help: `
			Play only these topics, by their names in the bag: names, or globs in which * stands for any text without a slash and ** for any text; the
			leading / may be left out. With --regex these are regular expressions. Takes several values: give the bags before it, or after it with
			--bags.`},
		{Name: "type", Arg: "TYPE", Value: config.Texts(&o.Types, topicmatch.CheckGlob), Help: `
			Play all topics of this type, such as sensor_msgs/Image or sensor_msgs/*, beside those of --topics. May be given several times.`},
		{Name: "exclude", Short: "x", Arg: "TOPIC", Value: config.Texts(&o.Exclude, notEmpty), Help: `
			Exclude this topic, written as for --topics; takes precedence over --topics. May be given several times.`},
		{Name: "regex", Short: "e", Value: config.Switch(&o.Regex), Help: `
			Read the topics of --topics, --exclude, --rename, --deny and --wait-for as regular expressions (RE2 syntax, matching the whole name).`},
		{
			Name: "start", Short: "s", Arg: "TIME", Default: "0", Stock: true,
			Help:  config.HelpOf[timearg.Window]("Start"),
			Value: config.To(&c.window.Start, units.Text[timearg.Moment]),
		},
		{
			Name: "until", Aliases: []string{"end"}, Arg: "TIME", Help: config.HelpOf[timearg.Window]("Until"),
			Value: config.Func(
				func(m timearg.Moment) { c.window.Until = &m }, units.Text[timearg.Moment]),
		},
		{
			Name: "duration", Short: "u", Arg: "TIME", Stock: true,
			Help: config.HelpOf[timearg.Window]("Duration"), Value: config.Func(
				func(l timearg.Length) { c.window.Duration = &l }, units.Text[timearg.Length]),
		},
		{Name: "order", Default: "received", Value: config.OneOf(&o.ByHeader, "received|header", false, true), Help: `
			Play in the order and with the timing of the times at which messages were received, or of their header.stamp (default ${default}).
			Messages without a header keep the time at which they were received, and so do those whose stamp is further from it than --order-reach.`},
		{Name: "order-reach", Arg: "TIME", Default: "1", Value: options.Seconds(&o.HeaderReach, units.AtLeast(timearg.Seconds(1), "must be positive: want seconds, such as 1")), Help: `
			With --order=header: how far a stamp may be from the time at which the message was received (default ${default} s). This much of the bags
			is read before the first message, and twice as much after a seek, which takes a while with bzip2, and is held in memory, up to 128 MiB.`},
		{Name: "definitions", Arg: "DIR", Value: config.Text(&c.definitions), Help: `
			A directory with .msg files, such as a workspace: for types that recordings of ROS 2 have no definitions of, and for what subscribers want
			that send no definition (see --to-wanted). The types of ROS need none.`},
		{Name: "max-chunk", Arg: "SIZE", Default: "512M", Value: config.To(&c.maxChunk, units.Text[units.ChunkLimit]), Help: `
			Unpack compressed chunks of at most this size, such as 1G (default ${default}, at most 2047M). Larger ones are left out, and counted as
			lost: a hostile bag of a few kB could fill the memory.`},
	}}
}

func (c *selectionSettings) rules(o *player.Options) []config.Rule {
	const missing = "When using %[1]s, --bags should be specified to list bags. %[1]s takes every word up to the next option"
	none := len(c.bags) == 0
	rules := []config.Rule{
		{
			Bad: none && len(o.Topics) > 0, Options: []string{"topics", "bags"},
			Reason: fmt.Sprintf(missing, "--topics"),
		},
		{
			Bad: none && len(o.PauseTopics) > 0, Options: []string{"pause-topics", "bags"},
			Reason: fmt.Sprintf(missing, "--pause-topics"),
		},
		{
			Bad: none && len(o.Topics)+len(o.PauseTopics) == 0, Options: []string{"bags"},
			Reason: "You must specify at least one bag to play back. Name its file, such as goplay x.bag",
		},
	}
	return slices.Concat(rules,
		config.Each([]string{"bags", "regex"}, func(bag string) error { return checkBag(bag, o.Regex) },
			c.bags...),
		patternRules("topics", o.Topics, o.Regex), patternRules("exclude", o.Exclude, o.Regex))
}

// patternRules returns rules for the patterns of an option. isRegex is -e.
func patternRules(option string, patterns []string, isRegex bool) []config.Rule {
	check := checkGlob
	if isRegex {
		check = topicmatch.CheckRegex
	}
	return config.Each([]string{option, "regex"}, check, patterns...)
}

// checkGlob accepts any name: topics of bags need not have the names of ROS.
func checkGlob(text string) error {
	if topicmatch.IsGlob(text) {
		return topicmatch.CheckGlob(text)
	}
	return nil
}

func notEmpty(topic string) error {
	if topic == "" {
		return errors.New("a topic must not be empty: want a name, such as /tf")
	}
	return nil
}

// checkBag checks the name of a bag. isRegex is -e.
func checkBag(bag string, isRegex bool) error {
	if isRegex {
		if err := timearg.CheckNotEnd(bag); err != nil {
			return err
		}
	}
	if strings.Contains(bag, "://") && !store.IsURL(bag) {
		return errors.New("want a file, or a URL with s3://, gs://, azblob://, file://, http:// or https://")
	}
	return nil
}

// setWindow sets which part of the bags of o is played.
func (c *selectionSettings) setWindow(o *player.Options) (err error) {
	first, last, ok := player.Span(o.Bags)
	if !ok {
		return nil // player.Run returns the error
	}
	marks := player.RecordedMarks(o.Bags)
	o.Start, o.Duration, err = part(&c.window, &timearg.Bags{
		First: first.Sub(rosbag.Time{}), Last: last.Sub(rosbag.Time{}),
		Mark: func(text string) (time.Duration, error) {
			m, err := note.Lookup(marks, text)
			return m.Time.Sub(rosbag.Time{}), err
		},
	})
	return err
}

// part returns where play starts, in time since the earliest message of the bags, and how long it
// plays; zero means to the end.
func part(w *timearg.Window, bags *timearg.Bags) (start, length time.Duration, err error) {
	from, to, bounded, err := w.Times(bags)
	switch {
	case err != nil:
		return 0, 0, err
	case !bounded:
		return from - bags.First, 0, nil
	case to <= bags.First:
		return 0, 0, fmt.Errorf("--until is %v before the earliest message of the bags: there is nothing to play", bags.First-to)
	case to <= from:
		return 0, 0, fmt.Errorf("--until is %v before --start: there is nothing to play", from-to)
	}
	return from - bags.First, to - from, nil
}
