package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gorosbag/gorosbag/internal/bagcheck"
	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/escape"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/store"
)

type checkFlags struct {
	readOnly

	Deep  bool     `help:"Decode every message by its definition."`
	JSON  bool     `name:"json" help:"One line of JSON for each bag."`
	Quiet bool     `short:"q" help:"Show no progress bar, no warnings and no line for sound bags."`
	Bags  []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version; directories, and URLs that end with a slash, stand for the bags in them."`
}

// Help is the long help.
func (checkFlags) Help() string {
	return `Reads bags wholly and reports each damage with its offset in the file and what to do about
it: records, lengths and positions; the index against the chunks; checksums; message
definitions against their md5sums. What is odd but harms nothing is a warning: missing
definitions, connections without messages, messages out of the order of time.

In JSON, offsets that are unknown are null.

Recordings of ROS 2 are read in the order of time, and without the offsets of messages. So
the last of these warnings is for bags and for MCAP files with messages of ROS 1 only.

This is not rosbag check, which asks whether the messages of a bag need migration to
newer definitions.

Exit code 3 says that there is damage, or a topic that cannot be read and was
therefore not checked.`
}

// Run checks bags. A bag that cannot be read does not keep the others from being
// checked.
func (f *checkFlags) Run(ctx context.Context, out bagjob.Output) error {
	j := bagjob.New(ctx, out, bagjob.Options{Quiet: f.Quiet})
	paths, err := bagopen.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	failed := j.Each(ctx, "", paths, func(j *bagjob.Job, n int) error { return f.one(j.Ctx, j, paths[n]) })
	if ctx.Err() != nil {
		return failed
	}
	return errors.Join(failed, j.Done())
}

func (f *checkFlags) one(parent context.Context, j *bagjob.Job, path string) error {
	if bagopen.IsROS2(parent, path) {
		return f.ros2(parent, j, path)
	}
	file, size, err := bagopen.OpenFile(parent, path)
	if err != nil {
		return err
	}
	defer file.Close()                                               //nolint:errcheck // only read from
	checking := bagjob.Bytes("Checking "+store.Redact(path), 2*size) // by its records, and by its index
	j.Bar.Set(checking, 0)
	defer j.Bar.Clear()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	report, err := bagcheck.Check(ctx, j.Meter(file, checking, cancel), size,
		bagcheck.Options{Deep: f.Deep, Workers: bagjob.Workers(), MaxChunkBytes: j.MaxChunk, UnwrapKey: bagopen.UnwrapKey(ctx)})
	j.Bar.Clear()
	switch {
	case parent.Err() != nil:
		return parent.Err()
	case ctx.Err() != nil:
		return explain.Error(context.Cause(ctx))
	case err != nil:
		return explain.Error(err)
	}
	return f.finish(j, path, report)
}

// ros2 checks a recording of ROS 2, by reading it as others do.
func (f *checkFlags) ros2(ctx context.Context, j *bagjob.Job, path string) error {
	r, err := bagopen.Open(ctx, path, bagopen.Options{MaxChunkBytes: j.MaxChunk, Through: func(from bagopen.File, size int64) io.ReaderAt {
		return j.Meter(from, bagjob.Bytes("Checking "+store.Redact(path), size), nil)
	}})
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read from
	report, err := bagcheck.CheckSource(ctx, r.Source, bagcheck.Options{Deep: f.Deep, Workers: bagjob.Workers(), MaxChunkBytes: j.MaxChunk})
	j.Bar.Clear()
	if err != nil {
		return explain.Error(err)
	}
	return f.finish(j, path, report)
}

// finish reports what was found, as text or as JSON.
func (f *checkFlags) finish(j *bagjob.Job, path string, report *bagcheck.Report) error {
	if !report.Sound {
		j.Lossy = true
	}
	if store.IsURL(path) {
		for i := range report.Damage {
			report.Damage[i].Advice = remoteAdvice.Replace(report.Damage[i].Advice)
		}
	}
	if f.JSON {
		return escape.WriteJSON(j.Stdout, struct {
			Path string `json:"path"`
			*bagcheck.Report
		}{path, report})
	}
	return f.print(j, path, report)
}

// remoteAdvice replaces the commands that take local files only.
var remoteAdvice = strings.NewReplacer("gobag reindex", "gobag convert to a local file", "gobag decrypt", "gobag convert to a local file")

// print writes what was found, one line each.
func (f *checkFlags) print(j *bagjob.Job, path string, r *bagcheck.Report) error {
	var failed error
	line := func(format string, args ...any) {
		if _, err := fmt.Fprintf(j.Stdout, "%s: "+format+"\n", append([]any{explain.Name(path)}, args...)...); err != nil {
			failed = err
		}
	}
	for _, d := range r.Damage {
		if d.Offset == bagcheck.UnknownOffset {
			line("%s: %s", explain.Name(d.What), d.Advice)
		} else {
			line("offset %d: %s: %s", d.Offset, explain.Name(d.What), d.Advice)
		}
	}
	if r.More > 0 {
		line("damaged in %s", plural.Of(r.More, "more place"))
	}
	if !f.Quiet {
		for _, w := range r.Warnings {
			line("warning: %s: %s", explain.Name(w.Topic), explain.Name(w.What))
		}
	}
	switch {
	case !r.Sound:
		line("%s; %s can be read", verdict(r), plural.Of(r.Messages, "message"))
	case !f.Quiet:
		version := r.Version
		if r.Encrypted {
			version += ", encrypted"
		}
		line("sound: version %s, %s of %s", version, plural.Of(r.Messages, "message"), plural.Of(r.Connections, "connection"))
	}
	return failed
}

// verdict says what is wrong with a recording that is not sound.
func verdict(r *bagcheck.Report) string {
	leftOut := 0
	for _, d := range r.Damage {
		if d.LeftOut {
			leftOut++
		}
	}
	damaged := "damaged in " + plural.Of(len(r.Damage)+r.More-leftOut, "place")
	switch {
	case leftOut == 0:
		return damaged
	case leftOut == len(r.Damage)+r.More:
		return "not damaged; " + plural.Of(leftOut, "topic") + " left out and not checked"
	}
	return damaged + "; " + plural.Of(leftOut, "topic") + " left out and not checked"
}
