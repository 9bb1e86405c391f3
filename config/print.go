package config

import (
	"fmt"
	"io"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Setting is one option with its effective value.
type Setting struct {
	Key    string   // in a file
	Values []string // as they were given, or the default; none if there is no default
	Origin string   // "default", "flag", "environment GORECORD_X" or "robot.yaml:12"

	list, pairs bool
	literal     bool // a number or a boolean, not a text
	group       string
	secret      bool // Values has a placeholder instead
}

// redacted replaces a secret: more users can read the log than the configuration.
const redacted = "(not shown)"

func settingsOf(all []*option) []Setting {
	var settings []Setting
	for _, o := range all {
		if o.key == "" || o.key == "config" {
			continue
		}
		s := Setting{Key: o.key, Values: o.values, Origin: o.origin.String(), list: o.list(), pairs: o.pairs(), literal: o.literal()}
		if o.flag.Group != nil {
			s.group = strings.TrimSuffix(o.flag.Group.Title, ":")
		}
		switch {
		case o.origin.place != "" && o.flag.Tag.Has("secret"):
			s.Values, s.secret = []string{redacted}, true
		case o.origin.place != "":
			s.Values = withoutCredentials(s.Values)
		case o.flag.HasDefault:
			s.Values = []string{o.flag.Default}
		case o.flag.Target.Kind() == reflect.Bool:
			s.Values = []string{"false"}
		}
		settings = append(settings, s)
	}
	var groups []string // in the order of the help
	for i := range settings {
		if g := settings[i].group; !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(settings, func(a, b Setting) int {
		return slices.Index(groups, a.group) - slices.Index(groups, b.group)
	})
	return settings
}

// withoutCredentials removes credentials from URLs: user, password and, for http, the query.
// A password in the endpoint of a store is an error later on.
func withoutCredentials(values []string) []string {
	shown := slices.Clone(values)
	for i, v := range shown {
		u, err := url.Parse(v)
		if err != nil || u.Host == "" || u.Scheme == "" {
			continue
		}
		if u.User != nil {
			u.User = url.User("not-shown")
			shown[i] = u.String()
		}
		web := u.Scheme == "http" || u.Scheme == "https"
		if web && u.RawQuery != "" || strings.Contains(u.Query().Get("endpoint"), "@") {
			u.RawQuery = "not-shown"
			shown[i] = u.String()
		}
	}
	return shown
}

// literal reports whether a value is no text for YAML.
func (o *option) literal() bool {
	t := o.flag.Target.Type()
	if k := t.Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map {
		t = t.Elem()
	}
	return t.Kind() != reflect.String
}

// Default reports whether the option has its default value.
func (s *Setting) Default() bool { return s.Origin == "default" }

// PrintSettings writes the settings as YAML that --config reads, each with where it comes
// from. Defaults are comments: in a file they would be set. The lines of notes follow as comments.
func PrintSettings(w io.Writer, settings []Setting, notes []string) error {
	var b strings.Builder
	group := ""
	for i := range settings {
		s := &settings[i]
		if s.group != group {
			group = s.group
			fmt.Fprintf(&b, "\n# %s\n", group)
		}
		s.print(&b)
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(n, "\n", " "))
	}
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

func (s *Setting) print(b *strings.Builder) {
	origin := oneLine(s.Origin)
	switch {
	case len(s.Values) == 0 && s.Default():
		fmt.Fprintf(b, "# %s: not set\n", s.Key)
	case s.Default():
		fmt.Fprintf(b, "# %s: %s # default\n", s.Key, s.scalar(s.Values[0]))
	case s.secret:
		fmt.Fprintf(b, "# %s: %s # %s\n", s.Key, redacted, origin)
	case !s.list:
		fmt.Fprintf(b, "%s: %s # %s\n", s.Key, s.scalar(s.Values[0]), origin)
	case len(s.Values) == 0:
		fmt.Fprintf(b, "%s: [] # %s\n", s.Key, origin)
	default:
		fmt.Fprintf(b, "%s: # %s\n", s.Key, origin)
		pairs := s.mapping()
		for _, v := range s.Values {
			if key, value, _ := strings.Cut(v, "="); pairs {
				fmt.Fprintf(b, "  %s: %s\n", text(key), s.scalar(value))
			} else {
				fmt.Fprintf(b, "  - %s\n", s.scalar(v))
			}
		}
	}
}

// mapping reports whether the values can stand as keys and values: a mapping has each
// key once.
func (s *Setting) mapping() bool {
	seen := map[string]bool{}
	for _, v := range s.Values {
		key, _, ok := strings.Cut(v, "=")
		if !ok || seen[key] {
			return false
		}
		seen[key] = true
	}
	return s.pairs
}

// Texts and numbers that YAML reads as such without quotes.
var (
	plainText   = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_/.+-]*$`)
	plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?[smhkKMG]?$`)
	yamlWords   = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

func (s *Setting) scalar(v string) string {
	if s.literal && (plainNumber.MatchString(v) || v == "true" || v == "false") {
		return v
	}
	return text(v)
}

// text writes a text so that YAML reads the same.
func text(v string) string {
	if plainText.MatchString(v) && !slices.Contains(yamlWords, strings.ToLower(v)) {
		return v
	}
	return strconv.QuoteToASCII(v) // YAML has the same escapes
}

func oneLine(s string) string { return strings.Map(printable, s) }

func printable(r rune) rune {
	if strconv.IsPrint(r) {
		return r
	}
	return '?'
}
