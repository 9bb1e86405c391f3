package config_test

import (
	"testing"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/units"
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
			p := config.Program{Name: "gosample", Groups: []config.Group{{
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
