package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/units"
)

// triggerSettings are the expressions of triggers.
type triggerSettings struct {
	snapshot, mark, pin, start, stop []string

	pause time.Duration // of a trigger that has fired
}

// group returns the options. hasSnapshots reports whether there are snapshots.
func (t *triggerSettings) group(hasSnapshots func() bool) config.Group {
	rules := func() []config.Rule {
		return []config.Rule{{
			Bad: len(t.snapshot) > 0 && !hasSnapshots(), Options: []string{"snapshot-on"},
			Reason: "--snapshot-on needs --snapshot or --snapshot-beside",
		}}
	}
	return config.Group{Title: "Triggers on messages", Rules: rules, Options: []config.Option{
		{Name: "snapshot-on", Arg: "EXPR", Value: config.Texts(&t.snapshot, checkExpression), Help: `
			Take a snapshot when this expression turns true, as with --snapshot or --snapshot-beside. Expressions are those of gobag filter, over
			topics that they name: topic == "/diagnostics" && any(m.status, {.level >= 2}). This option and the next ones may be given several times.`},
		{Name: "mark-on", Arg: "EXPR", Value: config.Texts(&t.mark, checkExpression), Help: `
			Write a mark into the bag when this expression turns true. All triggers write a mark when they fire.`},
		{Name: "pin-on", Arg: "EXPR", Value: config.Texts(&t.pin, checkExpression), Help: `
			Protect the bags of the last --pin from deletion when this expression turns true.`},
		{Name: "start-on", Arg: "EXPR", Value: config.Texts(&t.start, checkExpression), Help: `
			Begin to record when this expression turns true: begin as with --stopped, or with --paused.`},
		{Name: "stop-on", Arg: "EXPR", Value: config.Texts(&t.stop, checkExpression), Help: `
			End the recording when this expression turns true; with --start-on or --stopped end only the bag.`},
		{Name: "trigger-pause", Arg: "TIME", Default: "10s", Value: config.To(&t.pause, units.Duration), Help: `
			A trigger that has fired does not fire again for this time (default ${default}).`},
	}}
}

// checkExpression compiles the expression of a trigger.
func checkExpression(text string) error {
	_, err := expr.CompileTopics(text,
		func(name string) (string, error) { return name, options.CheckName(name) })
	var bad *expr.ExpressionError
	switch {
	case errors.As(err, &bad) && bad.Line > 0:
		return fmt.Errorf("want an expression as of gobag filter: at %d:%d: %s", bad.Line, bad.Column,
			bad.Reason)
	case bad != nil:
		return errors.New(bad.Reason)
	}
	return err
}
