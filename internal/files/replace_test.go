package files

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCommitFails has the input change, and the backup appear, while the new version is
// written.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		force  bool
		change func(path string) error
		files  []string
		want   string // in path afterwards
	}{
		"backup appears": {false, func(path string) error {
			return os.WriteFile(strings.TrimSuffix(path, ".bag")+".orig.bag", []byte("other"), 0o600)
		}, []string{"a.bag", "a.orig.bag"}, "old"},
		"written to": {true, func(path string) error {
			return os.WriteFile(path, []byte("old and more"), 0o600)
		}, []string{"a.bag"}, "old and more"},
		"another file": {true, func(path string) error {
			return os.Rename(path, path+".moved")
		}, []string{"a.bag.moved"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, "a.bag", []byte("old"))
			p, err := NewPlaces([]string{path}, "", tt.force).Place(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.change(path); err != nil {
				t.Fatal(err)
			}
			if err := p.Commit(); err == nil {
				t.Error("no error")
			}
			if got := names(t, filepath.Dir(path)); !slices.Equal(got, tt.files) {
				t.Errorf("files %v, want %v", got, tt.files)
			}
			if tt.want != "" {
				wantContent(t, path, tt.want)
			}
		})
	}
}

// TestPublishFails has the new version not get its name, once the original has that of
// the backup: what was done is undone.
// TestDirectoryIsGone: the error is about the new version and its directory, not about the original.
func TestDirectoryIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	original, out := filepath.Join(dir, "a.bag"), filepath.Join(dir, "out")
	if err := errors.Join(os.WriteFile(original, []byte("a"), 0o600), os.Mkdir(out, 0o700)); err != nil {
		t.Fatal(err)
	}
	p, err := NewPlaces([]string{original}, out, false).Place(original)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(out, "a.bag") + ": the directory is gone, or somebody has removed the new file from it"
	if err := p.Commit(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestPublishFails(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{true, false} {
		path := write(t, "a.bag", []byte("old"))
		p, err := NewPlaces([]string{path}, "", false).Place(path)
		if err != nil {
			t.Fatal(err)
		}
		if linked {
			err = os.Link(path, p.backup)
		} else {
			err = os.Rename(path, p.backup) // what Commit does without links
		}
		if err != nil {
			t.Fatal(err)
		}
		p.restore()
		p.Abort()
		wantContent(t, path, "old")
		if got := names(t, filepath.Dir(path)); !slices.Equal(got, []string{"a.bag"}) {
			t.Errorf("files %v", got)
		}
	}
}
