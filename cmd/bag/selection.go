package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/rebag"
	"github.com/gorosbag/gorosbag/internal/topicmatch"
)

// selectFlags say which messages are wanted.
type selectFlags struct {
	Topic    []string `short:"t" sep:"none" placeholder:"PATTERN" completion-predictor:"topic" help:"Only these topics; * and ? stand for any characters, also for slashes, unlike those of goplay and gorecord. May be repeated, as the next three."`
	Exclude  []string `short:"x" sep:"none" placeholder:"PATTERN" completion-predictor:"topic" help:"Not these topics."`
	Type     []string `sep:"none" placeholder:"PATTERN" completion-predictor:"type" help:"Only these message types."`
	CallerID []string `name:"callerid" sep:"none" placeholder:"PATTERN" help:"Only what these nodes published."`
	Regex    bool     `short:"e" help:"Patterns are regular expressions for the whole name."`

	config.Window

	Around *config.Moment `placeholder:"TIME" help:"Only messages around this time, written as for --start: mark='door opened'."`
	Margin config.Seconds `default:"10s" placeholder:"TIME" help:"With --around: how long before and after (${default})."`

	Rename []string `sep:"none" placeholder:"/A=/B" help:"Give a topic another name, as goplay --rename: FROM may be a glob, in which * stops at a slash, or with -e a regular expression; FROM:TYPE=TO renames the messages of one type only; /A:=/B is the same. The first that matches applies. May be repeated."`
}

// latchedFlags say whether bags that begin in the middle of another repeat latched messages.
type latchedFlags struct {
	NoLatched bool `name:"no-latched" help:"Do not repeat the latest earlier message of each latching publisher at the beginning."`
}

// options translates the flags. bag tells the times that relative ones refer to;
// nil if they are not known beforehand.
func (f *selectFlags) options(bag *bagfmt.Reader) (rebag.Options, error) {
	var o rebag.Options
	var err error
	if o.Keep, err = f.keep(); err != nil {
		return o, err
	}
	if o.Rename, err = f.renames(); err != nil {
		return o, err
	}
	if f.Around != nil {
		o.Start, o.End, err = f.around(bag)
	} else {
		o.Start, o.End, err = times(&f.Window, bag)
	}
	return o, err
}

// around returns the first and the last instant of what is around --around.
func (f *selectFlags) around(bag *bagfmt.Reader) (start, end bagfmt.Time, err error) {
	if f.Window != (config.Window{}) {
		return start, end, errors.New("--around stands in place of --start, --until and --duration")
	}
	if f.Margin < 0 {
		return start, end, fmt.Errorf("--margin %v must be 0 or positive", time.Duration(f.Margin))
	}
	at, err := f.Around.In(bagsOf(bag))
	if err != nil {
		return start, end, fmt.Errorf("--around: %w", err)
	}
	margin, from := time.Duration(f.Margin), max(at, 0) // neither sum overflows with a margin of centuries
	return bagfmt.Time{}.Add(from - margin), endTime(at + min(margin, math.MaxInt64-from)), nil
}

// unmatched names what the user asks for and bag has nothing of.
func (f *selectFlags) unmatched(bag *bagfmt.Reader) []string {
	var all []string
	for _, asked := range []struct {
		flag string
		list []string
		name func(*bagfmt.Connection) string
	}{
		{"--topic", f.Topic, topicOf},
		{"--exclude", f.Exclude, topicOf},
		{"--type", f.Type, func(c *bagfmt.Connection) string { return c.Header.Type() }},
		{"--callerid", f.CallerID, func(c *bagfmt.Connection) string { return c.Header.CallerID() }},
	} {
		for _, p := range asked.list {
			re, err := anyOf([]string{p}, f.Regex)
			if err == nil && !slices.ContainsFunc(bag.Connections(), func(c *bagfmt.Connection) bool { return re.MatchString(asked.name(c)) }) {
				all = append(all, asked.flag+" "+p)
			}
		}
	}
	for _, r := range f.Rename {
		rule, err := topicmatch.ParseRename(r, f.Regex)
		matches := func(c *bagfmt.Connection) bool {
			_, ok := rule.Apply(c.Topic, c.Header.Type())
			return ok
		}
		if err == nil && !slices.ContainsFunc(bag.Connections(), matches) {
			all = append(all, "--rename "+r)
		}
	}
	return all
}

// globLike returns warnings about regular expressions that are meant to be globs.
func (f *selectFlags) globLike() []string {
	var all []string
	for _, expr := range slices.Concat(f.Topic, f.Exclude, f.Type, f.CallerID) {
		if text := topicmatch.GlobLike("-e", expr); f.Regex && text != "" {
			all = append(all, text)
		}
	}
	return all
}

func topicOf(c *bagfmt.Connection) string { return c.Topic }

// keep returns the choice of connections, nil for all.
func (f *selectFlags) keep() (func(*bagfmt.Connection) bool, error) {
	var all [4]*regexp.Regexp
	for i, p := range [4]struct {
		flag string
		list []string
	}{{"--topic", f.Topic}, {"--exclude", f.Exclude}, {"--type", f.Type}, {"--callerid", f.CallerID}} {
		re, err := anyOf(p.list, f.Regex)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.flag, err)
		}
		all[i] = re
	}
	if all == [4]*regexp.Regexp{} {
		return nil, nil //nolint:nilnil // nil keeps all
	}
	topic, exclude, kind, caller := all[0], all[1], all[2], all[3]
	return func(c *bagfmt.Connection) bool {
		return (topic == nil || topic.MatchString(c.Topic)) &&
			(exclude == nil || !exclude.MatchString(c.Topic)) &&
			(kind == nil || kind.MatchString(c.Header.Type())) &&
			(caller == nil || caller.MatchString(c.Header.CallerID()))
	}, nil
}

// anyOf matches names that one of patterns matches wholly, nil if there are none.
func anyOf(patterns []string, isRegex bool) (*regexp.Regexp, error) {
	if len(patterns) == 0 {
		return nil, nil //nolint:nilnil // nil means that the user does not care
	}
	var parts []string
	for _, p := range patterns {
		if isRegex {
			if _, err := regexp.Compile(p); err != nil { // alone, so that the error shows what the user wrote
				return nil, err
			}
		} else {
			p = strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(p))
		}
		parts = append(parts, "(?:"+p+")")
	}
	return regexp.Compile("^(?s:" + strings.Join(parts, "|") + ")$")
}

// renames returns what renames connections, nil without --rename. The first rule that matches applies.
func (f *selectFlags) renames() (func(*bagfmt.Connection) string, error) {
	var rules []*topicmatch.Rename
	for _, text := range f.Rename {
		r, err := topicmatch.ParseRename(text, f.Regex)
		if err != nil {
			return nil, fmt.Errorf("--rename %w", err)
		}
		rules = append(rules, r)
	}
	if len(rules) == 0 {
		return nil, nil //nolint:nilnil // nil keeps all
	}
	return func(c *bagfmt.Connection) string {
		for _, r := range rules {
			if name, ok := r.Apply(c.Topic, c.Header.Type()); ok {
				return name
			}
		}
		return c.Topic
	}, nil
}

// checkNotEnd returns an error if an argument is meant to be the end of a selection.
func checkNotEnd(isRegex bool, arg string) error {
	if !isRegex {
		return nil
	}
	if err := config.CheckNotEnd(arg); err != nil {
		return fmt.Errorf("%s: %w", explain.Name(arg), err)
	}
	return nil
}

// times returns the first and the last instant that a window selects of a bag, which is nil for a
// pipe. The zero Time stands for the start and the end of the bag.
func times(w *config.Window, bag *bagfmt.Reader) (start, end bagfmt.Time, err error) {
	from, to, bounded, err := w.Times(bagsOf(bag))
	if err != nil {
		return start, end, err
	}
	if w.Start != (config.Moment{}) {
		start = bagfmt.Time{}.Add(from)
	}
	if bounded {
		end = endTime(to)
	}
	return start, end, nil
}

// endTime returns the Time of an end. The zero Time would mean that there is none.
func endTime(at time.Duration) bagfmt.Time { return bagfmt.Time{}.Add(max(at, 1)) }

// bagsOf returns what moments in a bag are relative to; nil for a pipe, which is nil.
func bagsOf(bag *bagfmt.Reader) *config.Bags {
	if bag == nil {
		return nil
	}
	return &config.Bags{
		First: bag.Start().Sub(bagfmt.Time{}), Last: bag.End().Sub(bagfmt.Time{}),
		Mark: func(text string) (time.Duration, error) {
			marks, _, err := bagnote.ReadMarks(bag, func(error) error { return nil }) // copying tells about damage
			if err != nil {
				return 0, err
			}
			found, err := bagnote.Lookup(marks, text)
			return found.Time.Sub(bagfmt.Time{}), err
		},
	}
}

// duration parses "10s", "1.5m" or, in seconds, "10".
func duration(s string) (time.Duration, error) {
	var d config.Seconds
	err := d.UnmarshalText([]byte(s))
	return time.Duration(d), err
}
