package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

const goodBag = "../../bagfmt/testdata/cpp_lz4.bag"

// gobag runs the program.
func gobag(args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, job.NewOutput(strings.NewReader(""), &o, &e))
	return code, o.String(), e.String()
}

// write makes a file of some content in a new directory.
func write(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// names lists what is in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestHelp checks that each command explains itself, in lines that fit a terminal.
func TestHelp(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&flags{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parser.Model.Children {
		if c.Help == "" {
			t.Errorf("%s has no help", c.Name)
		}
		code, stdout, stderr := gobag("help", c.Name)
		if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "Usage: gobag "+c.Name) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", c.Name, code, stdout, stderr)
		}
		for line := range strings.Lines(stdout) {
			if len(line) > 120 {
				t.Errorf("%s: long line %q", c.Name, line)
			}
		}
		for _, f := range c.Flags {
			if f.Help == "" {
				t.Errorf("%s --%s has no help", c.Name, f.Name)
			}
		}
	}
}

// TestReadOnly: the commands that only read end although a read hangs, and no other does.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&flags{}, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range parser.Model.Children {
		if isReadOnly(c) {
			got = append(got, c.Name)
		}
	}
	if want := []string{"info", "gaps", "echo", "check", "diff", "find", "audit"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
