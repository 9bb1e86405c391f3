// Package topicmatch matches the names of topics and types with globs and with
// regular expressions. A pattern always has to match the whole name.
package topicmatch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// Pattern matches names. It is safe for concurrent use.
type Pattern struct {
	Text string // as the user wrote it

	re   *regexp.Regexp
	used atomic.Bool
}

// Match reports whether the pattern matches name.
func (p *Pattern) Match(name string) bool {
	found := p.re.MatchString(name)
	if found {
		p.used.Store(true)
	}
	return found
}

// Set is a list of patterns.
type Set []*Pattern

// Match reports whether any of the patterns matches name. It tries all patterns, so that Unmatched
// is right.
func (s Set) Match(name string) bool {
	found := false
	for _, p := range s {
		if p.Match(name) {
			found = true
		}
	}
	return found
}

// Covers is Match for a name that may not exist: Unmatched ignores such a match.
func (s Set) Covers(name string) bool {
	return slices.ContainsFunc(s, func(p *Pattern) bool { return p.re.MatchString(name) })
}

// Unmatched returns the texts of the patterns that have matched nothing yet.
func (s Set) Unmatched() []string {
	var all []string
	for _, p := range s {
		if !p.used.Load() {
			all = append(all, p.Text)
		}
	}
	return all
}

// IsGlob reports whether text is a glob, and not a name.
func IsGlob(text string) bool { return strings.ContainsAny(text, "*?[") }

// Glob returns a pattern in which * stands for any text without a slash, ** for any text, ? for one
// character that is not a slash and [ab] for one of several characters.
func Glob(text string) *Pattern {
	expr, _ := translate(text)
	return &Pattern{Text: text, re: regexp.MustCompile(whole(expr))}
}

// Globs is a Set of globs.
func Globs(texts ...string) Set {
	var all Set
	for _, text := range texts {
		all = append(all, Glob(text))
	}
	return all
}

// Regexes is a Set of regular expressions in RE2 syntax. what names the kind of expression in
// errors.
func Regexes(what string, exprs ...string) (Set, error) {
	var all Set
	for _, e := range exprs {
		re, err := compile(what, e)
		if err != nil {
			return nil, err
		}
		all = append(all, &Pattern{Text: e, re: re})
	}
	return all, nil
}

// whole anchors an expression to the whole name, as stock does (boost::regex_match):
// "chatter" is not "/chatter".
func whole(expr string) string { return `^(?:` + expr + `)$` }

func compile(what, expr string) (*regexp.Regexp, error) {
	if err := CheckRegex(expr); err != nil {
		return nil, fmt.Errorf("%s %q: %w", what, expr, err)
	}
	return regexp.MustCompile(whole(expr)), nil
}

// translate converts a glob to a regular expression with a group for each wildcard, and to a
// template in which the groups replace the wildcards.
func translate(glob string) (expr, template string) {
	var re, to strings.Builder
	groups := 0
	group := func(s string) {
		groups++
		re.WriteString("(" + s + ")")
		fmt.Fprintf(&to, "${%d}", groups)
	}
	glob = string([]rune(glob)) // replaces invalid UTF-8
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		set := strings.IndexByte(rest, ']')
		switch {
		case strings.HasPrefix(rest, "**"):
			group(".*")
			i++
		case rest[0] == '*':
			group("[^/]*")
		case rest[0] == '?':
			group("[^/]")
		case rest[0] == '[' && set > 1:
			group(class(rest[1:set]))
			i += set
		default:
			re.WriteString(regexp.QuoteMeta(rest[:1]))
			to.WriteString(strings.ReplaceAll(rest[:1], "$", "$$"))
		}
	}
	return re.String(), to.String()
}

// class converts the text between brackets to a character class. An invalid range, such as
// 9-0, is three characters.
func class(set string) string {
	expr := "[" + regexp.QuoteMeta(set) + "]"
	if _, err := regexp.Compile(expr); err != nil {
		expr = "[" + strings.ReplaceAll(regexp.QuoteMeta(set), "-", `\-`) + "]"
	}
	return expr
}
