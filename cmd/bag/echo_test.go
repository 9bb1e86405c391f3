package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

const demoBag = "../../testdata/demo.bag"

func oldVersion(name string) string { return "../../bagfmt/testdata/old/" + name + ".bag" }

// TestEchoPipe prints the same of a pipe as of the file.
func TestEchoPipe(t *testing.T) {
	t.Parallel()
	for _, path := range []string{demoBag, oldVersion("v12_unindexed_cpp"), oldVersion("v11_rosrecord"), oldVersion("v12_indexed_notclosed_cut")} {
		in, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wantCode, want, wantErr := gobag("echo", "--json", path)
		code, got, stderr := piped(bytes.NewReader(in), "echo", "--json", "-")
		wantErr = strings.ReplaceAll(wantErr, path, "standard input")
		if d := cmp.Diff(sorted(want), sorted(got)); code != wantCode || d != "" || stderr != wantErr {
			t.Errorf("%s: code %d, want %d; %s (-file +pipe):\n%s", path, code, wantCode, stderr, d)
		}
	}
}

// sorted orders lines: messages of a pipe come in the order of the file.
func sorted(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	slices.Sort(lines)
	return lines
}

// closedPipe is what writing to head is like after it has seen enough.
type closedPipe struct{ left int }

func (p *closedPipe) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left < 0 {
		return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	}
	return len(b), nil
}

func TestEchoClosedPipe(t *testing.T) {
	t.Parallel()
	for _, left := range []int{0, 100_000} {
		var stderr bytes.Buffer
		code := run(t.Context(), []string{"echo", demoBag}, job.NewOutput(strings.NewReader(""), &closedPipe{left}, &stderr))
		if code != 0 || stderr.Len() > 0 {
			t.Errorf("code %d, %s", code, stderr.String())
		}
	}
}

func TestEchoInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // however slow the machine is, it does not count as a disk that hangs
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stdout, stderr bytes.Buffer
		if code := run(ctx, []string{"echo", demoBag}, job.NewOutput(strings.NewReader(""), &stdout, &stderr)); code != 0 || stderr.Len() > 0 {
			t.Errorf("code %d, %s", code, stderr.String())
		}
		if stdout.Len() > 0 {
			t.Errorf("%d bytes are printed", stdout.Len())
		}
	})
}

// fullDisk fails like a file system without room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestEchoFullDisk: an output that fails is reported once, and no further bag is read for it.
func TestEchoFullDisk(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"echo", demoBag, demoBag}, job.NewOutput(strings.NewReader(""), fullDisk{}, &stderr))
	if want := "gobag: " + syscall.ENOSPC.Error() + "\n"; code != 1 || stderr.String() != want {
		t.Errorf("code %d, %q, want %q", code, stderr.String(), want)
	}
}

// TestPagesThatCannotBeWritten: the command line is not to blame, and a reader that has gone is no news.
func TestPagesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--help", "info --help", "--man", "--version"} {
		var full, closed bytes.Buffer
		code := run(t.Context(), strings.Fields(args), job.NewOutput(strings.NewReader(""), fullDisk{}, &full))
		if want := "gobag: " + syscall.ENOSPC.Error() + "\n"; code != 1 || full.String() != want {
			t.Errorf("%s, full disk: code %d, %q, want %q", args, code, full.String(), want)
		}
		code = run(t.Context(), strings.Fields(args), job.NewOutput(strings.NewReader(""), &closedPipe{}, &closed))
		if code != 1 || closed.Len() > 0 {
			t.Errorf("%s, closed pipe: code %d, %q", args, code, closed.String())
		}
	}
}

// TestEchoOldBags shows that a missing definition costs only its own messages.
func TestEchoOldBags(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine reads many bags")
	t.Parallel()
	all, err := filepath.Glob("../../bagfmt/testdata/old/*.bag")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d old bags, %v", len(all), err)
	}
	for _, path := range all {
		code, stdout, stderr := gobag("echo", "--json", "--allow-empty", path)
		if code != 0 && code != 3 {
			t.Errorf("%s: code %d, %s", path, code, stderr)
		}
		for line := range strings.Lines(stdout) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: %s", path, line)
			}
		}
		if code == 3 && !strings.Contains(stderr, path) {
			t.Errorf("%s: %s", path, stderr)
		}
	}
}
