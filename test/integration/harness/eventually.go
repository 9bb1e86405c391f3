package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Timeout is the timeout for everything that takes well under a second on an idle machine; this
// one is busy with other tests.
const Timeout = 2 * time.Minute

// Eventually waits for a condition. After a timeout the test fails with a list of the directory
// of the graph and the results of seen.
func (g *Graph) Eventually(what string, ok func() bool, seen ...func() string) {
	g.T.Helper()
	Eventually(g.T, what, ok, append(seen, g.files)...)
}

// files lists the directory of the graph.
func (g *Graph) files() string {
	all := "files:"
	entries, err := os.ReadDir(g.Dir)
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all += fmt.Sprintf(" %s (%d)", e.Name(), info.Size())
		}
	}
	return all
}

// Eventually waits for a condition. After a timeout the test fails with the results of seen.
func Eventually(t *testing.T, what string, ok func() bool, seen ...func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			var state strings.Builder
			for _, s := range seen {
				state.WriteString("\n" + s())
			}
			t.Fatalf("not within %v: %s%s", Timeout, what, state.String())
		}
	}
}

// Contains checks that a program has printed some texts.
func Contains(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%q is missing in:\n%s", w, out)
		}
	}
}

// Size returns a file's size, -1 if it is not there.
func Size(g *Graph, name string) int64 {
	st, err := StatIn(g, name)
	if err != nil {
		return -1
	}
	return st
}

// StatIn returns the size of a file in the directory of the graph.
func StatIn(g *Graph, name string) (int64, error) {
	st, err := os.Stat(filepath.Join(g.Dir, name))
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
