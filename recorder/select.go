package recorder

import (
	"fmt"
	"regexp"
	"strings"
)

// Selection says which topics to record. The parts add up.
type Selection struct {
	Topics           []string // by name or as globs, or with Regex as expressions
	All              bool     // every topic that has a publisher, now or later
	Regex            bool     // Topics are regular expressions that match a whole name
	Exclude          []string // expressions: leave out topics that match as a whole; not applied to Topics by name
	Types            []string // every topic of these types, which may be globs
	Nodes            []string // every topic that these nodes subscribe to
	NodePublications []string // every topic that these nodes publish

	literal []string
	include []*pattern // of names
	types   []*pattern
	exclude []*pattern
}

// pattern matches whole names.
type pattern struct {
	text string // as the user wrote it
	re   *regexp.Regexp
	used bool // it has matched something; belongs to the goroutine that asks
}

// compile checks the selection and prepares it for use. namespace is where relative
// globs look, with a slash at its end.
func (s *Selection) compile(namespace string) error {
	var err error
	if s.exclude, err = compileAll("exclude regex", s.Exclude); err != nil {
		return err
	}
	s.types = globs(s.Types)
	if s.Regex {
		if s.include, err = compileAll("topic regex", s.Topics); err != nil {
			return err
		}
	} else {
		var wild []string
		for _, t := range s.Topics {
			if strings.ContainsAny(t, "*?[") {
				wild = append(wild, t)
			} else {
				s.literal = append(s.literal, t)
			}
		}
		s.include = globs(wild)
		for _, g := range s.include {
			if !strings.HasPrefix(g.text, "/") {
				g.re = globs([]string{namespace + g.text})[0].re
			}
		}
	}
	if len(s.literal) == 0 && !s.polls() {
		return fmt.Errorf("recorder: no topics specified")
	}
	return nil
}

// globs makes patterns in which * stands for any text without a slash, ** for any
// text, ? for one character that is not a slash and [ab] for one of several.
func globs(texts []string) []*pattern {
	var all []*pattern
	for _, text := range texts {
		var re strings.Builder
		for i := 0; i < len(text); i++ {
			rest := text[i:]
			set := strings.IndexByte(rest, ']')
			switch {
			case strings.HasPrefix(rest, "**"):
				re.WriteString(".*")
				i++
			case rest[0] == '*':
				re.WriteString("[^/]*")
			case rest[0] == '?':
				re.WriteString("[^/]")
			case rest[0] == '[' && set > 1:
				re.WriteString("[" + regexp.QuoteMeta(rest[1:set]) + "]")
				i += set
			default:
				re.WriteString(regexp.QuoteMeta(rest[:1]))
			}
		}
		all = append(all, &pattern{text: text, re: regexp.MustCompile("^(?:" + re.String() + ")$")})
	}
	return all
}

func compileAll(what string, exprs []string) ([]*pattern, error) {
	var all []*pattern
	for _, e := range exprs {
		if _, err := regexp.Compile(e); err != nil { // alone, so that the error shows what the user wrote
			hint := ""
			if strings.Contains(e, "(?!") || strings.Contains(e, "(?<!") {
				hint = "; to leave topics out use -x"
			}
			return nil, fmt.Errorf("recorder: %s %q: %w%s", what, e, err, hint)
		}
		// stock uses a full match (boost::regex_match), so "chatter" is not "/chatter"
		re, err := regexp.Compile(`^(?:` + e + `)$`)
		if err != nil {
			return nil, fmt.Errorf("recorder: %s %q: %w", what, e, err) // such as an open \Q
		}
		all = append(all, &pattern{text: e, re: re})
	}
	return all, nil
}

// lists reports whether the selection needs the master's list of topics.
func (s *Selection) lists() bool { return s.All || len(s.include) > 0 || len(s.types) > 0 }

// polls reports whether the selection needs to ask again and again.
func (s *Selection) polls() bool {
	return s.lists() || len(s.Nodes) > 0 || len(s.NodePublications) > 0
}

// selects decides about a topic that the master lists.
func (s *Selection) selects(topic, typ string) bool {
	if matches(s.exclude, topic) {
		return false
	}
	byName, byType := matches(s.include, topic), matches(s.types, typ)
	return s.All || byName || byType
}

// unmatched returns the expressions, globs and types that no topic has matched.
func (s *Selection) unmatched() []string {
	var all []string
	for _, list := range [][]*pattern{s.include, s.types} {
		for _, p := range list {
			if !p.used {
				all = append(all, p.text)
			}
		}
	}
	return all
}

// matches reports whether any of the patterns matches, and notes each that does.
func matches(patterns []*pattern, name string) bool {
	found := false
	for _, p := range patterns {
		if p.re.MatchString(name) {
			p.used, found = true, true
		}
	}
	return found
}
