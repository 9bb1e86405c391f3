package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/files"
)

// TestNote adds notes, and refuses what is no finished bag of version 2.0 without touching it.
func TestNote(t *testing.T) {
	t.Parallel()
	good := readFile(t, goodBag)
	path := write(t, "a.bag", good)
	code, _, stderr := gobag("note", path, "robot=r1", "site=a: b")
	if code != 0 || !strings.Contains(stderr, "robot: r1") || !strings.Contains(stderr, "site: a: b") {
		t.Fatalf("code %d, %q", code, stderr)
	}
	if code, stdout, _ := gobag("echo", path, "/metadata"); code != 0 || !strings.Contains(stdout, `robot: r1\nsite: a: b\n`) {
		t.Errorf("code %d, %q", code, stdout)
	}
	if code, stdout, stderr := gobag("check", path); code != 0 {
		t.Errorf("check: code %d, %q %q", code, stdout, stderr)
	}
	for name, tc := range map[string]struct {
		b    []byte
		args []string
		want string
	}{
		"unindexed":  {readFile(t, "../../bagfmt/testdata/cpp_killed.bag"), []string{"a=b"}, "is unindexed: it was not closed, or is still being recorded; run gobag reindex on it first"},
		"cut":        {good[:len(good)-10], []string{"a=b"}, "run gobag reindex on it first"},
		"no bag":     {[]byte("hello"), []string{"a=b"}, "not a bag"},
		"no value":   {good, []string{"a"}, `note "a": write key=value`},
		"two lines":  {good, []string{"a=b\nc"}, "must be one line"},
		"no note":    {good, nil, "expected \"<key=value> ...\""},
		"old format": {readFile(t, "../../bagfmt/testdata/old/v12_indexed.bag"), []string{"a=b"}, "is a bag version 1.2, where a bag of version 2.0 is needed; gobag convert makes one"},
	} {
		path := write(t, "a.bag", tc.b)
		code, _, stderr := gobag(append([]string{"note", path}, tc.args...)...)
		if code != 1 || !strings.Contains(stderr, tc.want) {
			t.Errorf("%s: code %d, %q", name, code, stderr)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, tc.b) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
}

// TestNoteInUse: a bag that somebody else changes is left to him.
func TestNoteInUse(t *testing.T) {
	t.Parallel()
	path := write(t, "a.bag", readFile(t, goodBag))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !files.Lock(f) {
		t.Skip("no locks here")
	}
	if code, _, stderr := gobag("note", path, "a=b"); code != 1 || !strings.Contains(stderr, "is in use") {
		t.Errorf("code %d, %q", code, stderr)
	}
	f.Close()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		code, _, stderr := gobag("note", path, "a=b")
		if code == 0 {
			return
		}
		// A program that another test is starting has the file, and so the lock, until it runs.
		if !strings.Contains(stderr, "is in use") || time.Now().After(deadline) {
			t.Fatalf("code %d, %q", code, stderr)
		}
	}
}
