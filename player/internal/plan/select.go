package plan

import (
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// selection decides which connections are played, and under which name.
type selection struct {
	topics  *names
	exclude *names
	types   topicmatch.Set
	deny    *names
	wait    *names
	rename  []*topicmatch.Rename
	prefix  string
}

// newSelection compiles the patterns of the options.
func newSelection(o *Options) (*selection, error) {
	s := &selection{types: topicmatch.Globs(o.Types...), prefix: o.Prefix}
	for _, list := range []struct {
		names **names
		what  string
		texts []string
	}{
		{&s.topics, "Topics", o.Topics},
		{&s.exclude, "Exclude", o.Exclude},
		{&s.deny, "Deny", o.Deny},
		{&s.wait, "WaitFor", o.WaitFor},
	} {
		var err error
		if *list.names, err = newNames(list.texts, o.Regex); err != nil {
			return nil, &control.OptionError{Option: list.what, Reason: err.Error()}
		}
	}
	for _, text := range o.Rename {
		r, err := topicmatch.ParseRename(text, o.Regex)
		if err != nil {
			return nil, &control.OptionError{Option: "Rename", Reason: err.Error()}
		}
		s.rename = append(s.rename, r)
	}
	return s, nil
}

// selects reports whether a connection is played. It evaluates every list, so that Unmatched
// finds the patterns without a match.
func (s *selection) selects(c *rosbag.Connection) bool {
	byName, byType := s.topics.match(c.Topic), s.types.Match(c.Header.Type())
	if s.exclude.match(c.Topic) {
		return false
	}
	return byName || byType || !s.asksFor()
}

// asksFor reports whether topics or types to be played are named. Otherwise all are.
func (s *selection) asksFor() bool { return len(s.topics.set)+len(s.types) > 0 }

// name returns the new name of a connection's topic, before resolution.
func (s *selection) name(c *rosbag.Connection) string {
	_, name := s.rule(c)
	return s.prefix + name
}

// rule returns the rule that renames a connection, nil if there is none, and the name that it gets.
func (s *selection) rule(c *rosbag.Connection) (r *topicmatch.Rename, name string) {
	for _, r := range s.rename {
		if name, ok := r.Apply(c.Topic, c.Header.Type()); ok {
			return r, name
		}
	}
	return nil, c.Topic
}

// report logs the patterns that match nothing in the bags: mostly misspelled names. Deny and
// WaitFor need not match.
func (s *selection) report(log *zap.Logger, recorded []string) {
	for _, part := range []struct {
		option  string
		nothing []string
	}{
		{"topics", s.topics.set.Unmatched()},
		{"type", s.types.Unmatched()},
		{"exclude", s.exclude.set.Unmatched()},
	} {
		if len(part.nothing) > 0 {
			fields := []zap.Field{
				loglimit.Each(), zap.String("option", part.option),
				zap.Strings("values", part.nothing),
			}
			if near := nearTopics(part.nothing, recorded); part.option != "type" && len(near) > 0 {
				fields = append(fields, zap.Strings("nearest", near))
			}
			log.Warn("nothing in the bags fits", fields...)
		}
	}
	both := slices.DeleteFunc(topicmatch.BothForms(recorded),
		func(topic string) bool { return !s.topics.means(topic) && !s.exclude.means(topic) })
	if len(both) > 0 {
		log.Warn("topics are recorded with a leading slash and without; both are meant", loglimit.Each(),
			zap.Strings("topics", both))
	}
	for _, r := range s.rename {
		if !r.Used() {
			log.Warn("nothing in the bags fits", loglimit.Each(), zap.String("option", "rename"),
				zap.Strings("values", []string{r.Text}))
		}
	}
}

// NotInBagsError says that the bags have none of the topics and types that were asked for. It
// matches ErrNoMessages.
type NotInBagsError struct {
	Topics, Types []string // as asked for
	Nearest       []string // topics of the bags with similar names
}

// Error implements error.
func (e *NotInBagsError) Error() string {
	var asked []string
	if len(e.Topics) > 0 {
		asked = append(asked, "--topics "+strings.Join(Abbreviate(e.Topics), " "))
	}
	if len(e.Types) > 0 {
		asked = append(asked, "--type "+strings.Join(Abbreviate(e.Types), " "))
	}
	text := strings.Join(asked, ", ") + ": nothing in the bags fits"
	if len(e.Nearest) > 0 {
		return text + ": did you mean " + strings.Join(e.Nearest, ", ") + "?"
	}
	return text + "; gobag info lists what is in them"
}

// Is reports whether target is ErrNoMessages.
func (e *NotInBagsError) Is(target error) bool { return target == ErrNoMessages }

// nothing returns an error if no topic and no type that was asked for is in the bags.
func (s *selection) nothing(recorded []string) error {
	topics, types := s.topics.set.Unmatched(), s.types.Unmatched()
	if len(topics)+len(types) == 0 || len(topics) < len(s.topics.set) || len(types) < len(s.types) {
		return nil
	}
	return &NotInBagsError{topics, types, nearTopics(topics, recorded)}
}

// nearTopics returns the recorded topics that are similar to any of names.
func nearTopics(names, recorded []string) (near []string) {
	for _, name := range names {
		for _, topic := range wording.NearestTopics(name, recorded) {
			if !slices.Contains(near, topic) {
				near = append(near, topic)
			}
		}
	}
	return near
}

// names matches names of topics. The leading slash is optional on either side.
type names struct{ set topicmatch.Set }

func newNames(texts []string, isRegex bool) (*names, error) {
	if isRegex {
		set, err := topicmatch.Regexes("expression", texts...)
		return &names{set}, err
	}
	return &names{topicmatch.Globs(texts...)}, nil
}

func (n *names) match(name string) bool { return topicmatch.MatchTopic(name, n.set.Match) }

// means reports whether a pattern is about a topic, without counting it as used.
func (n *names) means(topic string) bool { return topicmatch.MatchTopic(topic, n.set.Covers) }

// DenyError says which topics Options.Deny forbids to play.
type DenyError struct {
	Topics []string // as published, and as recorded if that is another name
}

// Error implements error.
func (e *DenyError) Error() string {
	return fmt.Sprintf("not to be played: %s. Leave them out with -x: --deny forbids them",
		strings.Join(e.Topics, ", "))
}

// Denied returns an error if the plan has a topic that must not be played. It checks the
// published name: --prefix exists to play such a topic under another name.
func (p *Plan) Denied() error {
	var e DenyError
	for r := range p.routes() {
		if r.Reason != "" {
			continue
		}
		text := string(r.Topic.Name)
		if topicmatch.Rooted(r.Conn.Topic) != topicmatch.Rooted(text) {
			text += " (recorded as " + r.Conn.Topic + ")"
		}
		if p.Denies(r.Topic.Name) && !slices.Contains(e.Topics, text) {
			e.Topics = append(e.Topics, text)
		}
	}
	if len(e.Topics) == 0 {
		return nil
	}
	return &e
}

// applyRouteOptions applies the options that list recorded names to the routes. Names are
// compared as in stock, but the leading slash is optional on either side.
func (p *Plan) applyRouteOptions(o *Options) {
	names := func(list []string, recorded string) bool {
		return slices.ContainsFunc(list,
			func(name string) bool { return topicmatch.Rooted(name) == topicmatch.Rooted(recorded) })
	}
	for r := range p.routes() {
		r.Pauses = names(o.PauseTopics, r.Conn.Topic)
		r.Clocked = len(o.ClockTopics) == 0 || names(o.ClockTopics, r.Conn.Topic)
		p.Pauses = p.Pauses || r.Pauses
		if r.Topic != nil {
			r.Topic.Pauses = r.Topic.Pauses || r.Pauses
		}
	}
}

// Awaited returns the topics that need a subscriber before play begins; with all, every topic. It is
// an error to wait for a topic that is not played.
func (p *Plan) Awaited(all bool) ([]*Topic, error) {
	var wanted []*Topic
	for _, t := range p.Topics {
		if p.selection.wait.match(string(t.Name)) || all {
			wanted = append(wanted, t)
		}
	}
	if never := p.selection.wait.set.Unmatched(); len(never) > 0 {
		return nil, &control.OptionError{
			Option: "WaitFor",
			Reason: "names what is not played: " + strings.Join(never, ", "),
		}
	}
	return wanted, nil
}

// Abbreviate shortens a list for a log line.
func Abbreviate(list []string) []string {
	const most = 8
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
}

// Denies reports whether the options forbid to publish under a name.
func (p *Plan) Denies(name topicname.InGraph) bool { return p.selection.deny.match(string(name)) }
