package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

type noteFlags struct {
	Quiet bool     `short:"q" help:"Do not print what was done."`
	Bag   string   `arg:"" name:"bag" completion-predictor:"bag" help:"A finished bag of version 2.0."`
	Notes []string `arg:"" name:"key=value" sep:"none" help:"What the bag is to say of itself: robot=r1 site='hall 3'."`
}

// Help is the long help.
func (noteFlags) Help() string {
	return `Adds notes to a bag as gorecord --note writes them: lines "KEY: VALUE" of a latched
std_msgs/String on /metadata, which rosbag_metadata and bag-database read. A key that the
bag has already gets the new value.

The bag is not rewritten: the notes and a new index go after it, and then the bag header
points at them. Whatever happens meanwhile, the bag is the old or the new one.`
}

// Run adds notes to a bag.
func (f *noteFlags) Run(ctx context.Context, out job.Output) error {
	j := job.New(ctx, out, job.Options{Quiet: f.Quiet})
	notes, err := note.ParseNotes(f.Notes)
	if err != nil {
		return err
	}
	if err := addNotes(ctx, f.Bag, notes); err != nil {
		return j.Failed(f.Bag, err)
	}
	for _, n := range notes {
		j.Say("%s: %s: %s", wording.Shown(f.Bag), n.Key, n.Value)
	}
	return nil
}

// addNotes adds notes to the bag at path.
func addNotes(ctx context.Context, path string, notes []note.Note) (err error) {
	if store.IsURL(path) {
		return errors.New("is not a local file; add notes before the upload")
	}
	look, _, err := bags.OpenBagFile(ctx, path) // its error says what is no file
	if err != nil {
		return err
	}
	if err := look.Close(); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the user names the file
	if err != nil {
		return wording.Explain(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !files.Lock(f) {
		return errors.New("is in use: it is being recorded, or another gobag note changes it")
	}
	st, err := f.Stat()
	if err != nil {
		return wording.Explain(err)
	}
	return explainUnfit(note.Add(f, st.Size(), notes, rosbag.TimeOf(time.Now())))
}

// explainUnfit explains why a bag cannot be added to, and what makes it one that can.
func explainUnfit(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rosbag.ErrUnindexed):
		return errors.New("is unindexed: it was not closed, or is still being recorded; run gobag reindex on it first")
	case errors.Is(err, rosbag.ErrEncrypted):
		return errors.New("is encrypted, and what would be added is not; add notes to what gobag decrypt makes of it")
	case errors.Is(err, rosbag.ErrCorrupt):
		return fmt.Errorf("%w; run gobag reindex on it first", wording.Explain(err))
	case errors.Is(err, rosbag.ErrVersion):
		return fmt.Errorf("%w; gobag convert makes one of version 2.0", wording.Explain(err))
	}
	return wording.Explain(err)
}
