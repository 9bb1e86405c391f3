package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/convert"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/ros2"
)

type convertFlags struct {
	jobFlags
	packFlags
	selectFlags
	latchedFlags
	emptyFlags
	To   string `enum:",bag,mcap,ros2" default:"" placeholder:"FORMAT" help:"Write bag (version 2.0), mcap (profile ros1), or ros2: a recording of ROS 2, which is a directory. Default: mcap if OUT ends in .mcap, else bag."`
	Expr string `name:"expr" placeholder:"EXPR" help:"Only messages for which this is true, as in gobag filter."`
	definitionsFlags
	ros2Flags
	Paths []string `arg:"" name:"path" completion-predictor:"bag" help:"IN, a recording of any format, and OUT; - is standard input and output. With --to ros2 several IN are merged."`
}

// Help is the long help.
func (convertFlags) Help() string {
	return `Bags of any version, and MCAP files with messages of ROS 1, become bags of version 2.0, or
MCAP of the profile ros1, with the same payloads, times, callerids and latching. What else
MCAP files have, attachments and metadata records, is named and left out. Bags of versions
0, 1.0 and ROSLOG 1.1 count time from the start of the recording; their times stay so.

  gobag convert run1.bag run1_ros2 --to ros2
  gobag convert a.bag b.bag run_ros2 --to ros2 --distro humble --storage sqlite3
  gobag convert run_ros2 run1.bag

A recording of ROS 2, which is a directory, a .db3 file or an .mcap file, becomes one of
ROS 1. With --to ros2, messages become those of ROS 2: types, definitions, payloads, quality of
service. A report says what was changed, what is lossy, and what was left out and why;
the exit code is 3 if a message was left out. --dry-run only reports.

A bag on standard output has no finished header, because that comes first and is
known last: run gobag reindex on it. MCAP has no such limit.`
}

// Run converts bags.
func (f *convertFlags) Run(ctx context.Context, out job.Output) error {
	j := f.start(ctx, out)
	if len(f.Paths) < 2 {
		return errors.New("name the recording to convert, and what to write")
	}
	paths, to := f.Paths[:len(f.Paths)-1], f.Paths[len(f.Paths)-1]
	if len(paths) > 1 && f.To != "ros2" {
		return errors.New("several recordings are converted with --to ros2 only; gobag merge makes one bag of several")
	}
	err := f.check(f.To == "ros2")
	if err != nil {
		return err
	}
	if f.To == "" && strings.HasSuffix(to, ".db3") {
		return fmt.Errorf("%s: a bag has another name; for a database of ROS 2 give a directory and --to ros2 --storage sqlite3", to)
	}
	if err := files.NotInput(to, paths); err != nil {
		return j.Failed(to, err)
	}
	if j.Definitions, err = bags.Definitions(f.Definitions); err != nil {
		return err
	}
	if j.Wanted, err = f.concerned(); err != nil {
		return err
	}
	in, err := j.OpenInputs(paths)
	if err != nil {
		return err
	}
	defer in.Close()
	o, chosen, err := f.choose(j, in, f.Expr)
	if err != nil {
		return err
	}
	o.Latched = !f.NoLatched
	finish := func(selected uint64) error {
		if err := chosen(selected); err != nil {
			return err
		}
		return f.refuse(selected, in...)
	}
	if f.To == "ros2" {
		storage, err := f.sinkOptions()
		if err != nil {
			return err
		}
		return convert.Job{
			In: in, Out: to, Select: o, Finish: finish, Storage: storage,
			Options: f.jobOptions(),
		}.Run(j)
	}
	source, back := in[0].Source.(*ros2.Source)
	if f.DryRun && !back {
		return errors.New("--dry-run is for conversions to ROS 2 and from it")
	}
	mcap := wantsMCAP(f.To, to)
	sum, err := j.Rewrite(job.Plan{
		Inputs: in, Out: to, MCAP: mcap, DryRun: f.DryRun,
		Sink: f.packing().Sink(in, mcap), Options: o, Finish: finish,
	})
	if back && (to != "-" || f.DryRun) && (err == nil || errors.Is(err, job.ErrLossy)) {
		err = errors.Join(err, f.jobOptions().Back(j, to, source, sum, o))
	}
	return err
}
