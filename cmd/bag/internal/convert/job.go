// Package convert converts between bags and recordings of ROS 2 as a command does: with a progress bar,
// an output that appears complete or not at all, and a report of what was changed and left out.
package convert

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/ros2/sink"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options are what both directions share.
type Options struct {
	Force  bool // replace an existing output
	DryRun bool // write nothing
	JSON   bool // print the report as one line of JSON
	Quiet  bool // print no report, but with JSON or DryRun
}

// Job is one conversion to ROS 2.
type Job struct {
	In      job.Inputs
	Out     string             // the directory
	Select  rewrite.Options    // but for those of job.Job.Copy
	Finish  func(uint64) error // may reject the result before it gets its name
	Storage sink.Options
	Options
}

// Run writes the recording and prints the report.
func (r Job) Run(j *job.Job) error {
	o := r.Storage
	o.Announced = announced(r.In, r.Select)
	dir, err := r.makeDirectory(j)
	if err != nil {
		return j.Failed(r.Out, err)
	}
	if dir != nil {
		defer dir.Abort()
	}
	name := filepath.Base(filepath.Clean(r.Out))
	out, err := sink.New(j.Ctx, dir, name, o)
	if err != nil {
		return err
	}
	sum, err := j.Copy(out, "Writing "+name, r.In, r.Select)
	if err == nil {
		err = r.Finish(sum.Messages + sum.Repeated)
	}
	if err == nil && dir != nil {
		err = dir.Commit()
	}
	if err != nil {
		return j.Failed(r.Out, err)
	}
	j.SayDropped(r.In)
	j.SayPlain(r.In)
	if err := r.report(j, out); err != nil {
		return err
	}
	return j.Done()
}

// makeDirectory makes the directory of the recording; nil for --dry-run.
func (r Job) makeDirectory(j *job.Job) (*files.Dir, error) {
	if r.Out == "-" {
		return nil, errors.New("a recording of ROS 2 is a directory; name one")
	}
	for _, in := range r.In { // which --force would delete
		if filepath.Clean(filepath.Dir(in.Name)) == filepath.Clean(r.Out) && in.Source != nil {
			return nil, errors.New("has an input in it; write to another directory")
		}
	}
	if r.DryRun {
		return nil, nil
	}
	var replaces func(string) bool
	if r.Force {
		replaces = ofRecording(r.Out)
	}
	j.RemoveLeftovers(filepath.Dir(filepath.Clean(r.Out)))
	return files.MakeDir(r.Out, replaces)
}

// ofRecording returns what tells the names of a recording's files from others. A metadata.yaml may
// list anything: only storage files are taken for its own.
func ofRecording(dir string) func(string) bool {
	names := []string{}
	if rec, err := rosbag2.ReadDirectory(os.DirFS(dir)); err == nil && rec.Metadata != nil {
		names = append(slices.DeleteFunc(rec.Files, func(name string) bool {
			return filepath.Ext(name) != ".mcap" && filepath.Ext(name) != ".db3"
		}), rosbag2.MetadataName)
	}
	return func(name string) bool { return slices.Contains(names, name) }
}

// announced returns the connections of inputs as the output has them.
func announced(in job.Inputs, o rewrite.Options) (all []sink.Announced) {
	for _, r := range in {
		if r.Source == nil {
			continue
		}
		counts := rosbag.Counts(r.Source)
		for _, c := range r.Source.Connections() {
			if counts[c] == 0 || o.Keep != nil && !o.Keep(c) {
				continue
			}
			out := c
			if o.Rename != nil {
				out = &rosbag.Connection{ID: c.ID, Topic: o.Rename(c), Header: c.Header}
			}
			all = append(all, sink.Announced{Conn: out, Count: counts[c]})
		}
	}
	return all
}

// report prints what became of the messages, and says what is missing.
func (r Job) report(j *job.Job, out *sink.Sink) error {
	topics := out.Report().Topics
	for _, t := range topics {
		if lost := t.Lost(); lost > 0 {
			j.Lossy = true
			j.Complain("%s: topic %s: %d of %s left out: %s", wording.Shown(r.Out), wording.Shown(t.Topic),
				lost, wording.Plural(t.In, "message"), t.Reason)
		}
		for _, w := range t.Warnings {
			j.Complain("%s: topic %s: %s", wording.Shown(r.Out), wording.Shown(t.Topic), w)
		}
	}
	return r.print(j,
		&report{
			Out: r.Out, DryRun: r.DryRun, Distro: string(r.Storage.Distro), Storage: r.Storage.Storage,
			Files: out.Files(), topics: topics,
		})
}

// Back prints what became of what was selected of a recording of ROS 2, and written for ROS 1.
func (o Options) Back(j *job.Job, out string, source *ros2.Source, sum rewrite.Summary,
	selected rewrite.Options,
) error {
	topics := source.Report(sum.Written, selected.Keep, selected.Rename).Topics
	return o.print(j, &report{Out: out, DryRun: o.DryRun, Files: 1, topics: topics})
}

// print prints a report as the user wants it.
func (o Options) print(j *job.Job, r *report) error {
	switch {
	case o.JSON:
		return r.json(j.Stdout)
	case o.DryRun, !o.Quiet:
		return r.text(j.Stdout)
	}
	return nil
}
