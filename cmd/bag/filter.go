package main

import (
	"context"
	"errors"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/files"
)

type filterFlags struct {
	jobFlags
	packFlags
	selectFlags
	latchedFlags
	emptyFlags
	Expr string `name:"expr" placeholder:"EXPR" help:"Only messages for which this is true; the same as the third argument."`
	In   string `arg:"" name:"in" completion-predictor:"bag" help:"Bag of any version; - is standard input."`
	Out  string `arg:"" name:"out" completion-predictor:"file" help:"File to write; MCAP if it ends in .mcap; - is standard output."`
	Last string `arg:"" name:"expr" optional:"" help:"Expression over topic, type, t and m, the message."`
}

// Help is the long help.
func (filterFlags) Help() string {
	return `What all options and the expression admit is copied. Patterns, times and the
expression go by the names in IN, before --rename. With --start, OUT begins with the
latest earlier message of each latching publisher, such as /map and /tf_static, at the
time of --start: who plays OUT gets what was valid then. The expression sees them with
that time, and decides on them, too. --no-latched leaves them out. Of standard input,
those count that come before the first message of OUT.

The expression may use topic, type, callerid, t (seconds), ns (nanoseconds) and the
fields of the message, and has ==, <, and, or, not, in, matches, contains, len, any, all:

  gobag filter in.bag out.bag 'topic == "/odom" and m.twist.twist.linear.x > 0.5'
  gobag filter in.bag out.bag -s 5 --until 10
  gobag filter in.bag out.bag --around mark='door opened' --margin 30s
  gobag filter in.bag out.bag 'topic startsWith "/cam" or any(m.transforms, #.child_frame_id == "base")'

A message without a field that is asked for is left out. m?.field ?? 0 gives 0 instead.
So is one for which the expression makes no sense, as a text compared with a number:
such are counted, and the exit code is 3. A field that no message has is an error, and
so is a topic that is not recorded and similar to one that is.`
}

// Run filters one bag.
func (f *filterFlags) Run(ctx context.Context, out job.Output) error {
	j := f.start(ctx, out)
	if err := checkNotEnd(f.Regex, f.In); err != nil {
		return err
	}
	if f.Expr != "" && f.Last != "" {
		return errors.New("the expression is given twice, as an argument and with --expr")
	}
	if err := files.NotInput(f.Out, []string{f.In}); err != nil {
		return j.Failed(f.Out, err)
	}
	var err error
	if j.Wanted, err = f.concerned(); err != nil {
		return err
	}
	in, err := j.OpenInputs([]string{f.In})
	if err != nil {
		return err
	}
	defer in.Close()
	o, finish, err := f.choose(j, in, f.Expr+f.Last)
	if err != nil {
		return err
	}
	o.Latched = !f.NoLatched
	mcap := wantsMCAP("", f.Out)
	_, err = j.Rewrite(job.Plan{
		Inputs: in, Out: f.Out, MCAP: mcap, Sink: f.packing().Sink(in, mcap), Options: o,
		Finish: func(selected uint64) error {
			if err := finish(selected); err != nil {
				return err
			}
			return f.refuse(selected, in[0])
		},
	})
	return err
}
