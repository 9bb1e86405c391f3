//go:build linux

// Command bench measures gorecord beside stock's rosbag record, or with -play goplay
// beside stock's rosbag play: both do the same in turn, and the ratio within one run
// counts, because these machines are noisy. Beside both, it does the least that any such
// program has to do, which is the limit. With -growth it measures ours with loads that
// grow. It prints each target with what was measured, and exits with 1 if one is missed.
// docs/performance.md says what the rows of recording mean.
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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/child"
	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/playing"
	"github.com/gorosbag/gorosbag/test/bench/recording"
	"github.com/gorosbag/gorosbag/test/bench/station"
)

func main() {
	if is, err := child.Run(os.Args[1:]); is {
		exit(err)
	}
	var b station.Bench
	play := flag.Bool("play", false, "measure playing, not recording")
	flag.IntVar(&b.Rounds, "n", 3, "rounds of each row; medians count")
	growth := flag.Bool("growth", false, "measure how time and memory grow with the load")
	only := flag.String("row", "", "rows whose name contains this")
	parent := flag.String("dir", "", "write the bags here (default: the temporary directory)")
	flag.StringVar(&b.Gorecord, "gorecord", "bin/gorecord", "our recorder")
	flag.StringVar(&b.Stock, "rosbag", "/usr/lib/rosbag/record", "stock's recorder")
	flag.StringVar(&b.S3, "s3", "bin/tools/versitygw", "an S3 server for uploads")
	flag.StringVar(&b.Goplay, "goplay", "bin/goplay", "our player")
	flag.StringVar(&b.Gobag, "gobag", "bin/gobag", "our tool")
	flag.StringVar(&b.Rosplay, "rosplay", "/usr/lib/rosbag/play", "stock's player")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	rows, how := recording.Rows, "gorecord --overflow block"
	switch {
	case *growth:
		rows, how = slices.Concat(recording.Growth, playing.Growth), "gorecord, goplay and gobag"
	case *play:
		rows, how = playing.Rows, "goplay"
	}
	err := run(ctx, &b, rows, how, *only, *parent)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run measures the rows whose names contain only.
func run(ctx context.Context, b *station.Bench, rows []station.Row, how, only, parent string) (err error) {
	if b.Rounds < 1 {
		return errors.New("-n must be at least 1")
	}
	for _, program := range []*string{&b.Gorecord, &b.Goplay, &b.Gobag, &b.S3} {
		if *program, err = filepath.Abs(*program); err != nil {
			return err
		}
	}
	if b.Dir, err = os.MkdirTemp(parent, "gorosbag-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.Dir) //nolint:errcheck // a leftover in the temporary directory
	for _, program := range []*string{&b.Stock, &b.Rosplay} {
		if _, err := os.Stat(*program); err != nil {
			fmt.Printf("%s is not installed: ratios to it are not measured\n", *program)
			*program = ""
		}
	}
	fmt.Printf("%d cores, %s/%s, loopback, %s, medians of %d rounds in turn\n\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, how, b.Rounds)
	start, t := time.Now(), figures.NewTable(os.Stdout)
	for _, r := range rows {
		if !strings.Contains(r.Name, only) {
			continue
		}
		t.Row(r.Name)
		if err := r.Measure(ctx, b, t); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	return t.End(time.Since(start))
}
