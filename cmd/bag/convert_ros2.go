package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/convert"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/ros2/sink"
	"github.com/gorosbag/gorosbag/internal/text/units"
)

// ros2Flags are the options for recordings of ROS 2.
type ros2Flags struct {
	Distro       string   `enum:"foxy,galactic,humble,iron,jazzy,kilted,rolling" default:"jazzy" placeholder:"NAME" help:"With --to ros2: the release of ROS 2 whose types are written, foxy to rolling (${default})."`
	Storage      string   `enum:"mcap,sqlite3" default:"mcap" placeholder:"KIND" help:"With --to ros2: the storage, mcap or sqlite3 (${default})."`
	Size         string   `placeholder:"SIZE" help:"With --to ros2: a file ends when it has this size: 500M, 2G; without unit MiB. Default: one file."`
	RenameType   []string `name:"rename-type" sep:"none" placeholder:"A/B=C/msg/D" help:"With --to ros2: give a type with the same fields another name. May be repeated."`
	LatchedApart bool     `name:"latched-apart" help:"With --to ros2: leave /tf_static of several nodes as it is. Otherwise each of its messages gets all transforms so far, because ros2 bag play repeats ten messages at most."`
	DryRun       bool     `name:"dry-run" help:"Of a conversion to ROS 2 or from it: write nothing, only report."`
	JSON         bool     `name:"json" help:"Of a conversion to ROS 2 or from it: print the report as one line of JSON."`
}

// check returns an error for options that do not fit the format.
func (f *convertFlags) check(ros2 bool) error {
	switch {
	case !ros2 && (f.Size != "" || len(f.RenameType) > 0 || f.LatchedApart):
		return errors.New("--size, --rename-type and --latched-apart are for --to ros2")
	case ros2 && f.Storage == rosbag2.SQLite && f.Compression != "" && f.Compression != "none":
		return errors.New("the storage sqlite3 has no chunks to compress; take the storage mcap")
	case ros2 && f.Compression == "bz2":
		return errors.New("MCAP cannot be compressed with bz2; take zstd, lz4 or none")
	}
	return nil
}

// sinkOptions translates the flags.
func (f *convertFlags) sinkOptions() (o sink.Options, err error) {
	o = sink.Options{
		Distro: mapping.Distro(f.Distro), Storage: f.Storage, Compression: f.Compression,
		Workers: job.Workers(), Apart: f.LatchedApart,
	}
	if o.ChunkBytes, err = f.packing().ChunkBytes(); err != nil {
		return o, err
	}
	if f.Size != "" {
		if o.FileBytes, err = units.FileBytes(f.Size); err != nil {
			return o, fmt.Errorf("--size %s: %w", f.Size, err)
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

// jobOptions translates the flags of the output and of the report.
func (f *convertFlags) jobOptions() convert.Options {
	return convert.Options{Force: f.Force, DryRun: f.DryRun, JSON: f.JSON, Quiet: f.Quiet}
}
