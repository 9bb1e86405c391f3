package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/catalog"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/cloud/upload"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

type uploadFlags struct {
	All    bool       `help:"Upload all finished bags of the directory, not only those that wait for this upload."`
	Rate   units.Size `placeholder:"SIZE" help:"Upload at most this many bytes a second, such as 5M."`
	Delete bool       `help:"Delete a bag here when the store has it and reports the same size and checksum."`
	Quiet  bool       `short:"q" help:"Show no progress bar, and print only what went wrong."`
	Dir    string     `arg:"" name:"dir" completion-predictor:"dir" help:"Directory of the bags."`
	URL    string     `arg:"" name:"url" help:"Where to: s3://BUCKET/PREFIX, gs://, azblob:// or file:///DIR. {host} and letters of strftime in it are filled in for each bag."`
}

// Help is the long help.
func (uploadFlags) Help() string {
	return `Uploads bags as gorecord --upload does, without recording: verified, resumed where they
were interrupted, and with their summaries for gobag find. Without --all those are uploaded
that a gorecord with --upload URL has left. What the store has already is not sent again.
A gorecord may record into the directory meanwhile.

A store that does not answer is asked again until it does; Ctrl-C ends that, and what is
left waits for the next start of gobag upload or gorecord. Bags that were not taken, because
the store has another object of their name, are named, and the exit code is 3.`
}

// Run uploads what waits in a directory.
func (f *uploadFlags) Run(ctx context.Context, out job.Output) (err error) {
	j := job.New(ctx, out, job.Options{Quiet: f.Quiet})
	to, err := upload.ParseDestination(f.URL)
	if err != nil {
		return err
	}
	if err := store.CheckDirectory(to.URL); err != nil {
		return err
	}
	bucket, err := store.OpenBucket(ctx, to.URL, int64(f.Rate))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	o := program.LogOptions{
		Log: options.Log{LogLevel: "info"}, Quiet: f.Quiet,
		Terminal: job.IsTerminal(j.Stderr),
	}
	if out.Errs.JSON {
		o.Format = "json"
	}
	log := program.NewLog(j.BesideBar(), o)
	queue, err := upload.New(upload.Options{
		Bucket: bucket, Dir: f.Dir, Log: log, Delete: f.Delete,
		Metadata: catalog.Metadata, Object: to.Object, Uploaded: catalog.NewWriter(bucket, log).Add,
	})
	if err != nil {
		return j.Failed(f.Dir, wording.Explain(err))
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	others, err := f.enqueue(queue)
	if err != nil {
		return j.Failed(f.Dir, wording.Explain(err))
	}
	if queue.Stats().Waiting == 0 {
		j.Say("%s: no bag waits for %s", wording.Shown(f.Dir), bucket)
		if others > 0 && !f.All {
			j.Say("gobag upload --all uploads the other %s, too", wording.Plural(uint64(others), "bag"))
		}
		return nil
	}
	return f.wait(ctx, queue, j.Bar)
}

// enqueue adds bags that wait for no upload, with --all, and returns how many there are.
func (f *uploadFlags) enqueue(queue *upload.Uploader) (others int, err error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return 0, err
	}
	waiting := upload.Pending(f.Dir)
	for _, e := range entries {
		if !bags.IsBag(e.Name()) || strings.HasSuffix(e.Name(), bags.ActiveSuffix) || waiting[e.Name()] ||
			!e.Type().IsRegular() {
			continue
		}
		st, err := e.Info()
		if err != nil {
			continue // deleted meanwhile
		}
		others++
		if f.All {
			queue.Add(filepath.Join(f.Dir, e.Name()), st.ModTime(), st.Size())
		}
	}
	return others, nil
}

// progressInterval is the time between two looks at the progress.
const progressInterval = 200 * time.Millisecond

// wait waits until all is uploaded, ctx is done or the store refuses to take anything.
func (f *uploadFlags) wait(ctx context.Context, queue *upload.Uploader, bar *job.Bar) error {
	queue.Finish()
	total := queue.Stats().WaitingBytes
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	// owner: wait; ends with running or when all is uploaded.
	go func() {
		defer close(done)
		queue.Run(running)
	}()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-ticker.C:
			s := queue.Stats()
			bar.Set(job.Bytes("Uploading", total), s.Sent)
			if s.Store.State == upload.Failing {
				cancel()
			}
		}
	}
	bar.Clear()
	s := queue.Stats()
	left := ""
	if s.Waiting > 0 {
		left = fmt.Sprintf("; %s of %s wait for the next start", wording.Plural(uint64(s.Waiting), "bag"),
			wording.Shown(f.Dir))
	}
	switch {
	case s.Store.State == upload.Failing:
		return fmt.Errorf("%s: %s%s", queue.Bucket, s.Store.Err, left)
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted%s", left)
	case s.Refused+s.Lost > 0:
		return job.ErrLossy // it is in the log
	}
	return nil
}
