// Command mutate changes one operator at a time in the code that must not be wrong, and
// counts how many of these mutants the tests of its package notice. It runs gremlins, by
// make mutate, for each area below, and prints one row for each. An area takes the time of
// its tests once for each mutant.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// area is a part of a package.
type area struct {
	name  string // what -area selects: all areas that begin so
	dir   string
	files string // without .go, separated by spaces; empty for all
	skip  string // tests that need a network or the wall clock, and know nothing of the files; a pattern of go test
}

var areas = []area{
	{"recorder", "recorder", "intake buffer admit pool ring latched large link sampler rotation encoder", ""},
	{"recorder-loss", "recorder/internal/loss", "", ""},
	{"recorder-queue", "recorder/internal/queue", "", ""},
	{"recorder-bagfile", "recorder/internal/bagfile", "", ""},
	{"recorder-repair", "recorder/internal/repair", "", ""},
	{"player", "player", "reader timeline queue wait window shift headerorder", "ToSubscriber|SlowReader|Interrupt|OnTheWire|LateSubscriber|Respect"},
	{"player-transport", "player/internal/transport", "", ""},
	{"player-pacing", "player/internal/pacing", "batcher timing", ""},
	{"tcpros", "tcpros", "header link linkread rawread_linux rawwrite_linux publink drain drain_linux", ""},
	{"bagfmt", "bagfmt", "writer chunk_builder chunk_seal record_encode index writer_append parallel_writer", ""},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run() error {
	tool := flag.String("tool", "gremlins", "the gremlins program")
	name := flag.String("area", "", "only areas whose name begins so")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rows := []string{fmt.Sprintf("%-18s %7s %7s %12s %10s %7s", "area", "killed", "lived", "not covered", "timed out", "%")}
	for _, a := range areas {
		if !strings.HasPrefix(a.name, *name) {
			continue
		}
		r, err := a.mutate(ctx, *tool)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		r.list(a)
		rows = append(rows, r.row(a))
	}
	if len(rows) == 1 {
		return fmt.Errorf("no area begins with %q", *name)
	}
	fmt.Println(strings.Join(rows, "\n"))
	return nil
}

// report is what gremlins writes.
type report struct {
	Files []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Type, Status string
			Line, Column int
		}
	}
}

// mutate runs gremlins over an area.
func (a *area) mutate(ctx context.Context, tool string) (*report, error) {
	others, err := a.others()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is small, and in the folder for that
	out := filepath.Join(dir, "report.json")
	args := []string{
		"unleash", "./" + a.dir, "--workers", "1", "--timeout-coefficient", "10", "--output", out,
		"--invert-logical", "--invert-loopctrl", "--invert-bitwise", "--invert-assignments", "--invert-bwassign",
	}
	if others != "" {
		args = append(args, "--exclude-files", others)
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	flags := "-short -vet=off"
	if a.skip != "" {
		flags += " -skip=" + a.skip
	}
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	r := new(report)
	return r, json.Unmarshal(b, r)
}

// others is a pattern for the files of the package that do not belong to the area.
func (a *area) others() (string, error) {
	mine := strings.Fields(a.files)
	paths, err := filepath.Glob(filepath.Join(a.dir, "*.go"))
	if err != nil || len(mine) == 0 {
		return "", err
	}
	var names, others []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".go")
		if names = append(names, name); !slices.Contains(mine, name) {
			others = append(others, regexp.QuoteMeta(name))
		}
	}
	for _, name := range mine {
		if !slices.Contains(names, name) {
			return "", fmt.Errorf("%s has no %s.go: correct the list of areas", a.dir, name)
		}
	}
	return `^(` + strings.Join(others, "|") + `)\.go$`, nil
}

// row is the line of a table.
func (r *report) row(a area) string {
	n := map[string]int{}
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			n[m.Status]++
		}
	}
	noticed := n["KILLED"] + n["TIMED OUT"]
	all := noticed + n["LIVED"] + n["NOT COVERED"]
	return fmt.Sprintf("%-18s %7d %7d %12d %10d %7.1f", a.name, n["KILLED"], n["LIVED"], n["NOT COVERED"], n["TIMED OUT"], 100*float64(noticed)/float64(max(all, 1)))
}

// list prints what the tests did not notice.
func (r *report) list(a area) {
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			if m.Status == "LIVED" || m.Status == "NOT COVERED" {
				fmt.Printf("%s: %s: %s at %s:%d:%d\n", a.name, m.Status, m.Type, f.Name, m.Line, m.Column)
			}
		}
	}
}
