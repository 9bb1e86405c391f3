package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestDiskFull reindexes a bag in a file system that has no room for the result.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := mountSmall(dir); err != nil {
		t.Skip("no small file system: ", err)
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	})
	path, in := filepath.Join(dir, "a.bag"), bigBag(t, 3<<20)
	if err := os.WriteFile(path, in, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := gobag("reindex", path)
	if code != 1 || !strings.Contains(stderr, syscall.ENOSPC.Error()) {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a.bag"}) || !bytes.Equal(readFile(t, path), in) {
		t.Errorf("files %v, or the input was changed", got)
	}
}

// TestNoPermission has a directory that nothing can be written to.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("nothing is forbidden here")
	}
	path := write(t, "a.bag", readFile(t, goodBag))
	dir := filepath.Dir(path)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := gobag("reindex", path)
	if code != 1 || !strings.Contains(stderr, "permission denied") {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	if err := os.Chmod(dir, 0o700); err != nil { // so that it can be removed
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a.bag"}) {
		t.Errorf("files %v", got)
	}
}
