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
	program := filepath.Join(dir, "test")
	if err := a.build(ctx, program, ""); err != nil {
		return err
	}
	timeout := 5 * time.Minute
	start := time.Now()
	if status, err := a.test(ctx, program, timeout); err != nil || status != lived {
		return fmt.Errorf("the tests of the unchanged package: %s, %w", status, err)
	}
	timeout = min(timeout, 10*time.Second+5*time.Since(start))
	for i, m := range mutants {
		overlay, err := m.overlay(dir)
		if err != nil {
			return err
		}
		if err := a.build(ctx, program, overlay); err != nil {
			m.status = notViable
		} else if m.status, err = a.test(ctx, program, timeout); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(os.Stderr, "%d/%d %s\n", i+1, len(mutants), m)
	}
	return nil
}

// build makes the test program of an area, with the files of an overlay if there is one.
func (a *area) build(ctx context.Context, program, overlay string) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program, "-overlay="+overlay, "./"+a.testDir()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// test runs the tests of an area in their order.
func (a *area) test(ctx context.Context, program string, timeout time.Duration) (status string, err error) {
	stages := []string{"-test.skip=" + a.skip}
	if a.slow != "" {
		stages = []string{"-test.skip=" + a.slow, "-test.run=" + a.slow}
	}
	for _, which := range stages {
		if status, err = a.runTests(ctx, program, timeout, which); err != nil || status != lived {
			break
		}
	}
	return status, err
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

// runTests runs a test program until a test fails. A mutant may allocate without end, so that
// it gets no more than 8 GB of address space where the shell can limit it.
func (a *area) runTests(ctx context.Context, program string, timeout time.Duration, which string) (status string, err error) {
	limit, cancel := context.WithTimeout(ctx, timeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(limit, "sh", "-c", `ulimit -v 8000000 2>/dev/null; exec "$@"`,
		"sh", program, "-test.short", "-test.failfast", "-test.timeout="+timeout.String(), which)
	cmd.Dir = a.testDir()
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
