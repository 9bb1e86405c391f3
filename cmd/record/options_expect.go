package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gorosbag/gorosbag/cmd/record/internal/expect"
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder"
)

// expectSettings are the rates that topics should have.
type expectSettings struct {
	topics  []string // TOPIC=HZ
	selects bool     // nothing else says what to record: the expected topics are recorded
}

func (e *expectSettings) group() config.Group {
	return config.Group{Title: "Watch the topics", Options: []config.Option{
		{Name: "expect", Arg: "TOPIC=HZ", Value: config.Texts(&e.topics, checkExpect), Help: `
			A topic, or each topic that a glob matches, should have at least this rate: 100, or 10..40 with the highest rate, or 0 if it only has
			to appear. If not, the topic is shown as a problem, and the exit code is 3. May be given several times. "gorecord expect BAG" prints
			what a good recording had. Without -a or topics, the expected topics are recorded, and no others.`},
	}}
}

func checkExpect(text string) error {
	_, err := finding.Expect(text)
	return err
}

// set sets what the recorder expects. Texts are checked before.
func (e *expectSettings) set(o *recorder.Options) {
	o.Expect = nil
	for _, text := range e.topics {
		if x, err := finding.Expect(text); err == nil {
			o.Expect = append(o.Expect, x)
		}
	}
	if e.selects = len(o.Expect) > 0 && selectsNothing(&o.Select) && !o.Select.Regex; e.selects {
		for i := range o.Expect {
			o.Select.Topics = append(o.Select.Topics, o.Expect[i].Topics)
		}
	}
}

// expectCommand is the first argument that makes gorecord print what a good recording had, as the
// expectations of a configuration file.
const expectCommand = "expect"

func expectHelp() program.Subcommand {
	return program.Subcommand{
		Name: expectCommand, Args: "BAG", Help: "Print what a good recording had, for the file of --config",
		Detail: `The rates of the regular topics, less a tenth, as the option expect in YAML: gorecord expect good.bag >> robot.yaml`,
	}
}

// runExpect prints the expectations of a bag and returns the exit code.
func runExpect(args []string) int {
	errs := &program.Errors{W: os.Stderr, Name: name}
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return errs.Fail(program.ExitUsage,
			errors.New("want: gorecord expect BAG, a good recording; to record the topic /expect write gorecord /expect"))
	}
	ctx, signals := program.Catch(context.Background())
	defer signals.Close()
	if err := expect.Write(ctx, args[0], os.Stdout); err != nil {
		return errs.Fail(program.ExitUsage,
			fmt.Errorf("%s: %w", wording.Shown(args[0]), wording.Explain(err)))
	}
	return program.ExitOK
}
