package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tryAll runs the tests whose names match on the mutants of some areas, and notes what became of
// the mutants.
func tryAll(ctx context.Context, areas []*areaMutants, tests *regexp.Regexp) error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is small, and in the folder for that
	switched, err := overlaySwitches(dir, areas)
	if err != nil {
		return err
	}
	for _, folder := range folders(areas) {
		var left []*mutant
		for _, a := range areas {
			if slices.Contains(a.folders(), folder) {
				left = append(left, a.mutants...)
			}
		}
		left = slices.DeleteFunc(left, func(m *mutant) bool { return !m.unnoticed() })
		if len(left) == 0 {
			continue
		}
		s := &suite{folder: folder, program: filepath.Join(dir, "switches"), single: filepath.Join(dir, "single")}
		if err := s.build(ctx, s.program, switched); err != nil {
			return fmt.Errorf("with switches: %w", err)
		}
		if err := s.survey(ctx, tests, filepath.Join(dir, "reached")); err != nil {
			return err
		}
		for i, m := range left {
			if err := s.try(ctx, dir, m); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "%s: %d/%d %s\n", folder, i+1, len(left), m)
		}
	}
	return nil
}

// folders returns the folders whose tests run on an area.
func (a *area) folders() []string {
	var folders []string
	for _, folder := range append([]string{a.dir}, strings.Fields(a.tests)...) {
		if tests, _ := filepath.Glob(filepath.Join(folder, "*_test.go")); tests != nil {
			folders = append(folders, folder)
		}
	}
	return folders
}

// folders returns the folders whose tests run on some areas. Those of the areas themselves come
// first: their tests are fast, and leave few mutants for the others.
func folders(areas []*areaMutants) []string {
	var own, others []string
	for _, a := range areas {
		for _, folder := range a.folders() {
			if folder == a.dir {
				own = append(own, folder)
			} else if !slices.Contains(others, folder) {
				others = append(others, folder)
			}
		}
	}
	return append(slices.DeleteFunc(own, func(folder string) bool { return slices.Contains(others, folder) }), others...)
}

// overlaySwitches gives mutants switches, and returns the overlay with them.
func overlaySwitches(dir string, areas []*areaMutants) (overlay string, err error) {
	files := map[string][]byte{}
	n := 0
	for _, a := range areas {
		for _, f := range a.code.files {
			var of []*mutant
			for _, m := range a.mutants {
				m.status = unreached
				if m.path == f.path {
					of = append(of, m)
				}
			}
			files[f.path], n = a.code.withSwitches(f, of, n)
		}
		files[filepath.Join(a.dir, "mutant_switches.go")] = switchFile(a.code.name, n)
	}
	return writeOverlay(dir, files)
}

// writeOverlay writes what go test -overlay reads, and returns its path.
func writeOverlay(dir string, files map[string][]byte) (path string, err error) {
	sub, err := os.MkdirTemp(dir, "overlay")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		original, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(sub, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[original], text, 0o600); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(sub, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// suite are the tests of a folder.
type suite struct {
	folder  string
	program string // with switches
	single  string // with one mutant that has no switch
	tests   []*test
}

// test is what is known about one test.
type test struct {
	name    string
	took    time.Duration
	reaches map[int]bool // ids of mutants
}

// The tests of the first batch take at most firstBatch together, those of each next batch nextBatch times
// as long as those of the batch before: the fast tests notice most mutants.
const (
	firstBatch = 200 * time.Millisecond
	nextBatch  = 10
)

// batches returns the tests that reach a mutant, or all with id 0, the fast ones first.
func (s *suite) batches(id int) (batches [][]*test) {
	tests := slices.DeleteFunc(slices.Clone(s.tests), func(t *test) bool { return id != 0 && !t.reaches[id] })
	slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	for limit := firstBatch; len(tests) > 0; limit *= nextBatch {
		n, all := 0, time.Duration(0)
		for n < len(tests) && (n == 0 || all+tests[n].took <= limit) {
			all += tests[n].took
			n++
		}
		batches = append(batches, tests[:n])
		tests = tests[n:]
	}
	return batches
}

// try runs tests until one notices the mutant.
func (s *suite) try(ctx context.Context, dir string, m *mutant) error {
	program := s.program
	if m.id == 0 {
		src, err := os.ReadFile(m.path)
		if err != nil {
			return err
		}
		overlay, err := writeOverlay(dir, map[string][]byte{m.path: m.apply(src)})
		if err != nil {
			return err
		}
		program = s.single
		if s.build(ctx, program, overlay) != nil {
			m.status = notViable
			return ctx.Err()
		}
	}
	for _, batch := range s.batches(m.id) {
		var err error
		if m.status, err = s.run(ctx, program, batch, fmt.Sprintf("%s=%d", switchOn, m.id)); err != nil || m.status != lived {
			return err
		}
	}
	return nil
}

// survey runs each test that matches alone, without a mutant. The test writes into the file log
// which mutants it reaches.
func (s *suite) survey(ctx context.Context, tests *regexp.Regexp, log string) error {
	list := exec.CommandContext(ctx, s.program, "-test.list=^(Test|Fuzz|Example)")
	list.Dir = s.folder
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("the list of tests of %s: %w", s.folder, err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if !tests.MatchString(name) {
			continue
		}
		t := &test{name: name, took: time.Minute, reaches: map[int]bool{}}
		start := time.Now()
		status, err := s.run(ctx, s.program, []*test{t}, reached+"="+log)
		if err != nil {
			return err
		}
		if status != lived {
			fmt.Fprintf(os.Stderr, "%s: %s is left out: without a mutant it is %s\n", s.folder, t.name, status)
			continue
		}
		t.took = time.Since(start)
		ids, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for line := range strings.Lines(string(ids)) {
			id, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				return err
			}
			t.reaches[id] = true
		}
		if err := os.RemoveAll(log); err != nil {
			return err
		}
		s.tests = append(s.tests, t)
	}
	return nil
}

// build makes a test program, with the files of an overlay.
func (s *suite) build(ctx context.Context, program, overlay string) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program, "-overlay="+overlay, "./"+s.folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// run runs tests until one fails. A mutant may allocate without end, so that the tests get no
// more than 8 GB of address space where the shell can limit it.
func (s *suite) run(ctx context.Context, program string, tests []*test, env string) (status string, err error) {
	timeout := 10 * time.Second
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = t.name
		timeout += 5 * t.took
	}
	timeout = min(timeout, 5*time.Minute)
	temp, err := os.MkdirTemp(filepath.Dir(program), "temp") // tests that are killed leave their files there
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }() // a child that still writes there leaves little for the end
	limit, cancel := context.WithTimeout(ctx, timeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(limit, "sh", "-c", `ulimit -v 8000000 2>/dev/null; exec "$@"`,
		"sh", program, "-test.short", "-test.failfast", "-test.timeout="+timeout.String(), "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), env, "TMPDIR="+temp)
	cmd.WaitDelay = 10 * time.Second
	out := &verdict{failed: cancel} // failfast waits for the tests that run in parallel
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return lived, nil
	case out.timedOut, errors.Is(limit.Err(), context.DeadlineExceeded):
		return timedOut, nil
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay): // the latter if a child of the tests outlives them
		return killed, nil
	}
	return "", err
}

// verdict reads the output of a test program. It calls failed when a test has failed, but not for the
// tests that a timeout ends. It keeps no more of the output than it needs: a mutant may print without end.
type verdict struct {
	failed   func()
	timedOut bool
	tail     []byte // of the output, shorter than a sign of a timeout
}

// What a test program prints.
var (
	signOfTimeout = []byte("panic: test timed out")
	signOfFailure = []byte("--- FAIL: ")
)

// Write implements io.Writer.
func (v *verdict) Write(b []byte) (int, error) {
	text := slices.Concat(v.tail, b)
	v.timedOut = v.timedOut || bytes.Contains(text, signOfTimeout)
	if !v.timedOut && bytes.Contains(text, signOfFailure) {
		v.failed()
	}
	v.tail = bytes.Clone(text[max(len(text)-len(signOfTimeout)+1, 0):])
	return len(b), nil
}
