//go:build linux

// Command convert measures what conversions of bags cost: gobag turns a bag into a recording of
// ROS 2, or copies its chunks, and dd copies and syncs the same bag, in turn; and gobag reads a bag and the same
// messages from other recordings, or from small chunks. Processor time counts, and ratios within one run. The command
// prints each target with what was measured, and exits with 1 if one is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
)

// row is one load of the table.
type row struct {
	name    string
	measure func(ctx context.Context, b *bench, t *figures.Table) error
}

// rows are the conversions to recordings of ROS 2, and the reading of MCAP, in the
// order of the table.
var rows = []row{
	{"images to MCAP", conversion{load: images, args: []string{"--compression=none"}}.measure},
	{"images to MCAP, zstd", conversion{load: images, zstd: true}.measure},
	{"images to sqlite3", conversion{load: images, args: []string{"--storage=sqlite3"}}.measure},
	{"clouds to MCAP", conversion{load: clouds, args: []string{"--compression=none"}}.measure},
	{"clouds to MCAP, zstd", conversion{load: clouds, zstd: true}.measure},
	{"clouds to sqlite3", conversion{load: clouds, args: []string{"--storage=sqlite3"}}.measure},
	{"tf to MCAP", conversion{load: transforms, args: []string{"--compression=none"}}.measure},
	{"tf to sqlite3", conversion{load: transforms, args: []string{"--storage=sqlite3"}}.measure},
	{"Imu to MCAP", conversion{load: imus, args: []string{"--compression=none"}}.measure},
	{"Imu to sqlite3", conversion{load: imus, args: []string{"--storage=sqlite3"}}.measure},
	{"check of images", reading{load: images, args: []string{"check", "--deep"}}.measure},
	{"check of Imu", reading{load: imus, args: []string{"check", "--deep"}}.measure},
	{"filter of images in lz4", rewriting{load: images, pack: "--compression=lz4", args: []string{"filter"}, out: true, most: 5}.measure},
	{"filter of images in MCAP, lz4", rewriting{load: images, pack: "--compression=lz4", mcap: true, args: []string{"filter"}, out: true, most: 5}.measure},
	{"filter of images in MCAP, zstd", rewriting{load: images, pack: "--compression=zstd", mcap: true, args: []string{"filter"}, out: true, most: 5}.measure},
	{"filter of chunks of one Imu", rewriting{load: imus, pack: "--chunksize=0", args: []string{"filter"}, out: true, small: true, most: 8}.measure},
	{"check of chunks of one Imu", rewriting{load: imus, pack: "--chunksize=0", args: []string{"check"}, small: true, most: 8}.measure},
	{"echo of Imu", reading{load: imus, args: []string{"echo", "-p"}, topic: true}.measure},
}

// bench is one run of the table.
type bench struct {
	rounds int
	gobag  string
	dir    string // for everything that is written
}

func main() {
	var b bench
	flag.IntVar(&b.rounds, "n", 3, "rounds of each row; medians count")
	only := flag.String("row", "", "rows whose name contains this")
	parent := flag.String("dir", "", "write the files here (default: the temporary directory)")
	flag.StringVar(&b.gobag, "gobag", "bin/gobag", "the gobag to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := b.run(ctx, *only, *parent)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, only, parent string) (err error) {
	if b.rounds < 1 {
		return errors.New("-n must be at least 1")
	}
	if b.gobag, err = filepath.Abs(b.gobag); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(parent, "gorosbag-convert-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // a leftover in the temporary directory
	fmt.Printf("%d cores, %s/%s, medians of %d rounds in turn\n\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, b.rounds)
	start, t := time.Now(), figures.NewTable(os.Stdout)
	for _, r := range rows {
		if !strings.Contains(r.name, only) {
			continue
		}
		t.Row(r.name)
		if err := r.measure(ctx, b, t); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return t.End(time.Since(start))
}
