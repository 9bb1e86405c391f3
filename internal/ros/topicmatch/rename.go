package topicmatch

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Rename is a rule that renames topics.
// See ADR 0087.
type Rename struct {
	Text string // as the user wrote it

	re       *regexp.Regexp
	typ      *Pattern // types that the rule is restricted to; nil without a restriction
	template string
	used     bool
}

// typed matches FROM with a type after it. No topic has a colon in its name, and the text after a
// colon in a regular expression is no type.
var typed = lazyre.New(`^(.+):([\w*?]+/[\w*?]+)$`)

// cutRename splits FROM=TO, or FROM:=TO as ROS writes it.
func cutRename(text string) (from, to string, err error) {
	separator := "="
	if strings.Contains(text, ":=") {
		separator = ":="
	}
	from, to, _ = strings.Cut(text, separator)
	if from == "" || to == "" {
		return "", "", fmt.Errorf("%q: want FROM=TO, such as /a=/b", text)
	}
	return from, to, nil
}

// ParseRename parses FROM=TO or FROM:=TO. FROM is a name or a glob; the wildcards in TO are
// replaced by the text that the wildcards in FROM matched, in order. With isRegex FROM is a regular
// expression, and $1 or ${1} in TO is replaced by the text of a group. The leading slash of a topic
// may be left out. FROM:TYPE restricts the rule to connections of a type, which may be a
// glob.
func ParseRename(text string, isRegex bool) (*Rename, error) {
	from, to, err := cutRename(text)
	if err != nil {
		return nil, err
	}
	r := &Rename{Text: text}
	if m := typed().FindStringSubmatch(from); m != nil {
		from, r.typ = m[1], Glob(m[2])
	}
	if isRegex {
		if r.re, err = compile("expression", from); err != nil {
			return nil, err
		}
		r.template = to
		return r, nil
	}
	expr, _ := translate(strings.TrimPrefix(from, "/"))
	r.re = regexp.MustCompile(whole("/?" + expr))
	var groups string
	groups, r.template = translate(to)
	if have, want := r.re.NumSubexp(), regexp.MustCompile(groups).NumSubexp(); want > have {
		return nil, fmt.Errorf("%q: TO has %s, FROM has %d", text, wording.Plural(want, "wildcard"), have)
	}
	return r, nil
}

// Apply returns the new name of a topic with messages of a type, and whether the rule matches at
// all.
func (r *Rename) Apply(name, typ string) (string, bool) {
	if r.typ != nil && !r.typ.Match(typ) {
		return name, false
	}
	rooted := Rooted(name)
	for _, form := range []string{name, rooted, rooted[1:]} {
		if m := r.re.FindStringSubmatchIndex(form); m != nil {
			r.used = true
			return string(r.re.ExpandString(nil, r.template, form, m)), true
		}
	}
	return name, false
}

// Used reports whether the rule has matched a name.
func (r *Rename) Used() bool { return r.used }
