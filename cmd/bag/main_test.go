package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s is %q, %v; want %q", path, b, err, want)
	}
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

// TestUnusable checks the one line that each kind of unusable file gets.
func TestUnusable(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path string
		want string
	}{
		"pipe":      {"-", "standard input cannot be read here; copy the bag to a file"},
		"missing":   {filepath.Join(t.TempDir(), "no.bag"), "no such file"},
		"directory": {t.TempDir(), "no bags in this directory"},
		"pattern":   {filepath.Join(t.TempDir(), "*.bag"), "no such files"},
		"device":    {os.DevNull, "is not a regular file; copy the bag to one"},
		"empty":     {write(t, "a.bag", nil), "not a bag: empty file"},
		"MCAP":      {write(t, "a.mcap", []byte("\x89MCAP1\r\n\x01")), `is a file of MCAP version "1"; this reader knows version 0`},
		"text":      {write(t, "a.bag", []byte("hello\n")), `not a bag: it is text that starts with "hello"`},
		"version":   {write(t, "a.bag", []byte("#ROSBAG V1.3\n")), "is a bag version 1.3, which was never released; "},
		"future":    {write(t, "a.bag", []byte("#ROSBAG V3.0\n")), "is a bag version 3.0; "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := gobag("info", tc.path)
			if code != 1 || stdout != "" {
				t.Errorf("code %d, stdout %q", code, stdout)
			}
			if !strings.HasPrefix(stderr, "gobag: "+tc.path+": ") || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr %q, want one line with %q", stderr, tc.want)
			}
		})
	}
}

// TestDamaged shows bags whose index cannot be used: what is there is summarized,
// damage is told and makes the exit code 3.
func TestDamaged(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := bytes.Cut(good, []byte("index_pos="))
	unindexed := slices.Concat(before, []byte("index_pos="), make([]byte, 8), after[8:])
	damaged := bytes.Replace(good, []byte("conn_count=\x02"), []byte("conn_count=\x63"), 1)
	tests := map[string]struct {
		path string
		code int
		want string // on stderr
		text string // on stdout
	}{
		"unindexed": {write(t, "a.bag.active", unindexed), 0, "", "messages:     26\n"},
		"truncated": {write(t, "a.bag", good[:len(good)-1]), 3, "truncated: chunk info at", "messages:     26\n"},
		"cut short": {write(t, "a.bag", good[:4500]), 3, "truncated: chunk at 4117: file ends after 335 of 591 bytes of its data\n", "size:    4.4 KB\n"},
		"damaged":   {write(t, "a.bag", damaged), 3, "index section ends after 2 of 99 connections", "messages:     26\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := gobag("info", tc.path)
			if code != tc.code || !strings.Contains(stdout, tc.text) || !strings.Contains(stdout, "2.0 (unindexed)\n") {
				t.Errorf("code %d, stdout %q", code, stdout)
			}
			if !strings.Contains(stderr, tc.want) || (tc.want == "") != (stderr == "") {
				t.Errorf("stderr %q, want %q", stderr, tc.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"info"}, {"bogus"}, {"info", "--bogus", goodBag}} {
		code, stdout, stderr := gobag(args...)
		if code != 1 || stdout != "" || !strings.HasPrefix(stderr, "gobag: ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"--help"}, {"info", "--help"}, {"help"}, {"help", "info"}} {
		if code, stdout, _ := gobag(args...); code != 0 || !strings.Contains(stdout, "Usage: gobag") {
			t.Errorf("%v: code %d, stdout %q", args, code, stdout)
		}
	}
	if code, stdout, _ := gobag("--version"); code != 0 || !strings.HasPrefix(stdout, "gobag ") {
		t.Errorf("code %d, stdout %q", code, stdout)
	}
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

// TestInfoForms looks at the other forms of a summary.
func TestInfoForms(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		code int
		want string // in stdout, or in stderr if the code is not 0
	}{
		"yaml":        {[]string{"-y", goodBag}, 0, "topics:\n    - topic: /count\n      type: std_msgs/Int32\n      messages: 25\n"},
		"key":         {[]string{"-y", "-k", "topics[-1].type", goodBag}, 0, "std_msgs/String\n"},
		"no such key": {[]string{"-y", "-k", "topics[2]", goodBag}, 1, "no such key"},
		"key alone":   {[]string{"-k", "topics", goodBag}, 1, "--key needs --yaml"},
		"two forms":   {[]string{"-y", "--json", goodBag}, 1, "--yaml and --json can't be used together"},
		"yaml -v":     {[]string{"-y", "-v", goodBag}, 1, "--yaml has no room for --verbose"},
		"verbose":     {[]string{"-v", goodBag}, 0, "publishers:"},
		"json -v":     {[]string{"-v", "--json", goodBag}, 0, `"longest_gap":"0.05`},
		"old":         {[]string{oldBag}, 0, "version:     1.2 (unindexed)\n"},
		"elapsed":     {[]string{"../../bagfmt/testdata/old/v10_writer_order.bag"}, 0, "s after the start of the recording\n"},
		"elapsed -y":  {[]string{"-y", "../../bagfmt/testdata/old/v0_strings.bag"}, 0, "elapsed: True\n"},
		"json of old": {[]string{"--json", oldBag}, 0, `"indexed":false`},
		"pattern":     {[]string{"../../bagfmt/testdata/cpp_[l]z?.bag"}, 0, "path:         " + goodBag},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := gobag(append([]string{"info"}, tc.args...)...)
			text := stdout
			if tc.code != 0 {
				text = stderr
			}
			if code != tc.code || !strings.Contains(text, tc.want) {
				t.Errorf("code %d, no %q in stdout\n%s\nstderr %s", code, tc.want, stdout, stderr)
			}
		})
	}
	code, stdout, _ := gobag("info", "../../bagfmt/testdata")
	if code != 0 || strings.Count(stdout, "---\n") != 6 {
		t.Errorf("the directory: code %d\n%s", code, stdout)
	}
}

// TestInfo shows several bags, one of them unusable.
func TestInfo(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := gobag("info", "--freq", goodBag, "missing.bag", goodBag)
	if code != 1 || stderr != "gobag: missing.bag: no such file\n" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	if strings.Count(stdout, "compression:  lz4 [1/1 chunks;") != 2 || strings.Count(stdout, "\n---\n") != 1 {
		t.Errorf("stdout\n%s", stdout)
	}
	code, stdout, stderr = gobag("info", "--json", goodBag, goodBag)
	if code != 0 || stderr != "" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	for line := range strings.Lines(stdout) {
		var v struct{ Path, Version string }
		if err := json.Unmarshal([]byte(line), &v); err != nil || v.Path != goodBag || v.Version != "2.0" {
			t.Errorf("%+v, %v", v, err)
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
