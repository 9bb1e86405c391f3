package config

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is a condition between options, or a condition on a value that depends on other options.
type Rule struct {
	Bad     bool     // whether the values break the rule
	Options []string // long names of the options of the rule; an error is about the first one that was set
	Value   string   // the wrong value of the first option; empty means the options as a whole
	Reason  string   // what is wrong, and what to write instead
}

// Each returns a rule for each value of the first of options that check refuses. Empty values are not
// checked.
func Each(options []string, check func(value string) error, values ...string) (rules []Rule) {
	for _, value := range values {
		if value == "" {
			continue
		}
		if err := check(value); err != nil {
			rules = append(rules, Rule{true, options, value, err.Error()})
		}
	}
	return rules
}

// broken returns the error of a rule, or nil if the values obey it. It returns nil also if that is not
// certain: one of the rule's options has a wrong value; or there are errors in other options
// (othersWrong), and an option of the rule was not set, so that its name may have been misspelled.
func (r *Rule) broken(all []*option, othersWrong bool) error {
	if !r.Bad {
		return nil
	}
	var set []*option
	for _, name := range r.Options {
		o := all[slices.IndexFunc(all, func(o *option) bool { return o.Name == name })]
		switch {
		case o.bad, othersWrong && r.Value == "" && o.origin.place == "":
			return nil
		case o.origin.place != "":
			set = append(set, o)
		}
	}
	if r.Value != "" && len(set) > 0 {
		return set[0].errorAbout(r.Value, r.Reason)
	}
	return unmet(set, r.Reason, all)
}

// errorAbout returns an error about a value.
func (o *option) errorAbout(value, reason string) error {
	for _, v := range o.values {
		if v.text == value {
			return o.errorAt(v.line, value, reason)
		}
	}
	return o.errorAt(0, value, reason)
}

// unmet returns an error about the options of a rule that were set. An option that was set elsewhere than
// on the command line is named first: the user does not see it there. On the command line, a reason that
// names the option stands alone.
func unmet(set []*option, reason string, all []*option) error {
	if len(set) == 0 {
		return &placedError{0, fileName(all) + reason}
	}
	at := max(0, slices.IndexFunc(set, func(o *option) bool { return o.origin.place != onCommandLine }))
	first := set[at]
	others := make([]string, 0, len(set))
	for i, o := range set {
		if i != at && first.origin.place != onCommandLine {
			others = append(others, fmt.Sprintf("%s: %s", o.key, o.origin))
		}
	}
	if len(others) > 0 {
		reason += " (" + strings.Join(others, "; ") + ")"
	}
	if first.origin.place == onCommandLine && first.namedIn(reason) {
		return &placedError{0, reason}
	}
	value := ""
	if first.Value.kind == one {
		value = first.values[0].text
	}
	return first.errorAt(0, value, reason)
}

// namedIn reports whether a reason names the option, as on a command line.
func (o *option) namedIn(reason string) bool {
	for _, rest := range strings.Split(reason, "--"+o.Name)[1:] {
		if strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz0123456789-") == rest {
			return true // this is the whole name
		}
	}
	return false
}

// fileName returns the name of the configuration file and a colon; empty without a file.
func fileName(all []*option) string {
	for _, o := range all {
		if o.key == "config" && len(o.values) > 0 {
			return o.values[0].text + ": "
		}
	}
	return ""
}
