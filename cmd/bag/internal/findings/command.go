// Package findings is the command gobag gaps: it prints what was wrong with the topics of bags.
package findings

import (
	"bufio"
	"context"
	"errors"
	"path/filepath"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/gaps"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// Flags are the flags of the command.
type Flags struct {
	Index bool     `name:"index-only" help:"Read the index only, and no messages: silent and slow topics, not stamps."`
	JSON  bool     `name:"json" help:"One line of JSON for each bag."`
	Quiet bool     `short:"q" help:"Show no progress bar."`
	Bags  []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version; directories, and URLs that end with a slash, stand for the bags in them."`
}

// Help is the long help.
func (Flags) Help() string {
	return `Says where topics that came regularly were silent or slow, and whose stamps were off:
what gorecord says while it records, of any bag. Times are from the start of the bag.
Of one topic the five longest are told, and the others are counted: --json has all.

  silent      no message for five usual periods, and for 2 s at least
  slow        about half of the usual rate or less, over 10 s or ten periods
  stamps off  header.stamp is more than 1 s behind or 50 ms ahead of the time of the
              message, by the median of 10 s; or it stands still or runs backward

Latched topics, topics with fewer than ten messages and irregular ones are never a
finding. The exit code is 0 also if something was found; 3 says that the bag is damaged.`
}

// Run prints what was wrong with the topics of each bag.
func (f *Flags) Run(ctx context.Context, out job.Output) error {
	j := job.New(ctx, out, job.Options{Quiet: f.Quiet})
	paths, err := bags.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	failed := j.Each(ctx, "", paths, func(j *job.Job, n int) error {
		report, err := findGaps(j, paths[n], !f.Index)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(j.Stdout)
		write := report.WriteText
		if f.JSON {
			write = report.WriteJSON
		}
		if err := write(w, store.Redact(paths[n])); err != nil {
			return err
		}
		return w.Flush()
	})
	if ctx.Err() != nil {
		return failed
	}
	return errors.Join(failed, j.Done())
}

// findGaps reads a bag; with stamps all of its messages.
func findGaps(j *job.Job, path string, stamps bool) (report *gaps.Report, err error) {
	b, err := j.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	j.Bar.Set(job.Bytes("Reading "+filepath.Base(store.Redact(path)), b.Size), 0)
	defer j.Bar.Clear()
	return gaps.Find(b.Source,
		gaps.Options{
			Stamps: stamps, Workers: job.Workers(),
			Damaged: func(err error) error { return j.Damaged(path, err) },
		})
}
