// Command rivals measures bagfmt and gobag beside what others use for the same
// work: the library github.com/foxglove/go-rosbag, and the tools of ROS itself
// where they are installed. Both sides do each piece of work in turn, on the same
// input, and the median of the ratios counts. It exits with 1 if one falls short.
//
// It is a module of its own, so that the library is no dependency of gorosbag.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	missed, err := run(ctx)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(2)
	case missed > 0:
		fmt.Fprintf(os.Stderr, "rivals: %d targets missed\n", missed)
		os.Exit(1)
	}
}

func run(ctx context.Context) (missed int, err error) {
	rounds := flag.Int("rounds", 7, "pairs of runs for each line")
	messages := flag.Int("messages", 100_000, "messages of 1 KiB for the library")
	library := flag.Bool("library", true, "measure beside go-rosbag")
	tools := flag.Bool("tools", true, "measure beside the tools of ROS")
	gobag := flag.String("gobag", "../../bin/gobag", "the gobag to measure")
	rosbag := flag.String("rosbag", "/usr/bin/rosbag", "the rosbag to measure it beside")
	flag.Parse()
	fmt.Printf("%d cores%s\n", runtime.GOMAXPROCS(0), load())
	var all []contest
	if *library {
		list, err := libraryContests(*messages)
		if err != nil {
			return 0, err
		}
		all = append(all, list...)
	}
	if *tools {
		dir, err := os.MkdirTemp("", "rivals")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // it is in the temporary directory
		list, err := toolContests(dir, *gobag, *rosbag)
		if err != nil {
			return 0, err
		}
		all = append(all, list...)
	}
	for _, c := range all {
		ok, err := c.run(ctx, *rounds)
		switch {
		case ctx.Err() != nil:
			return missed, ctx.Err()
		case err != nil:
			fmt.Printf("%s: FAILED: %v\n", c.name, err)
			missed++
		case !ok:
			missed++
		}
	}
	return missed, nil
}

// load tells how busy the machine is: parallel work needs the other cores idle.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	first, _, found := strings.Cut(string(b), " ")
	if err != nil || !found {
		return ""
	}
	return ", load " + first
}

// contest is one piece of work, done by both sides.
type contest struct {
	name         string
	want         float64       // least ratio; zero only tells
	within       time.Duration // most that our side may take; zero is any time
	rounds       int           // most pairs of runs, for work that takes long; zero is any number
	ours, theirs func(context.Context) (work, error)
}

// work is what a side has done, to be the same on both sides.
type work struct {
	messages, bytes int64
	took            time.Duration
}

// run does the work in turn and prints the median of the ratios.
func (c *contest) run(ctx context.Context, rounds int) (ok bool, err error) {
	if c.rounds > 0 {
		rounds = min(rounds, c.rounds)
	}
	var ratios []float64
	var ours, theirs []time.Duration
	for range rounds {
		a, err := c.ours(ctx)
		if err != nil {
			return false, fmt.Errorf("ours: %w", err)
		}
		b, err := c.theirs(ctx)
		if err != nil {
			return false, fmt.Errorf("theirs: %w", err)
		}
		if a.messages != b.messages || a.bytes != b.bytes {
			return false, fmt.Errorf("ours did %d messages of %d bytes, theirs %d of %d", a.messages, a.bytes, b.messages, b.bytes)
		}
		ours, theirs = append(ours, a.took), append(theirs, b.took)
		ratios = append(ratios, b.took.Seconds()/a.took.Seconds())
	}
	if len(ratios) == 0 {
		return false, errors.New("no rounds")
	}
	ratio, took := median(ratios), median(ours)
	ok = ratio >= c.want && (c.within == 0 || took < c.within)
	line := fmt.Sprintf("%s: %.1fx", c.name, ratio)
	if c.want > 0 {
		line += fmt.Sprintf(" (want %gx)", c.want)
	}
	line += fmt.Sprintf(", %s against %s", short(took), short(median(theirs)))
	if c.within > 0 {
		line += fmt.Sprintf(" (want < %s)", c.within)
	}
	if !ok {
		line += "  MISSED"
	}
	fmt.Println(line)
	return ok, nil
}

func short(d time.Duration) time.Duration { return d.Round(max(d/1000, time.Microsecond)) }

// median returns the middle of list, which it sorts.
func median[T float64 | time.Duration](list []T) T {
	slices.Sort(list)
	n := len(list)
	if n%2 == 0 {
		return (list[n/2-1] + list[n/2]) / 2
	}
	return list[n/2]
}

// timed measures do, which says how many messages and bytes it worked on.
func timed(do func() (messages, bytes int64, err error)) (work, error) {
	start := time.Now()
	messages, bytes, err := do()
	return work{messages, bytes, time.Since(start)}, err
}
