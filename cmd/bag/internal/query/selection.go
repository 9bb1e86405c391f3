// Package query knows what the user selects of bags: topics, types and publishers by patterns,
// times, and messages by an expression.
//
// It compares and translates, and keeps of a bag only what an expression has come to. Commands that select
// call it, and have the options that it declares; it writes nothing to users and opens no file.
package query

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/text/timearg"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Selection is what the user wants of a bag, and the options of commands that say so. The zero value selects
// everything.
type Selection struct {
	Topic    []string `short:"t" sep:"none" placeholder:"PATTERN" completion-predictor:"topic" help:"Only these topics, with or without their leading slash; * and ? stand for any characters, also for slashes, unlike those of goplay and gorecord. May be repeated, as the next three."`
	Exclude  []string `short:"x" sep:"none" placeholder:"PATTERN" completion-predictor:"topic" help:"Not these topics."`
	Type     []string `sep:"none" placeholder:"PATTERN" completion-predictor:"type" help:"Only these message types."`
	CallerID []string `name:"callerid" sep:"none" placeholder:"PATTERN" help:"Only what these nodes published."`
	Regex    bool     `short:"e" help:"Patterns are regular expressions for the whole name."`

	timearg.Window

	Around *timearg.Moment  `placeholder:"TIME" help:"Only messages around this time, written as for --start: mark='door opened'."`
	Margin *timearg.Seconds `placeholder:"TIME" help:"With --around: how long before and after (10s)."`

	Rename []string `sep:"none" placeholder:"/A=/B" help:"Give a topic another name, as goplay --rename: FROM may be a glob, in which * stops at a slash, or with -e a regular expression; FROM:TYPE=TO renames the messages of one type only; /A:=/B is the same. The first that matches applies. May be repeated."`
}

// Times returns the first and the last instant that are wanted of a bag. The zero Time stands for
// the start and the end of the bag. bag is nil if it is a pipe, whose times nobody knows beforehand.
func (s *Selection) Times(bag rosbag.Source) (start, end rosbag.Time, err error) {
	switch {
	case s.Around != nil:
		return s.around(bag)
	case s.Margin != nil:
		return start, end, errors.New("--margin is how far from --around, which is not given")
	}
	return WindowTimes(&s.Window, bag)
}

// defaultMargin is --margin if it is not given.
const defaultMargin = 10 * time.Second

// around returns the first and the last instant of what is around --around.
func (s *Selection) around(bag rosbag.Source) (start, end rosbag.Time, err error) {
	if s.Window != (timearg.Window{}) {
		return start, end, errors.New("--around stands in place of --start, --until and --duration")
	}
	margin := defaultMargin
	if s.Margin != nil {
		margin = time.Duration(*s.Margin)
	}
	if margin < 0 {
		return start, end, fmt.Errorf("--margin %v must be 0 or positive", margin)
	}
	at, err := s.Around.In(bagsOf(bag))
	if err != nil {
		return start, end, fmt.Errorf("--around: %w", err)
	}
	from := max(at, 0) // neither sum overflows with a margin of centuries
	return rosbag.Time{}.Add(from - margin), endTime(at + min(margin, math.MaxInt64-from)), nil
}

// Unmatched names what the user asks for and bag has nothing of.
func (s *Selection) Unmatched(bag rosbag.Source) []string {
	var all []string
	for _, asked := range []struct {
		flag string
		list []string
		is   func(*regexp.Regexp, *rosbag.Connection) bool
	}{
		{"--topic", s.Topic, isTopicOf},
		{"--exclude", s.Exclude, isTopicOf},
		{
			"--type", s.Type,
			func(re *regexp.Regexp, c *rosbag.Connection) bool { return re.MatchString(c.Header.Type()) },
		},
		{
			"--callerid", s.CallerID,
			func(re *regexp.Regexp,
				c *rosbag.Connection,
			) bool {
				return re.MatchString(c.Header.CallerID())
			},
		},
	} {
		for _, p := range asked.list {
			re, err := AnyOf([]string{p}, s.Regex)
			if err == nil &&
				!slices.ContainsFunc(bag.Connections(),
					func(c *rosbag.Connection) bool { return asked.is(re, c) }) {
				all = append(all, asked.flag+" "+p)
			}
		}
	}
	for _, r := range s.Rename {
		rule, err := topicmatch.ParseRename(r, s.Regex)
		matches := func(c *rosbag.Connection) bool {
			_, ok := rule.Apply(c.Topic, c.Header.Type())
			return ok
		}
		if err == nil && !slices.ContainsFunc(bag.Connections(), matches) {
			all = append(all, "--rename "+r)
		}
	}
	return all
}

// GlobLike returns warnings about regular expressions that are meant to be globs.
func (s *Selection) GlobLike() []string {
	var all []string
	for _, expr := range slices.Concat(s.Topic, s.Exclude, s.Type, s.CallerID) {
		if text := topicmatch.GlobLike("-e", expr); s.Regex && text != "" {
			all = append(all, text)
		}
	}
	return all
}

func isTopicOf(re *regexp.Regexp, c *rosbag.Connection) bool {
	return topicmatch.MatchTopic(c.Topic, re.MatchString)
}

// BothForms returns the topics that the selection names, and that are recorded with a leading slash and
// without.
func (s *Selection) BothForms(recorded []string) []string {
	re, err := AnyOf(slices.Concat(s.Topic, s.Exclude), s.Regex)
	if re == nil || err != nil { // Keep returns the error
		return nil
	}
	return slices.DeleteFunc(topicmatch.BothForms(recorded),
		func(topic string) bool { return !topicmatch.MatchTopic(topic, re.MatchString) })
}

// BothFormsError says of a bag what a topic means that is recorded with a leading slash and without.
func BothFormsError(topic string) error {
	return fmt.Errorf("has both %s and %s, which mean the same topic", wording.Shown(topic),
		wording.Shown(topic[1:]))
}

// Keep returns the choice of connections, nil for all.
func (s *Selection) Keep() (func(*rosbag.Connection) bool, error) {
	var all [4]*regexp.Regexp
	for i, p := range [4]struct {
		flag string
		list []string
	}{{"--topic", s.Topic}, {"--exclude", s.Exclude}, {"--type", s.Type}, {"--callerid", s.CallerID}} {
		re, err := AnyOf(p.list, s.Regex)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.flag, err)
		}
		all[i] = re
	}
	if all == [4]*regexp.Regexp{} {
		return nil, nil // nil keeps all
	}
	topic, exclude, kind, caller := all[0], all[1], all[2], all[3]
	return func(c *rosbag.Connection) bool {
		return (topic == nil || isTopicOf(topic, c)) &&
			(exclude == nil || !isTopicOf(exclude, c)) &&
			(kind == nil || kind.MatchString(c.Header.Type())) &&
			(caller == nil || caller.MatchString(c.Header.CallerID()))
	}, nil
}

// AnyOf matches names that one of patterns matches wholly, nil if there are none.
func AnyOf(patterns []string, isRegex bool) (*regexp.Regexp, error) {
	if len(patterns) == 0 {
		return nil, nil // nil means that the user does not care
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

// Renames returns what renames connections, nil without --rename. The first rule that matches applies.
func (s *Selection) Renames() (func(*rosbag.Connection) string, error) {
	var rules []*topicmatch.Rename
	for _, text := range s.Rename {
		r, err := topicmatch.ParseRename(text, s.Regex)
		if err != nil {
			return nil, fmt.Errorf("--rename %w", err)
		}
		rules = append(rules, r)
	}
	if len(rules) == 0 {
		return nil, nil // nil keeps all
	}
	return func(c *rosbag.Connection) string {
		for _, r := range rules {
			if name, ok := r.Apply(c.Topic, c.Header.Type()); ok {
				return name
			}
		}
		return c.Topic
	}, nil
}

// WindowTimes returns the first and the last instant that a window selects of a bag, which is nil for a
// pipe. The zero Time stands for the start and the end of the bag.
func WindowTimes(w *timearg.Window, bag rosbag.Source) (start, end rosbag.Time, err error) {
	from, to, bounded, err := w.Times(bagsOf(bag))
	if err != nil {
		return start, end, err
	}
	if w.Start != (timearg.Moment{}) {
		start = rosbag.Time{}.Add(from)
	}
	if bounded {
		end = endTime(to)
	}
	return start, end, nil
}

// endTime returns the Time of an end. The zero Time would mean that there is none.
func endTime(at time.Duration) rosbag.Time { return rosbag.Time{}.Add(max(at, 1)) }

// bagsOf returns what moments in a bag are relative to; nil for a pipe, which is nil.
func bagsOf(bag rosbag.Source) *timearg.Bags {
	if bag == nil {
		return nil
	}
	info := bag.Info()
	return &timearg.Bags{
		First: info.Start.Sub(rosbag.Time{}), Last: info.End.Sub(rosbag.Time{}),
		Mark: func(text string) (time.Duration, error) {
			marks, _, err := note.ReadMarks(bag, func(error) error { return nil }) // copying reports damage
			if err != nil {
				return 0, err
			}
			found, err := note.Lookup(marks, text)
			return found.Time.Sub(rosbag.Time{}), err
		},
	}
}

// Duration parses "10s", "1.5m" or, in seconds, "10".
func Duration(text string) (time.Duration, error) {
	var d timearg.Seconds
	err := d.UnmarshalText([]byte(text))
	return time.Duration(d), err
}

// ParseDate returns a time of an expression in seconds since 1970.
func ParseDate(text string) (float64, error) {
	var m timearg.Moment
	if err := m.UnmarshalText([]byte(text)); err != nil || m.Base != timearg.Since1970 {
		return 0, fmt.Errorf("date(%q): want a time such as 2006-01-02 15:04, 2006-01-02T15:04:05Z or @1396293889", text)
	}
	return m.At.Seconds(), nil
}
