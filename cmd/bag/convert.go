package main

import (
	"context"

	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/newfile"
)

type convertFlags struct {
	jobFlags
	packFlags
	To  string `enum:",bag,mcap" default:"" placeholder:"FORMAT" help:"Write bag (version 2.0) or mcap. Default: mcap if OUT ends in .mcap, else bag."`
	In  string `arg:"" name:"in" completion-predictor:"bag" help:"Bag of any version, or MCAP file; - is standard input."`
	Out string `arg:"" name:"out" completion-predictor:"file" help:"File to write; - is standard output."`
}

// Help is the long help.
func (convertFlags) Help() string {
	return `Bags of any version, and MCAP files with messages of ROS 1, become bags of version 2.0, or
MCAP of the profile ros1, with the same payloads, times, callerids and latching. What else MCAP
files have, attachments and metadata records, is named and left out. Bags of versions 0, 1.0 and ROSLOG 1.1 count
time from the start of the recording; their times stay so.

A bag on standard output has no finished header, because that comes first and is
known last: run gobag reindex on it. MCAP has no such limit.`
}

// Run converts one bag.
func (f *convertFlags) Run(ctx context.Context, out bagjob.Output) error {
	j := f.start(ctx, out)
	if err := newfile.NotInput(f.Out, []string{f.In}); err != nil {
		return j.Failed(f.Out, err)
	}
	in, err := j.OpenInputs([]string{f.In})
	if err != nil {
		return err
	}
	defer in.Close()
	mcap := wantsMCAP(f.To, f.Out)
	return j.Rewrite(bagjob.Plan{Inputs: in, Out: f.Out, MCAP: mcap, Sink: f.sink(in, mcap)})
}
