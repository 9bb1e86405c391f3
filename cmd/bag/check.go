package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/check"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

type checkFlags struct {
	readOnly
	definitionsFlags

	Deep  bool     `help:"Decode every message by its definition."`
	JSON  bool     `name:"json" help:"One line of JSON for each bag."`
	Quiet bool     `short:"q" help:"Show no progress bar, no warnings and no line for sound bags."`
	Bags  []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version; directories, and URLs that end with a slash, stand for the bags in them."`
}

// Help is the long help.
func (checkFlags) Help() string {
	return `Reads bags wholly and reports each damage with its offset in the file and what to do about
it: records, lengths and positions; the index against the chunks; what the writer has
counted, topic by topic, in chunk infos, in the statistics of MCAP or in metadata.yaml;
checksums; message definitions against their md5sums. What is odd but harms nothing is a warning: missing
definitions, connections without messages, messages out of the order of time, more
messages than metadata.yaml counts.

In JSON, offsets that are unknown are null.

Recordings of ROS 2 are read in the order of time, and without the offsets of messages. So
the last of these warnings is for bags and for MCAP files with messages of ROS 1 only.

This is not rosbag check, which asks whether the messages of a bag need migration to
newer definitions.

Of a bag that is being recorded, what its end lacks is no damage.

Exit code 3 says that there is damage, or a topic that cannot be read and was
therefore not checked.`
}

// Run checks bags. A bag that cannot be read does not keep the others from being
// checked.
func (f *checkFlags) Run(ctx context.Context, out job.Output) error {
	j := job.New(ctx, out, job.Options{Quiet: f.Quiet})
	paths, err := bags.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	if j.Definitions, err = bags.Definitions(f.Definitions); err != nil {
		return err
	}
	failed := j.Each(ctx, "", paths, func(j *job.Job, n int) error { return f.one(j.Ctx, j, paths[n]) })
	if ctx.Err() != nil {
		return failed
	}
	return errors.Join(failed, j.Done())
}

func (f *checkFlags) one(parent context.Context, j *job.Job, path string) error {
	if bags.IsROS2(parent, path) {
		return f.ros2(parent, j, path)
	}
	file, size, err := bags.OpenFile(parent, path)
	if err != nil {
		return err
	}
	defer file.Close()                                            //nolint:errcheck // only read from
	checking := job.Bytes("Checking "+store.Redact(path), 2*size) // by its records, and by its index
	j.Bar.Set(checking, 0)
	defer j.Bar.Clear()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	growing := bags.Growth(file)
	report, err := check.Check(ctx, j.Meter(file, checking, cancel), size,
		check.Options{
			Deep: f.Deep, Workers: job.Workers(), MaxChunkBytes: j.MaxChunk,
			UnwrapKey: bags.UnwrapKey(ctx), Growing: growing,
		})
	j.Bar.Clear()
	switch {
	case parent.Err() != nil:
		return parent.Err()
	case ctx.Err() != nil:
		return wording.Explain(context.Cause(ctx))
	case err != nil:
		return wording.Explain(err)
	}
	return f.finish(j, path, report)
}

// ros2 checks a recording of ROS 2, by reading it as others do.
func (f *checkFlags) ros2(ctx context.Context, j *job.Job, path string) error {
	r, err := bags.Open(ctx, path,
		bags.Options{
			MaxChunkBytes: j.MaxChunk, Definitions: j.Definitions,
			Through: func(from bags.File, size int64) io.ReaderAt {
				return j.Meter(from, job.Bytes("Checking "+store.Redact(path), size), nil)
			},
		})
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read from
	o := check.Options{Deep: f.Deep, Workers: job.Workers(), MaxChunkBytes: j.MaxChunk}
	if bags.IsROS2Directory(ctx, path) {
		if o.Recording, err = rosbag2.ReadDirectory(os.DirFS(path)); err != nil {
			return wording.Explain(err)
		}
	}
	report, err := check.Source(ctx, r.Source, o)
	j.Bar.Clear()
	if err != nil {
		return wording.Explain(err)
	}
	return f.finish(j, path, report)
}

// finish reports what was found, as text or as JSON.
func (f *checkFlags) finish(j *job.Job, path string, report *check.Report) error {
	if !report.Sound {
		j.Lossy = true
	}
	if store.IsURL(path) {
		for i := range report.Damage {
			report.Damage[i].Advice = remoteAdvice.Replace(report.Damage[i].Advice)
		}
	}
	if f.JSON {
		return wording.WriteEscapedJSON(j.Stdout, struct {
			Path string `json:"path"`
			*check.Report
		}{path, report})
	}
	return f.print(j, path, report)
}

// remoteAdvice replaces the commands that take local files only.
var remoteAdvice = strings.NewReplacer("gobag reindex", "gobag convert to a local file", "gobag decrypt",
	"gobag convert to a local file")

// print writes what was found, one line each.
func (f *checkFlags) print(j *job.Job, path string, r *check.Report) error {
	var failed error
	line := func(format string, args ...any) {
		if _, err := fmt.Fprintf(j.Stdout, "%s: "+format+"\n",
			append([]any{wording.Shown(path)}, args...)...); err != nil {
			failed = err
		}
	}
	for _, d := range r.Damage {
		if d.Offset == check.UnknownOffset {
			line("%s: %s", wording.Shown(d.What), d.Advice)
		} else {
			line("offset %d: %s: %s", d.Offset, wording.Shown(d.What), d.Advice)
		}
	}
	if r.More > 0 {
		line("damaged in %s", wording.Plural(r.More, "more place"))
	}
	if !f.Quiet {
		for _, w := range r.Warnings {
			about := wording.Shown(w.Topic) + ": "
			if w.Topic == "" {
				about = ""
			}
			line("warning: %s%s", about, wording.Shown(w.What))
		}
	}
	switch {
	case r.Growing && r.Sound:
		line("is being recorded: %s of %s so far, none of them damaged",
			wording.Plural(r.Messages, "message"), wording.Plural(r.Connections, "connection"))
	case !r.Sound:
		line("%s; %s can be read", verdict(r), wording.Plural(r.Messages, "message"))
	case !f.Quiet:
		version := r.Version
		if r.Encrypted {
			version += ", encrypted"
		}
		line("sound: version %s, %s of %s", version, wording.Plural(r.Messages, "message"),
			wording.Plural(r.Connections, "connection"))
	}
	return failed
}

// verdict says what is wrong with a recording that is not sound.
func verdict(r *check.Report) string {
	leftOut := 0
	for _, d := range r.Damage {
		if d.LeftOut {
			leftOut++
		}
	}
	damaged := "damaged in " + wording.Plural(len(r.Damage)+r.More-leftOut, "place")
	switch {
	case leftOut == 0:
		return damaged
	case leftOut == len(r.Damage)+r.More:
		return "not damaged; " + wording.Plural(leftOut, "topic") + " left out and not checked"
	}
	return damaged + "; " + wording.Plural(leftOut, "topic") + " left out and not checked"
}
