//go:build linux

// Command bench measures gorecord beside stock's rosbag record, or with -play goplay
// beside stock's rosbag play: both do the same in turn, and the ratio within one run
// counts, because these machines are noisy. Beside both, it does the least that any such
// program has to do, which is the limit. It prints each target with what was
// measured, and exits with 1 if one is missed. docs/performance.md says what the rows
// of recording mean.
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

	"github.com/gorosbag/gorosbag/test/bench/child"
	"github.com/gorosbag/gorosbag/test/bench/figures"
)

func main() {
	if len(os.Args) >= 5 && os.Args[1] == copyCommand {
		exit(child.Copy(os.Args[2], os.Args[3] == copySynced, os.Args[4:]))
	}
	if len(os.Args) == 6 && os.Args[1] == tickCommand {
		exit(tick(os.Args[2], os.Args[3:]))
	}
	if len(os.Args) == 4 && os.Args[1] == sendCommand {
		exit(sendFile(os.Args[2], os.Args[3]))
	}
	if len(os.Args) == 5 && os.Args[1] == feedCommand {
		exit(child.Feed(os.Args[2], os.Args[3], os.Args[4]))
	}
	var b bench
	playing := flag.Bool("play", false, "measure playing, not recording")
	flag.IntVar(&b.rounds, "n", 3, "rounds of each row; medians count")
	only := flag.String("row", "", "rows whose name contains this")
	parent := flag.String("dir", "", "write the bags here (default: the temporary directory)")
	flag.StringVar(&b.gorecord, "gorecord", "bin/gorecord", "our recorder")
	flag.StringVar(&b.stock, "rosbag", "/usr/lib/rosbag/record", "stock's recorder")
	flag.StringVar(&b.s3, "s3", "bin/tools/versitygw", "an S3 server for uploads")
	flag.StringVar(&b.goplay, "goplay", "bin/goplay", "our player")
	flag.StringVar(&b.rosplay, "rosplay", "/usr/lib/rosbag/play", "stock's player")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	rows, how := recordRows, "gorecord --overflow block"
	if *playing {
		rows, how = playRows, "goplay"
	}
	err := b.run(ctx, rows, how, *only, *parent)
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

// bench is one run of the table.
type bench struct {
	rounds           int
	gorecord, goplay string
	stock, rosplay   string // empty where they are not installed
	s3               string // may not be there
	dir              string // for everything that is written
	stations         int    // made so far
}

func (b *bench) run(ctx context.Context, rows []row, how, only, parent string) (err error) {
	if b.rounds < 1 {
		return errors.New("-n must be at least 1")
	}
	for _, program := range []*string{&b.gorecord, &b.goplay, &b.s3} {
		if *program, err = filepath.Abs(*program); err != nil {
			return err
		}
	}
	if b.dir, err = os.MkdirTemp(parent, "gorosbag-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // a leftover in the temporary directory
	for _, program := range []*string{&b.stock, &b.rosplay} {
		if _, err := os.Stat(*program); err != nil {
			fmt.Printf("%s is not installed: ratios to it are not measured\n", *program)
			*program = ""
		}
	}
	fmt.Printf("%d cores, %s/%s, loopback, %s, medians of %d rounds in turn\n\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, how, b.rounds)
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
