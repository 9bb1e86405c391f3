//go:build linux

package testkit_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m.Run)) }

// settled reports whether a shell and its two programs have a mark, and each program has begun.
// Earlier, the shell has other children, and a process that starts a program has no environment for
// a moment.
func settled(mark string) bool {
	pids := testkit.Marked(mark)
	sleeps := 0
	for _, pid := range pids {
		if name, _ := os.ReadFile("/proc/" + pid + "/comm"); string(name) == "sleep\n" {
			sleeps++
		}
	}
	return len(pids) == 3 && sleeps == 2
}

// TestSweep kills the processes with a mark, also those that have left their parent, and no others.
// test/integration/harness tests what happens to the programs of tests that are killed.
func TestSweep(t *testing.T) {
	t.Parallel()
	start := func(part string) (mark string, cmd *exec.Cmd) {
		entry, mark := testkit.Mark(part)
		cmd = exec.CommandContext(t.Context(), "sh", "-c", "(setsid sleep 600 &) ; sleep 600; true")
		cmd.Env = append(os.Environ(), entry)
		if err := testkit.Start(cmd); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); !settled(mark); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("processes %v carry %s, want three", testkit.Marked(mark), mark)
			}
		}
		return mark, cmd
	}
	one, first := start("1")
	other, second := start("12") // begins as the other
	part, third := start("12.3")
	testkit.Sweep(one)
	if n := len(testkit.Marked(one)); n > 0 {
		t.Errorf("%d processes are left", n)
	}
	if n := len(testkit.Marked(other)); n != 6 {
		t.Errorf("%d processes carry another mark or a part of it, want 6", n)
	}
	testkit.Sweep(other)
	if n := len(testkit.Marked(part)); n > 0 {
		t.Errorf("%d processes are left of a part", n)
	}
	for _, cmd := range []*exec.Cmd{first, second, third} {
		if err := cmd.Wait(); err == nil {
			t.Error("a program has ended by itself")
		}
	}
}
