package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bagnote"
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
	Start    string   `short:"s" placeholder:"TIME" help:"Leave out messages before: seconds since 1970 as in info, 2026-11-21T10:00:00Z, +10s after the start, -5s before the end, or mark=TEXT."`
	End      string   `short:"u" placeholder:"TIME" help:"Leave out messages after; as --start."`
	Around   string   `placeholder:"TIME" help:"Only messages around this time, written as for --start: mark='door opened'."`
	Margin   string   `default:"10s" placeholder:"TIME" help:"With --around: how long before and after (${default})."`
	Rename   []string `sep:"none" placeholder:"/A=/B" help:"Give a topic another name; /A:=/B is the same. May be repeated."`
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
	if o.Rename, err = renames(f.Rename); err != nil {
		return o, err
	}
	if f.Around != "" {
		return o, f.around(&o, bag)
	}
	if o.Start, err = bagTime("--start", f.Start, bag); err != nil {
		return o, err
	}
	if o.End, err = bagTime("--end", f.End, bag); err != nil {
		return o, err
	}
	switch {
	case f.End == "":
	case o.End.IsZero(): // would mean no end
		return o, fmt.Errorf("--end %s: is time 0; nothing is recorded before it", f.End)
	case o.End.Before(o.Start):
		return o, fmt.Errorf("--end %s is before --start %s", o.End, o.Start)
	}
	return o, nil
}

// around sets the times of o to those around --around.
func (f *selectFlags) around(o *rebag.Options, bag *bagfmt.Reader) error {
	if f.Start != "" || f.End != "" {
		return errors.New("--around stands in place of --start and --end")
	}
	at, err := bagTime("--around", f.Around, bag)
	if err != nil {
		return err
	}
	margin, err := duration(f.Margin)
	if err != nil || margin < 0 {
		return fmt.Errorf("--margin %q is not a time such as 10s", f.Margin)
	}
	o.End = at.Add(margin)
	if since := at.Sub(bagfmt.Time{}); margin < since {
		o.Start = at.Add(-margin)
	}
	if o.End.IsZero() {
		return fmt.Errorf("--around %s: is time 0; nothing is recorded before it", f.Around)
	}
	return nil
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
		from, _, err := topicmatch.CutRename(r)
		if err == nil && !slices.ContainsFunc(bag.Connections(), func(c *bagfmt.Connection) bool { return c.Topic == from }) {
			all = append(all, "--rename "+r)
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

// renames parses /a:=/b, as on the command line of a node, and /a=/b, as for goplay.
func renames(list []string) (map[string]string, error) {
	m := make(map[string]string, len(list))
	for _, r := range list {
		from, to, err := topicmatch.CutRename(r)
		if err != nil {
			return nil, fmt.Errorf("--rename %w", err)
		}
		m[from] = to
	}
	return m, nil
}

// bagTime parses a time for a flag. Empty is the zero Time.
func bagTime(flag, s string, bag *bagfmt.Reader) (bagfmt.Time, error) {
	if s == "" {
		return bagfmt.Time{}, nil
	}
	var m config.Moment
	if err := m.UnmarshalText([]byte(s)); err != nil {
		return bagfmt.Time{}, fmt.Errorf("%s: %w", flag, err)
	}
	err := m.ResolveMark(func(text string) (time.Duration, error) {
		if bag == nil {
			return 0, errors.New("the marks of a pipe are not known beforehand; give an absolute time")
		}
		marks, _, err := bagnote.ReadMarks(bag, func(error) error { return nil }) // copying tells about damage
		if err != nil {
			return 0, err
		}
		found, err := bagnote.Lookup(marks, text)
		return found.Time.Sub(bagfmt.Time{}), err
	})
	if err != nil {
		return bagfmt.Time{}, fmt.Errorf("%s: %w", flag, err)
	}
	var start, end time.Duration
	if m.Relative(config.Since1970) {
		if bag == nil {
			return bagfmt.Time{}, fmt.Errorf("%s %s: where a pipe starts and ends is not known; give an absolute time", flag, s)
		}
		start, end = bag.Start().Sub(bagfmt.Time{}), bag.End().Sub(bagfmt.Time{})
	}
	return bagfmt.Time{}.Add(m.In(start, end, config.Since1970)), nil
}

// duration parses "10s", "1.5m" or, in seconds, "10".
func duration(s string) (time.Duration, error) {
	var d config.Seconds
	err := d.UnmarshalText([]byte(s))
	return time.Duration(d), err
}
