package config

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/units"
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

// List returns all options with their effective values, in the order of the help.
func (s *Settings) List() []Setting {
	onUnless := s.onUnless
	var settings []Setting
	for _, o := range s.options {
		if o.key == "" || o.key == "config" {
			continue
		}
		s := Setting{
			Key: o.key, Values: o.texts(), Origin: o.origin.String(), list: o.list(),
			pairs: o.pairs(), literal: o.Value.literal, group: o.group,
		}
		switch {
		case o.origin.place != "" && o.Secret:
			s.Values, s.secret = []string{redacted}, true
		case o.origin.place != "":
			s.Values = withoutCredentials(s.Values)
		case o.Default != "":
			s.Values = []string{o.Default}
		case o.Value.kind == toggle:
			s.Values = []string{strconv.FormatBool(onUnless(o.Name))}
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

// onUnless reports whether a switch that was not set is on nevertheless: a switch --x that has an
// opposite, --no-x, is on unless that is set.
func (s *Settings) onUnless(name string) bool {
	i := slices.IndexFunc(s.options, func(o *option) bool { return o.Name == "no-"+name })
	if i < 0 {
		return false
	}
	texts := s.options[i].texts()
	if len(texts) == 0 {
		return true
	}
	off, err := units.Switch(texts[len(texts)-1])
	return err == nil && !off
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
	plainText   = lazyre.New(`^[A-Za-z_/][A-Za-z0-9_/.+-]*$`)
	plainNumber = lazyre.New(`^-?[0-9]+(\.[0-9]+)?[smhkKMG]?$`)
	yamlWords   = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

func (s *Setting) scalar(v string) string {
	if s.literal && (plainNumber().MatchString(v) || v == "true" || v == "false") {
		return v
	}
	return text(v)
}

// text writes a text so that YAML reads the same.
func text(v string) string {
	if plainText().MatchString(v) && !slices.Contains(yamlWords, strings.ToLower(v)) {
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
