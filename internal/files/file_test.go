package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

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

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s is %q, %v; want %q", path, b, err, want)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.bag")
		p, err := Create(path, force)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.WriteString("new"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is there before Commit: %v", err)
		}
		if err := p.Commit(); err != nil {
			t.Fatal(err)
		}
		p.Abort() // harmless
		wantContent(t, path, "new")
		if got := names(t, filepath.Dir(path)); len(got) != 1 {
			t.Errorf("left behind: %v", got)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm()&^outputMode != 0 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
	}
}

func TestFileAborted(t *testing.T) {
	t.Parallel()
	path := write(t, "a.bag", []byte("old"))
	p, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	p.Abort()
	p.Abort()
	wantContent(t, path, "old")
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// TestFileExists checks that a file is replaced only if that was asked for,
// also if it appears while the new one is being written.
func TestFileExists(t *testing.T) {
	t.Parallel()
	path := write(t, "a.bag", []byte("old"))
	if _, err := Create(path, false); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	late := filepath.Join(t.TempDir(), "late.bag")
	for _, force := range []bool{false, true} {
		p, err := Create(late, force)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(late, []byte("somebody else's"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(); force != (err == nil) || !force && !errors.Is(err, ErrExists) {
			t.Errorf("force %v: got %v", force, err)
		}
		if got := names(t, filepath.Dir(late)); len(got) != 1 {
			t.Errorf("left behind: %v", got)
		}
		if !force {
			wantContent(t, late, "somebody else's")
			if err := os.Remove(late); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantContent(t, late, "")
	link := filepath.Join(t.TempDir(), "link.bag")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(link, false); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{t.TempDir(), filepath.Join(t.TempDir(), "no", "a.bag"), os.DevNull, path + "/a.bag"} {
		if p, err := Create(bad, true); err == nil {
			p.Abort()
			t.Errorf("%s was made", bad)
		}
	}
}

// TestFileRace lets many writers want the same name: one gets it.
func TestFileRace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.bag")
	var won atomic.Int32
	var winner atomic.Value
	var all []*File
	for n := range 16 {
		p, err := Create(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(p, n); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	var wg sync.WaitGroup
	for n, p := range all {
		text := fmt.Sprint(n)
		wg.Go(func() {
			if err := p.Commit(); err == nil {
				won.Add(1)
				winner.Store(text)
			} else if !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d writers won", won.Load())
	}
	wantContent(t, path, winner.Load().(string))
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// TestPlacement checks what is where when a bag is rewritten in its place.
func TestPlacement(t *testing.T) {
	t.Parallel()
	path := write(t, "a.bag", []byte("old"))
	dir := filepath.Dir(path)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := NewPlaces(nil, "", false).Place(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, "old")
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, "new")
	wantContent(t, filepath.Join(dir, "a.orig.bag"), "old")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if _, err := NewPlaces(nil, dir, false).Place(path); err == nil {
		t.Error("the backup would be overwritten")
	}
	if p, err = NewPlaces(nil, dir, true).Place(path); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, "")
	wantContent(t, filepath.Join(dir, "a.orig.bag"), "new")
	if p, err = NewPlaces(nil, t.TempDir(), false).Place(path); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContent(t, filepath.Join(dir, "a.orig.bag"), "new")
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("left behind: %v", got)
	}
}

// TestUnoffered tells directories that cannot be synced from disks that fail.
func TestUnoffered(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.EACCES: true, syscall.EIO: false, syscall.ENOSPC: false, os.ErrNotExist: false,
	} {
		if got := isSyncUnsupported(errors.Join(&os.PathError{Op: "sync", Path: ".", Err: err})); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := SyncDir(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Join(t.TempDir(), "no")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
