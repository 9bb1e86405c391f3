package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/files"
)

// TestReindexRecordedBag leaves a bag to the gorecord that writes it and has locked it, also if no message
// arrives meanwhile.
func TestReindexRecordedBag(t *testing.T) {
	t.Parallel()
	path := write(t, "live.bag.active", readFile(t, "../../bagfmt/testdata/cpp_killed.bag"))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !files.Lock(f) {
		t.Fatal("the file is locked")
	}
	if code, _, stderr := gobag("reindex", path); code != 1 || !strings.Contains(stderr, "is still being written; reindex it when its recorder has ended") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if got := names(t, filepath.Dir(path)); !slices.Equal(got, []string{"live.bag.active"}) {
		t.Errorf("in the directory: %v", got)
	}
}
