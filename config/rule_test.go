package config_test

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/text/units"
)

// An error of a rule on the command line names the option once: before the reason, unless the reason names it.
func TestRuleNamesOptionOnce(t *testing.T) {
	for reason, want := range map[string]string{
		"needs --split":                         `--max: "3": needs --split`,
		"--max needs --split":                   "--max needs --split",
		"give --split, too, or leave out --max": "give --split, too, or leave out --max",
		"--max=0 sets no limit":                 "--max=0 sets no limit",
		"use --max-age":                         `--max: "3": use --max-age`,
		"use --max-age, not --max":              "use --max-age, not --max",
	} {
		parse := func(args ...string) error {
			maximum, split := 0, false
			p := config.Program{Name: "gosample", Groups: []config.Group{{Title: "Without rules"}, {
				Options: []config.Option{
					{Name: "max", Arg: "N", Value: config.To(&maximum, units.Int)},
					{Name: "split", Value: config.Switch(&split)},
				},
				Rules: func() []config.Rule {
					return []config.Rule{{Bad: maximum > 0 && !split, Options: []string{"max", "split"}, Reason: reason}}
				},
			}}}
			_, err := p.Parse(args)
			return err
		}
		if err := parse("--max", "3"); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		t.Setenv("GOSAMPLE_MAX", "3")
		if err, want := parse(), `environment GOSAMPLE_MAX: max: "3": `+reason; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		t.Setenv("GOSAMPLE_MAX", "")
	}
}

// Each value that is not empty has its rule. An error about a value that no user gave names no place.
func TestEach(t *testing.T) {
	wrong := func(string) error { return errors.New("is wrong") }
	if rules := config.Each([]string{"max"}, wrong, "", "a", "", "b"); len(rules) != 2 || rules[0].Value != "a" || rules[1].Value != "b" {
		t.Errorf("%+v", rules)
	}
	text := ""
	p := config.Program{Name: "gosample", Groups: []config.Group{{
		Options: []config.Option{{Name: "max", Arg: "N", Default: "3", Value: config.Text(&text)}, {Name: "config", Arg: "FILE", Value: config.Text(new(string))}},
		Rules:   func() []config.Rule { return config.Each([]string{"max"}, wrong, text) },
	}}}
	if _, err := p.Parse(nil); err == nil || err.Error() != "is wrong" {
		t.Errorf("got %v", err)
	}
}
