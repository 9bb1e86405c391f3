package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/newfile"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/store"
	"github.com/gorosbag/gorosbag/rosbag"
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
	in, before, err := bagopen.OpenRegular(path)
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
	rep, err := recoverBag(j, in, before.Size(), p)
	if err != nil {
		return err
	}
	if err := unchanged(); err != nil {
		return err
	}
	if rep.Messages == 0 && rep.Lossy() {
		reportRecovery(j, path, &rep)
		return errors.New("no message can be read; it is left as it was")
	}
	if err := p.Commit(); err != nil {
		return err
	}
	reportRecovery(j, path, &rep)
	if p.Backup() != "" {
		j.Say("%s: %s; the original is %s", explain.Name(p.Path()), recoverySummary(&rep), explain.Name(p.Backup()))
	} else {
		j.Say("%s: %s", explain.Name(p.Path()), recoverySummary(&rep))
	}
	return nil
}

// mcapChunkKiB is the size of the chunks of a reindexed MCAP file, the default of compress.
const mcapChunkKiB = 768

// recoverBag writes what is good of a bag of size bytes to p.
func recoverBag(j *bagjob.Job, in *os.File, size int64, p *newfile.Placement) (recovery.Report, error) {
	w, err := bagfmt.NewWriter(p.File, bagfmt.WriterOptions{Workers: bagjob.Workers()})
	if err != nil {
		return recovery.Report{}, explain.Error(err)
	}
	reindexing, done := bagjob.Bytes("Reindexing "+p.Path(), size), int64(0)
	j.Bar.Begin(reindexing)
	defer j.Bar.Clear()
	rep, err := recovery.Recover(in, size, w, recovery.Options{MaxChunkBytes: j.MaxChunk, Workers: bagjob.Workers(), Progress: func(at int64) error {
		j.Bar.Add(at-done, reindexing)
		done = at
		return j.Ctx.Err()
	}})
	if e := w.Close(); err == nil { // also after an error: it ends what the writer has started
		err = e
	}
	switch {
	case errors.Is(err, rosbag.ErrEncrypted):
		return rep, errNoReindex
	case err != nil:
		return rep, explain.Error(err)
	}
	return rep, nil
}

// reportRecovery tells what was lost of a bag, and what was damaged without loss.
func reportRecovery(j *bagjob.Job, path string, r *recovery.Report) {
	for n, err := range r.Repairs {
		if n == bagjob.MaxTold {
			j.Say("%s: repaired in %s", explain.Name(path), plural.Of(len(r.Repairs)-n, "more place"))
			break
		}
		if !errors.Is(err, rosbag.ErrUnindexed) { // that is what one comes with
			j.Say("%s: repaired: %s", explain.Name(path), strings.TrimPrefix(explain.Error(err).Error(), "damaged: "))
		}
	}
	var told uint64
	for _, s := range r.Skipped {
		what := explain.Error(s.Err).Error()
		if s.Bytes > 0 {
			what += fmt.Sprintf("; bytes %d to %d are left out", s.Offset, s.Offset+s.Bytes-1)
		}
		if s.Trailing {
			j.Say("%s: %s", explain.Name(path), what)
			continue
		}
		if s.Dropped > 0 {
			told += s.Dropped
			what += fmt.Sprintf("; lost: %s", plural.Of(s.Dropped, "message"))
		}
		j.Lost(path, errors.New(what))
	}
	if r.Dropped > told {
		j.Lost(path, fmt.Errorf("the index knows of %s more that cannot be found", plural.Of(r.Dropped-told, "message")))
	}
	if r.Lossy() {
		j.SetLossy()
	}
}

// recoverySummary says what is in the new version of a bag.
func recoverySummary(r *recovery.Report) string {
	s := fmt.Sprintf("kept %s", plural.Of(r.Messages, "message"))
	switch {
	case r.Dropped > 0:
		s += fmt.Sprintf(", lost %d or more", r.Dropped)
	case r.Lossy():
		s += ", and how many are lost cannot be told"
	}
	if r.Repeated > 0 {
		s += fmt.Sprintf(", left out %s there twice", plural.Of(r.Repeated, "chunk"))
	}
	return s
}
