package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModes: a copy in a directory, and the file with its metadata, can be read by nobody who cannot read the bag.
func TestModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[fs.FileMode]fs.FileMode{0: 0o640, 0o600: 0o600, 0o644: 0o644} {
		dir := t.TempDir()
		b, err := OpenBucket(t.Context(), "file://"+filepath.ToSlash(dir), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		sums, err := b.Sum(t.Context(), strings.NewReader("a bag"), 5)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Put(t.Context(), &File{ReaderAt: strings.NewReader("a bag"), Name: "2026/a.bag", Sums: sums, Mode: mode}); err != nil {
			t.Fatal(err)
		}
		if err := b.WriteAll(t.Context(), "2026/summary", []byte("text")); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]fs.FileMode{"a.bag": want, "a.bag.attrs": want, "summary": 0o640, "summary.attrs": 0o640} {
			st, err := os.Stat(filepath.Join(dir, "2026", name))
			if err != nil {
				t.Fatal(err)
			}
			if st.Mode() != want {
				t.Errorf("mode %v: %s has %v, want %v", mode, name, st.Mode(), want)
			}
		}
	}
}
