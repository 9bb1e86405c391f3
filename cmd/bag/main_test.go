package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const goodBag = "../../bagfmt/testdata/cpp_lz4.bag"

// gobag runs the program.
func gobag(args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = run(args, output{&o, &e})
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

// TestUnusable checks the one line that each kind of unusable file gets.
func TestUnusable(t *testing.T) {
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
		want string
	}{
		"missing":   {filepath.Join(t.TempDir(), "no.bag"), "no such file"},
		"directory": {t.TempDir(), "is a directory; name the bag files in it"},
		"device":    {os.DevNull, "is not a regular file; copy the bag to one"},
		"empty":     {write(t, "a.bag", nil), "not a bag: empty file"},
		"text":      {write(t, "a.bag", []byte("hello\n")), "not a bag: no version line"},
		"version":   {write(t, "a.bag", []byte("#ROSRECORD V1.2\n")), "is a bag of version 1.2; only version 2.0 can be read"},
		"unindexed": {write(t, "a.bag.active", unindexed), "is unindexed: it was not closed, or is still being recorded.  Run rosbag reindex.\n"},
		"truncated": {write(t, "a.bag", good[:len(good)-1]), "truncated: chunk info at"},
		"advice":    {write(t, "a.bag", good[:len(good)-1]), ".  Run rosbag reindex.\n"},
		"cut short": {write(t, "a.bag", good[:4500]), "truncated: bag header at 13: the index section is at"},
		"damaged":   {write(t, "a.bag", damaged), "index section ends after 2 of 99 connections"},
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

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"info"}, {"bogus"}, {"info", "--bogus", goodBag}} {
		code, stdout, stderr := gobag(args...)
		if code != 1 || stdout != "" || !strings.HasPrefix(stderr, "gobag: ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"--help"}, {"info", "--help"}} {
		if code, stdout, _ := gobag(args...); code != 0 || !strings.Contains(stdout, "Usage: gobag") {
			t.Errorf("%v: code %d, stdout %q", args, code, stdout)
		}
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
