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

// TestOriginalsStay forces what would overwrite the only copy of a recording: it stays,
// under a name that the user gave or the name of a backup.
func TestOriginalsStay(t *testing.T) {
	t.Parallel()
	original := readFile(t, "../../bagfmt/testdata/cpp_killed.bag")
	link := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		setup func(t *testing.T, dir string) // beside a.bag in dir
		args  []string
		code  int
		files []string
		where string // the original
		said  string
	}{
		"same twice": {
			nil,
			[]string{"-f", "a.bag", "a.bag"},
			1,
			[]string{"a.bag", "a.orig.bag", "out"},
			"a.orig.bag", "skipped: is the same file as ",
		},
		"hard link": {
			func(t *testing.T, dir string) { link(t, os.Link(dir+"/a.bag", dir+"/b.bag")) },
			[]string{"-f", "a.bag", "b.bag"},
			1,
			[]string{"a.bag", "a.orig.bag", "b.bag", "out"},
			"a.orig.bag", "skipped: is the same file as ",
		},
		"backup is an input": {
			func(t *testing.T, dir string) {
				link(t, os.Rename(dir+"/a.bag", dir+"/a.orig.bag"))
				link(t, os.WriteFile(dir+"/a.bag", readFile(t, goodBag), 0o600))
			},
			[]string{"-f", "a.bag", "a.orig.bag"},
			1,
			[]string{"a.bag", "a.orig.bag", "a.orig.orig.bag", "out"},
			"a.orig.orig.bag", "a.orig.bag is an input, too",
		},
		"symbolic link to its backup": {
			func(t *testing.T, dir string) {
				link(t, os.Rename(dir+"/a.bag", dir+"/a.orig.bag"))
				link(t, os.Symlink("a.orig.bag", dir+"/a.bag"))
			},
			[]string{"-f", "a.bag"},
			0,
			[]string{"a.bag", "a.orig.bag", "out"},
			"a.orig.bag", "the original is ",
		},
		"backup is a symbolic link to it": {
			func(t *testing.T, dir string) { link(t, os.Symlink("a.bag", dir+"/a.orig.bag")) },
			[]string{"-f", "a.bag"},
			1,
			[]string{"a.bag", "a.orig.bag", "out"},
			"a.bag", "skipped: ",
		},
		"symbolic link": {
			func(t *testing.T, dir string) {
				link(t, os.Rename(dir+"/a.bag", dir+"/data"))
				link(t, os.Symlink("data", dir+"/a.bag"))
			},
			[]string{"a.bag"},
			0,
			[]string{"a.bag", "a.orig.bag", "data", "out"},
			"data", "the original is ",
		},
		"output is the input": {
			func(t *testing.T, dir string) {
				link(t, os.Rename(dir+"/a.bag", dir+"/out/a.bag"))
				link(t, os.Symlink("out/a.bag", dir+"/a.bag"))
			},
			[]string{"-f", "--output-dir", "out", "a.bag"},
			1,
			[]string{"a.bag", "out", "out/a.bag"},
			"out/a.bag", "a.bag is an input, too",
		},
		"its own directory": {
			nil,
			[]string{"-f", "--output-dir", ".", "a.bag"},
			0,
			[]string{"a.bag", "a.orig.bag", "out"},
			"a.orig.bag", "the original is ",
		},
		"no such directory": {
			nil,
			[]string{"--output-dir", "no", "a.bag"},
			1,
			[]string{"a.bag", "out"},
			"a.bag", "no such directory; make it first",
		},
		"backup is a directory": {
			func(t *testing.T, dir string) { link(t, os.Mkdir(dir+"/a.orig.bag", 0o700)) },
			[]string{"-f", "a.bag"},
			1,
			[]string{"a.bag", "a.orig.bag", "out"},
			"a.bag", "a.orig.bag: ",
		},
		"killed between the names": {
			func(t *testing.T, dir string) { link(t, os.Link(dir+"/a.bag", dir+"/a.orig.bag")) },
			[]string{"a.bag"},
			0,
			[]string{"a.bag", "a.orig.bag", "out"},
			"a.orig.bag", "the original is ",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Dir(write(t, "a.bag", original))
			link(t, os.Mkdir(filepath.Join(dir, "out"), 0o700))
			if tt.setup != nil {
				tt.setup(t, dir)
			}
			args := []string{"reindex"}
			for _, a := range tt.args {
				if !strings.HasPrefix(a, "-") {
					a = filepath.Join(dir, a)
				}
				args = append(args, a)
			}
			code, _, stderr := gobag(args...)
			if code != tt.code || !strings.Contains(stderr, tt.said) {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			files := names(t, dir)
			for _, name := range names(t, filepath.Join(dir, "out")) {
				files = append(files, "out/"+name)
			}
			if !slices.Equal(files, tt.files) {
				t.Errorf("files %v, want %v", files, tt.files)
			}
			if !bytes.Equal(readFile(t, filepath.Join(dir, tt.where)), original) {
				t.Errorf("%s is not the original", tt.where)
			}
		})
	}
}

// TestResultsStay has two inputs of one name.
func TestResultsStay(t *testing.T) {
	t.Parallel()
	a, b, dir := write(t, "a.bag", readFile(t, "../../bagfmt/testdata/cpp_killed.bag")), write(t, "a.bag", readFile(t, goodBag)), t.TempDir()
	code, _, stderr := gobag("reindex", "-f", "--output-dir", dir, a, b)
	if code != 1 || !strings.Contains(stderr, "was written for another bag just now") || count(t, filepath.Join(dir, "a.bag")) != 115 {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
}

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
