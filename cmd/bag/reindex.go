package main

import (
	"context"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/replace"
	"github.com/gorosbag/gorosbag/internal/bags"
)

type reindexFlags struct {
	Force     bool     `short:"f" help:"Overwrite the backup, or with --output-dir the result of that name."`
	Quiet     bool     `short:"q" help:"Show no progress bar and no summary; what is lost is printed anyway."`
	OutputDir string   `name:"output-dir" placeholder:"DIR" completion-predictor:"dir" help:"Write to this directory and leave the input alone."`
	Bags      []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version, whole or not; directories stand for the bags in them."`
}

// Help is the long help.
func (reindexFlags) Help() string {
	return `Recovers valid bags from bags that were not closed, are truncated or damaged, or are of an
old version. It keeps every message that is complete in the file, also those after
damage and in the chunk that was open when the recorder crashed, but none that a checksum
proves wrong.

Each bag is rewritten in place: NAME.bag becomes NAME.orig.bag (NAME.bag.active becomes
NAME.bag.orig.active) and the new version gets its name when it is complete and on the
disk. As with rosbag reindex, you then rename NAME.bag.active to NAME.bag. A bag that has such
a backup already is skipped, and one that gorecord is recording is left alone. A whole bag is
indexed again. An MCAP file stays one, compressed as it was; attachments and metadata records,
which are named, are left out.

Exit code 3 says that messages were lost, or may have been; each place is printed.`
}

// Run reindexes bags.
func (f *reindexFlags) Run(ctx context.Context, out job.Output) error {
	j := job.New(ctx, out, job.Options{Force: f.Force, Quiet: f.Quiet})
	paths, err := bags.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	return replace.Reindex(j, paths, f.OutputDir)
}
