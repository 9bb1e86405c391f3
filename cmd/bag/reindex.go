package main

import (
	"context"
	"errors"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/newfile"
	"github.com/gorosbag/gorosbag/internal/store"
)

type reindexFlags struct {
	Force     bool     `short:"f" help:"Overwrite the backup, or with --output-dir the result of that name."`
	Quiet     bool     `short:"q" help:"Show no progress bar and no summary; what is lost is told anyway."`
	OutputDir string   `name:"output-dir" placeholder:"DIR" completion-predictor:"dir" help:"Write to this directory and leave the input alone."`
	Bags      []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version, whole or not; directories stand for the bags in them."`
}

// Help is the long help.
func (reindexFlags) Help() string {
	return `Recovers valid bags from bags that were not closed, are truncated or damaged, or are of an
old version. It keeps every message that is complete in the file, also those behind
damage and in the chunk that was open when the recorder crashed, but none that a checksum
proves wrong.

Each bag is rewritten in place: NAME.bag becomes NAME.orig.bag (NAME.bag.active becomes
NAME.bag.orig.active) and the new version gets its name when it is complete and on the
disk. A bag that has such a backup already is skipped. A whole bag is indexed again.
An MCAP file stays one, compressed with zstd; attachments and metadata records, which are named,
are left out.

Exit code 3 says that messages were lost, or may have been; each place is told.`
}

// Run reindexes bags. A bag that cannot be done does not keep the others from being
// done.
func (f *reindexFlags) Run(ctx context.Context, out bagjob.Output) error {
	j := bagjob.New(ctx, out, bagjob.Options{Force: f.Force, Quiet: f.Quiet})
	paths, err := bagopen.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	places := newfile.NewPlaces(paths, f.OutputDir, f.Force)
	var failed error
	for _, path := range paths {
		if err := f.one(j, places, path); err != nil {
			failed = j.Failed(path, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(failed, j.Done())
}

func (f *reindexFlags) one(j *bagjob.Job, places *newfile.Places, path string) error {
	if store.IsURL(path) {
		return errors.New("is not a local file; gobag convert makes a sound one of it")
	}
	in, before, err := bagopen.OpenBagFile(path)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	unchanged := func() error {
		switch after, err := in.Stat(); {
		case err != nil:
			return explain.Error(err)
		case after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()):
			return errors.New("is still being written; reindex it when its recorder has ended")
		}
		return nil
	}
	if bagfmt.IsMCAP(in) {
		repack := repackFlags{Force: f.Force, Quiet: f.Quiet, OutputDir: f.OutputDir, ChunkSize: mcapChunkKiB}
		return repack.one(j, places, path, repackOptions{unindexed: true, unchanged: unchanged})
	}
	p, err := places.Place(path)
	if err != nil {
		return err
	}
	defer p.Abort()
	rep, err := j.Recover(in, before.Size(), p)
	if err != nil {
		return err
	}
	if err := unchanged(); err != nil {
		return err
	}
	if rep.Messages == 0 && rep.Lossy() {
		j.ReportRecovery(path, &rep)
		return errors.New("no message can be read; it is left as it was")
	}
	if err := p.Commit(); err != nil {
		return err
	}
	j.ReportRecovery(path, &rep)
	if p.Backup() != "" {
		j.Say("%s: %s; the original is %s", explain.Name(p.Path()), bagjob.Kept(&rep), explain.Name(p.Backup()))
	} else {
		j.Say("%s: %s", explain.Name(p.Path()), bagjob.Kept(&rep))
	}
	return nil
}

// mcapChunkKiB is the size of the chunks of a reindexed MCAP file, the default of compress.
const mcapChunkKiB = 768
