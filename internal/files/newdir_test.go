package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/files"
)

// known are the names of recordings in these tests.
func known(name string) bool { return strings.HasSuffix(name, ".rec") }

// fill makes a directory with files.
func fill(t *testing.T, dir string, files ...string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// list returns the files below a directory and what is in them.
func list(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// add makes a file in d.
func add(t *testing.T, d *files.Dir, name string) {
	t.Helper()
	f, err := d.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("new")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	d, err := files.MakeDir(filepath.Join(top, "run")+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Abort()
	add(t, d, "a.rec")
	if _, err := os.Stat(filepath.Join(top, "run")); !errors.Is(err, os.ErrNotExist) {
		t.Error("has its name before it is complete")
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	d.Abort() // does nothing
	if diff := cmp.Diff(map[string]string{"run/a.rec": "new"}, list(t, top)); diff != "" {
		t.Error(diff)
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	d, err := files.MakeDir(filepath.Join(top, "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	add(t, d, "a.rec")
	d.Abort()
	if entries, err := os.ReadDir(top); err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	path := filepath.Join(top, "run")
	fill(t, path, "a.rec", "b.rec")
	if _, err := files.MakeDir(path, nil); !errors.Is(err, files.ErrExists) {
		t.Errorf("without force: %v", err)
	}
	d, err := files.MakeDir(path, known)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Abort()
	add(t, d, "c.rec")
	if diff := cmp.Diff(map[string]string{"a.rec": "old", "b.rec": "old"}, list(t, path)); diff != "" {
		t.Error("changed before Commit", diff)
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"run/c.rec": "new"}, list(t, top)); diff != "" {
		t.Error(diff)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"foreign file": {func(t *testing.T, path string) { t.Helper(); fill(t, path, "a.rec", "thesis.txt") }, "holds thesis.txt"},
		"directory in it": {func(t *testing.T, path string) {
			t.Helper()
			fill(t, path)
			fill(t, filepath.Join(path, "sub.rec"))
		}, "holds sub.rec"},
		"a file": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "is not a directory"},
		"a link": {func(t *testing.T, path string) {
			t.Helper()
			fill(t, path+"2")
			if err := os.Symlink(path+"2", path); err != nil {
				t.Fatal(err)
			}
		}, "is not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "run")
			c.make(t, path)
			if _, err := files.MakeDir(path, known); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want %q", err, c.want)
			}
		})
	}
	if _, err := files.MakeDir(filepath.Join(t.TempDir(), "no", "run"), nil); err == nil || !strings.Contains(err.Error(), "make that first") {
		t.Error(err)
	}
}

// TestAppeared checks what comes under the name while the directory is filled.
func TestAppeared(t *testing.T) {
	t.Parallel()
	for name, replaces := range map[string]func(string) bool{"without force": nil, "with force": known} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			path := filepath.Join(top, "run")
			d, err := files.MakeDir(path, replaces)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Abort()
			add(t, d, "a.rec")
			fill(t, path, "thesis.txt")
			if err := d.Commit(); err == nil {
				t.Error("replaced")
			}
			if diff := cmp.Diff(map[string]string{"run/thesis.txt": "old"}, list(t, top)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
