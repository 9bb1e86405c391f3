package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// list returns the mutants of an area.
func (a *area) list() ([]*mutant, error) {
	paths, err := a.paths()
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		mutants, err := mutantsOf(path, src)
		if err != nil {
			return nil, err
		}
		all = append(all, mutants...)
	}
	return all, nil
}

// try runs the tests of an area on each mutant and notes what became of it.
func (a *area) try(ctx context.Context, mutants []*mutant) error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is small, and in the folder for that
	stages := a.stages(dir)
	for _, s := range stages {
		if err := s.measure(ctx); err != nil {
			return err
		}
	}
	for i, m := range mutants {
		overlay, err := m.overlay(dir)
		if err != nil {
			return err
		}
		m.status, err = attempt(ctx, stages, overlay)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%d/%d %s\n", i+1, len(mutants), m)
	}
	return nil
}

// attempt returns what becomes of a mutant: the tests run until one notices it.
func attempt(ctx context.Context, stages []*stage, overlay string) (status string, err error) {
	built := ""
	for _, s := range stages {
		if s.program != built {
			if s.build(ctx, overlay) != nil {
				return notViable, nil
			}
			built = s.program
		}
		if status, err = s.test(ctx); err != nil || status != lived {
			return status, err
		}
	}
	return lived, nil
}

// stage is a part of the tests of a package.
type stage struct {
	folder  string
	program string
	which   string // the argument of the test program that selects the part
	timeout time.Duration
}

// stages returns the tests of an area in their order: those of its own package, which fail
// soonest and are linked fastest, then those of other packages, each with the slow tests last.
func (a *area) stages(dir string) []*stage {
	var stages []*stage
	for i, folder := range append([]string{a.dir}, strings.Fields(a.tests)...) {
		if tests, _ := filepath.Glob(filepath.Join(folder, "*_test.go")); tests == nil {
			continue
		}
		program := filepath.Join(dir, fmt.Sprintf("test%d", i))
		stages = append(stages, &stage{folder: folder, program: program, which: "-test.skip=" + slow[folder]})
		if slow[folder] != "" {
			stages = append(stages, &stage{folder: folder, program: program, which: "-test.run=" + slow[folder]})
		}
	}
	return stages
}

// measure runs the tests on the unchanged package, and sets their time limit.
func (s *stage) measure(ctx context.Context) error {
	if err := s.build(ctx, ""); err != nil {
		return err
	}
	s.timeout = 5 * time.Minute
	start := time.Now()
	status, err := s.test(ctx)
	if err != nil {
		return err
	}
	if status != lived {
		return fmt.Errorf("the tests of %s without a mutant: %s", s.folder, status)
	}
	s.timeout = min(s.timeout, 10*time.Second+5*time.Since(start))
	return nil
}

// build makes the test program, with the files of an overlay if there is one.
func (s *stage) build(ctx context.Context, overlay string) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", s.program, "-overlay="+overlay, "./"+s.folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// overlay writes what go test -overlay reads.
func (m *mutant) overlay(dir string) (path string, err error) {
	src, err := os.ReadFile(m.path)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(changed, m.apply(src), 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.path)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// test runs the tests until one fails. A mutant may allocate without end, so that it gets no
// more than 8 GB of address space where the shell can limit it.
func (s *stage) test(ctx context.Context) (status string, err error) {
	limit, cancel := context.WithTimeout(ctx, s.timeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(limit, "sh", "-c", `ulimit -v 8000000 2>/dev/null; exec "$@"`,
		"sh", s.program, "-test.short", "-test.failfast", "-test.timeout="+s.timeout.String(), s.which)
	cmd.Dir = s.folder
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
	case bytes.Contains(out.text, []byte("panic: test timed out")), errors.Is(limit.Err(), context.DeadlineExceeded):
		return timedOut, nil
	case errors.As(err, &exit):
		return killed, nil
	}
	return "", err
}

// verdict is the output of a test program. It calls failed when a test failed.
type verdict struct {
	text   []byte
	failed func()
}

// Write implements io.Writer.
func (v *verdict) Write(b []byte) (int, error) {
	v.text = append(v.text, b...)
	if bytes.Contains(v.text, []byte("--- FAIL: ")) && !bytes.Contains(v.text, []byte("panic: test timed out")) {
		v.failed()
	}
	return len(b), nil
}
