package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/newdir"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/rebag"
	"github.com/gorosbag/gorosbag/internal/ros2bag"
	"github.com/gorosbag/gorosbag/internal/ros2map"
	"github.com/gorosbag/gorosbag/internal/rosbag2"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ros2Flags are the options for recordings of ROS 2.
type ros2Flags struct {
	Distro       string   `enum:"foxy,galactic,humble,iron,jazzy,rolling" default:"jazzy" placeholder:"NAME" help:"With --to ros2: the release of ROS 2 whose types are written, foxy to rolling (${default})."`
	Storage      string   `enum:"mcap,sqlite3" default:"mcap" placeholder:"KIND" help:"With --to ros2: the storage, mcap or sqlite3 (${default})."`
	Size         string   `placeholder:"SIZE" help:"With --to ros2: a file ends when it has this size: 500M, 2G; without unit MiB. Default: one file."`
	RenameType   []string `name:"rename-type" sep:"none" placeholder:"A/B=C/msg/D" help:"With --to ros2: give a type with the same fields another name. May be repeated."`
	LatchedApart bool     `name:"latched-apart" help:"With --to ros2: leave /tf_static of several nodes as it is. Otherwise each of its messages gets all transforms so far, because ros2 bag play repeats ten messages at most."`
	Definitions  string   `placeholder:"DIR" completion-predictor:"file" help:"Of a recording of ROS 2 without definitions: a directory with the .msg files of its types, such as a workspace. The types of ROS need none."`
	DryRun       bool     `name:"dry-run" help:"With --to ros2: write nothing, only report."`
	JSON         bool     `name:"json" help:"Of a conversion to ROS 2 or from it: print the report as one line of JSON."`
}

// check returns an error for options that do not fit the format.
func (f *convertFlags) check(ros2 bool) error {
	switch {
	case !ros2 && (f.Size != "" || len(f.RenameType) > 0 || f.LatchedApart || f.DryRun):
		return errors.New("--size, --rename-type, --latched-apart and --dry-run are for --to ros2")
	case ros2 && f.Storage == rosbag2.SQLite && f.Compression != "" && f.Compression != "none":
		return errors.New("the storage sqlite3 has no chunks to compress; take the storage mcap")
	case ros2 && f.Compression == "bz2":
		return errors.New("MCAP cannot be compressed with bz2; take zstd, lz4 or none")
	}
	return nil
}

// definitions translates --definitions.
func (f *convertFlags) definitions() (func(string) (string, bool), error) {
	if f.Definitions == "" {
		return nil, nil
	}
	find, err := ros2bag.Definitions(os.DirFS(f.Definitions))
	if err != nil {
		return nil, fmt.Errorf("--definitions %s: %w", f.Definitions, explain.Error(err))
	}
	return find, nil
}

// sinkOptions translates the flags.
func (f *convertFlags) sinkOptions() (o ros2bag.Options, err error) {
	o = ros2bag.Options{
		Distro: ros2map.Distro(f.Distro), Storage: f.Storage, Compression: f.Compression, Workers: bagjob.Workers(), Apart: f.LatchedApart,
	}
	if o.ChunkBytes, err = f.chunkBytes(); err != nil {
		return o, err
	}
	if f.Size != "" {
		if o.FileBytes, err = size(f.Size); err != nil || o.FileBytes <= 0 {
			return o, fmt.Errorf("--size %s: write for example 500M or 2G", f.Size)
		}
	}
	for _, rule := range f.RenameType {
		from, to, ok := strings.Cut(rule, "=")
		if !ok {
			return o, fmt.Errorf("--rename-type %s: write A/B=C/msg/D", rule)
		}
		if o.Rename == nil {
			o.Rename = map[string]string{}
		}
		o.Rename[from] = to
	}
	return o, nil
}

// ros2Job is one conversion to ROS 2.
type ros2Job struct {
	in      bagjob.Inputs
	out     string
	options rebag.Options
	finish  func(uint64) error
}

// toROS2 writes the recording and the report.
func (f *convertFlags) toROS2(j *bagjob.Job, r ros2Job) error {
	o, err := f.sinkOptions()
	if err != nil {
		return err
	}
	o.Announced = announced(r.in, r.options)
	dir, err := f.makeDirectory(r)
	if err != nil {
		return j.Failed(r.out, err)
	}
	if dir != nil {
		defer dir.Abort()
	}
	name := filepath.Base(filepath.Clean(r.out))
	sink, err := ros2bag.NewSink(j.Ctx, dir, name, o)
	if err != nil {
		return err
	}
	sum, err := j.Copy(ros2Sink{sink}, "Writing "+name, r.in, r.options)
	if err == nil {
		err = r.finish(sum.Messages + sum.Repeated)
	}
	if err == nil && dir != nil {
		err = dir.Commit()
	}
	if err != nil {
		return j.Failed(r.out, err)
	}
	j.SayPlain(r.in)
	if err := f.report(j, r.out, sink); err != nil {
		return err
	}
	return j.Done()
}

// ros2Sink makes rebag write into a recording of ROS 2.
type ros2Sink struct{ *ros2bag.Sink }

// Write implements rebag.Sink.
func (s ros2Sink) Write(m *rebag.Message) error { return s.Sink.Write(m.Conn, m.Time, m.Data) }

// makeDirectory makes the directory of the recording; nil for --dry-run.
func (f *convertFlags) makeDirectory(r ros2Job) (*newdir.Dir, error) {
	if r.out == "-" {
		return nil, errors.New("a recording of ROS 2 is a directory; name one")
	}
	for _, in := range r.in { // which --force would delete
		if filepath.Clean(filepath.Dir(in.Name)) == filepath.Clean(r.out) && in.Source != nil {
			return nil, errors.New("has an input in it; write to another directory")
		}
	}
	if f.DryRun {
		return nil, nil
	}
	var replaces func(string) bool
	if f.Force {
		replaces = ofRecording(r.out)
	}
	return newdir.Make(r.out, replaces)
}

// ofRecording returns what tells the names of a recording's files from others.
func ofRecording(dir string) func(string) bool {
	var names []string // without metadata.yaml, no file is one of a recording
	if rec, err := rosbag2.ReadDirectory(os.DirFS(dir)); err == nil && rec.Metadata != nil {
		names = slices.Concat(rec.Files, []string{rosbag2.MetadataName})
	}
	return func(name string) bool { return slices.Contains(names, name) }
}

// announced returns the connections of inputs as the output has them.
func announced(in bagjob.Inputs, o rebag.Options) (all []ros2bag.Announced) {
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
			all = append(all, ros2bag.Announced{Conn: out, Count: counts[c]})
		}
	}
	return all
}

// report prints what became of the messages, and says what is missing.
func (f *convertFlags) report(j *bagjob.Job, out string, sink *ros2bag.Sink) error {
	r := sink.Report()
	for _, t := range r.Topics {
		if lost := t.Lost(); lost > 0 {
			j.SetLossy()
			j.Complain("%s: topic %s: %d of %s left out: %s", explain.Name(out), explain.Name(t.Topic), lost, plural.Of(t.In, "message"), t.Reason)
		}
		for _, w := range t.Warnings {
			j.Complain("%s: topic %s: %s", explain.Name(out), explain.Name(t.Topic), w)
		}
	}
	return f.write(j, &ros2Report{Out: out, DryRun: f.DryRun, Distro: f.Distro, Storage: f.Storage, Files: sink.Files(), topics: r.Topics})
}
