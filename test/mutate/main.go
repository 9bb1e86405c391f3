// Command mutate changes one operator at a time in the code that must not be wrong, and
// counts how many of these mutants the tests of its package notice. For each area below it
// runs the tests on each mutant and prints one row.
//
// The test program of a package has all mutants, each behind a switch, so that it is built
// once. Each test first runs alone, which shows how long it takes and which mutants it
// reaches. A mutant is then tried only with the tests that reach it, the fast ones first.
// A constant cannot have a switch, nor can some break and continue statements: each of
// their mutants gets a program of its own, and is tried with all tests. Tests run with -short.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// area is a part of a package.
type area struct {
	name  string // -area selects all areas whose name begins with its value
	dir   string
	files string // without .go, separated by spaces; empty for all
	tests string // folders whose tests run after those of dir, separated by spaces
}

var areas = []area{
	{name: "recorder-account", dir: "recorder/internal/account", tests: "recorder"},
	{name: "recorder-intake", dir: "recorder/internal/intake", tests: "recorder"},
	{name: "recorder-latch", dir: "recorder/internal/latch"},
	{name: "recorder-memory", dir: "recorder/internal/memory", tests: "recorder/internal/intake recorder"},
	{name: "recorder-ring", dir: "recorder/internal/ring", tests: "recorder/internal/intake recorder"},
	{name: "recorder-rotation", dir: "recorder/internal/rotation", tests: "recorder"},
	{name: "recorder-simtime", dir: "recorder/internal/simtime", tests: "recorder"},
	{name: "recorder-encode", dir: "recorder/internal/encode", tests: "recorder"},
	{name: "recorder-sink", dir: "recorder/internal/sink", tests: "recorder"},
	{name: "recorder-snapshot", dir: "recorder/internal/snapshot", tests: "recorder"},
	{name: "recorder-loss", dir: "recorder/internal/loss", tests: "recorder"},
	{name: "recorder-queue", dir: "recorder/internal/queue"},
	{name: "recorder-bagfile", dir: "recorder/internal/bagfile", tests: "recorder"},
	{name: "recorder-bagname", dir: "recorder/internal/bagname", tests: "recorder/internal/bagfile recorder"},
	{name: "recorder-disk", dir: "recorder/internal/disk", tests: "recorder/internal/bagfile recorder/internal/files recorder/internal/retention recorder/internal/repair"},
	{name: "recorder-retention", dir: "recorder/internal/retention"},
	{name: "recorder-repair", dir: "recorder/internal/repair"},
	{name: "recorder-files", dir: "recorder/internal/files", tests: "recorder"},
	{name: "recorder-subscribe", dir: "recorder/internal/subscribe", tests: "recorder"},
	{name: "recorder-graph", dir: "recorder/internal/graph", tests: "recorder"},
	{name: "recorder-tap", dir: "recorder/internal/viewing", tests: "recorder"},
	{name: "rewrite", dir: "cmd/bag/internal/rewrite"},
	{name: "check", dir: "cmd/bag/internal/check"},
	{name: "info", dir: "internal/bags/info"},
	{name: "diff", dir: "internal/bags/diff"},
	{name: "diff-align", dir: "internal/bags/diff/align", tests: "internal/bags/diff"},
	{name: "expr", dir: "internal/bags/expr"},
	{name: "player-plan", dir: "player/internal/plan", tests: "player"},
	{name: "player-readahead", dir: "player/internal/readahead"},
	{name: "player-timeline", dir: "player/internal/timeline", tests: "player"},
	{name: "player-pacer", dir: "player", files: "conductor pacer steer"},
	{name: "player-output", dir: "player/internal/output", tests: "player"},
	{name: "player-stage", dir: "player/internal/stage", tests: "player"},
	{name: "player-viewing", dir: "player/internal/viewing"},
	{name: "player-transport", dir: "player/internal/transport", tests: "player"},
	{name: "cgroup", dir: "internal/program", files: "cgroup"},
	{name: "loglimit", dir: "internal/loglimit", files: "core limiter pace"},
	{name: "player-pacing", dir: "player/internal/pacing", tests: "player"},
	{name: "tcpros-wire", dir: "tcpros/internal/wire", tests: "tcpros/internal/sublink tcpros"},
	{name: "tcpros-slaveapi", dir: "tcpros/internal/slaveapi"},
	{name: "placeheap", dir: "internal/queue/placeheap"},
	{name: "tcpros-outgoing", dir: "tcpros/master/internal/outgoing"},
	{name: "tcpros-registrar", dir: "tcpros/internal/registrar", tests: "tcpros"},
	{name: "tcpros-sublink", dir: "tcpros/internal/sublink", tests: "tcpros"},
	{name: "tcpros-publink", dir: "tcpros/internal/publink", tests: "tcpros"},
	{name: "tcpros-service", dir: "tcpros/internal/service", tests: "tcpros"},
	{name: "tcpros-udpros", dir: "tcpros/internal/udpros", tests: "tcpros/internal/sublink tcpros"},
	{name: "master", dir: "tcpros/master"},
	{name: "master-notify", dir: "tcpros/master/internal/notify", tests: "tcpros/master"},
	{name: "config", dir: "config"},
	{name: "bagfmt-writer", dir: "bagfmt", files: "append writer writer_conns parallel_writer"},
	{name: "bagfmt-chunk", dir: "bagfmt/chunk", tests: "bagfmt"},
	{name: "bagfmt-wire", dir: "bagfmt/internal/wire", tests: "bagfmt"},
	{name: "bagfmt-load", dir: "bagfmt/internal/load", tests: "bagfmt"},
	{name: "bagfmt-opening", dir: "bagfmt/internal/opening", tests: "bagfmt"},
	{name: "bagfmt-cursor", dir: "bagfmt/internal/cursor", tests: "bagfmt"},
	{name: "bagfmt-table", dir: "bagfmt/internal/table", tests: "bagfmt"},
	{name: "bagfmt-codec", dir: "bagfmt/internal/codec", tests: "bagfmt"},
	{name: "bagfmt-old", dir: "bagfmt/internal/old", tests: "bagfmt"},
	{name: "bagfmt-search", dir: "bagfmt/internal/search", tests: "bagfmt"},
	{name: "bagfmt-recovery", dir: "bagfmt/recovery", tests: "bagfmt"},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run() error {
	name := flag.String("area", "", "only areas whose name begins so")
	only := flag.String("only", "", "only mutants whose place, path:line:column, matches this `pattern`")
	tests := flag.String("tests", "", "only tests whose name matches this `pattern`: the other tests may notice more")
	sample := flag.Int("sample", 0, "at most so many mutants of each file, chosen at random; 0 for all")
	seed := flag.Uint64("seed", 1, "for -sample: the same seed chooses the same mutants of the same source")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(*tests)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var chosen []*areaMutants
	for _, a := range areas {
		if !strings.HasPrefix(a.name, *name) {
			continue
		}
		code, err := load(ctx, a.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		all, err := a.list(code)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		chosen = append(chosen, &areaMutants{&a, code, len(all), choose(all, pattern, *sample, *seed)})
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no area begins with %q", *name)
	}
	if err := tryAll(ctx, chosen, wanted); err != nil {
		return err
	}
	for _, a := range chosen {
		for _, m := range a.mutants {
			if m.unnoticed() {
				fmt.Printf("%s: %s\n", a.name, m)
			}
		}
	}
	fmt.Printf("%-18s %7s %7s %7s %10s %12s %7s\n", "area", "all", "killed", "lived", "timed out", "not reached", "%")
	for _, a := range chosen {
		fmt.Println(a.row())
	}
	return nil
}

// areaMutants are the mutants of an area that are tried.
type areaMutants struct {
	*area
	code    *code
	all     int
	mutants []*mutant
}

// row is the line of a table.
func (a *areaMutants) row() string {
	n := map[string]int{}
	for _, m := range a.mutants {
		n[m.status]++
	}
	noticed := n[killed] + n[timedOut]
	return fmt.Sprintf("%-18s %7d %7d %7d %10d %12d %7.1f",
		a.name, a.all, n[killed], n[lived], n[timedOut], n[unreached], 100*float64(noticed)/float64(max(noticed+n[lived]+n[unreached], 1)))
}

// list returns the mutants of an area.
func (a *area) list(code *code) ([]*mutant, error) {
	var all []*mutant
	wanted := strings.Fields(a.files)
	for _, f := range code.files {
		name := strings.TrimSuffix(filepath.Base(f.path), ".go")
		if i := slices.Index(wanted, name); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
		} else if a.files != "" {
			continue
		}
		all = append(all, code.mutants(f)...)
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("correct the list of areas: %s has no %s.go", a.dir, wanted[0])
	}
	return all, nil
}
