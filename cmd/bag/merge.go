package main

import (
	"context"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/files"
)

type mergeFlags struct {
	jobFlags
	packFlags
	emptyFlags
	Output string   `short:"o" required:"" placeholder:"OUT" completion-predictor:"file" help:"File to write; MCAP if it ends in .mcap; - is standard output."`
	Bags   []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version, in any order; directories stand for the bags in them, - is standard input."`
}

// Help is the long help.
func (mergeFlags) Help() string {
	return `The messages of all bags go into one, by time; of equal times those of the bag that
was named first come first. Publishers with the same topic and the same connection
header become one connection; others stay apart.

Later files of a recording, and those of a split bag, begin with what was latched before,
repeated. Such a message is left out if another bag has it. Bags distinguish these messages
from others if they were closed well, and by this version or a later one.`
}

// Run merges bags.
func (f *mergeFlags) Run(ctx context.Context, out job.Output) error {
	j := f.start(ctx, out)
	paths, err := bags.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	if err := files.NotInput(f.Output, paths); err != nil {
		return j.Failed(f.Output, err)
	}
	in, err := j.OpenInputs(paths)
	if err != nil {
		return err
	}
	defer in.Close()
	mcap := wantsMCAP("", f.Output)
	_, err = j.Rewrite(job.Plan{
		Inputs: in, Out: f.Output, MCAP: mcap, Sink: f.packing().Sink(in, mcap),
		Finish: func(selected uint64) error { return f.refuse(selected, in...) },
	})
	return err
}
