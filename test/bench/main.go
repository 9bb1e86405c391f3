//go:build linux

// Command bench measures gorecord beside stock's rosbag record: both record the same
// load in turn, and the ratio within one run counts, because these machines are noisy.
// It prints each target with what was measured, and exits with 1 if one is missed.
// docs/performance.md says what the rows mean.
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
)

func main() {
	if len(os.Args) == 5 && os.Args[1] == copyCommand {
		exit(copyStream(os.Args[2], os.Args[3], os.Args[4] == copySynced))
	}
	var b bench
	flag.IntVar(&b.rounds, "n", 3, "rounds of each row; medians count")
	only := flag.String("row", "", "rows whose name contains this")
	parent := flag.String("dir", "", "write the bags here (default: the temporary directory)")
	flag.StringVar(&b.gorecord, "gorecord", "bin/gorecord", "our recorder")
	flag.StringVar(&b.stock, "rosbag", "/usr/lib/rosbag/record", "stock's recorder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := b.run(ctx, *only, *parent)
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
	rounds          int
	gorecord, stock string // programs; stock is empty where it is not installed
	dir             string // for everything that is written
	recordings      int    // made so far
}

func (b *bench) run(ctx context.Context, only, parent string) (err error) {
	if b.rounds < 1 {
		return errors.New("-n must be at least 1")
	}
	if b.gorecord, err = filepath.Abs(b.gorecord); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(parent, "gorosbag-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // a leftover in the temporary directory
	if _, err := os.Stat(b.stock); err != nil {
		fmt.Printf("%s is not installed: ratios to it are not measured\n", b.stock)
		b.stock = ""
	}
	fmt.Printf("%d cores, %s/%s, loopback, gorecord --overflow block, medians of %d rounds in turn\n\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, b.rounds)
	start, t := time.Now(), newTable(os.Stdout)
	for _, r := range rows {
		if !strings.Contains(r.name, only) {
			continue
		}
		t.row(r.name)
		if err := r.measure(ctx, b, t); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	fmt.Printf("\n%d targets: %d met, %d missed, %d not measured; %s\n", t.all, t.met, t.missed, t.all-t.met-t.missed, time.Since(start).Round(time.Second))
	if t.missed > 0 {
		return fmt.Errorf("%d targets are missed", t.missed)
	}
	return nil
}
