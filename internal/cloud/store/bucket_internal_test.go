package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// TestReplacedUnchecked: also below a driver whose responses are not checked, as that for directories,
// an object that was replaced is noticed by its size or time.
func TestReplacedUnchecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.bag")
	write := func(size int, at int64) {
		err := os.WriteFile(file, make([]byte, size), 0o600)
		if err = errors.Join(err, os.Chtimes(file, time.Time{}, time.Unix(at, 0))); err != nil {
			t.Fatal(err)
		}
	}
	write(1000, 1)
	at, err := place.Parse("file://" + filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	at.Key = "a.bag"
	r, size, err := openBlob(t.Context(), at)
	if err != nil || size != 1000 {
		t.Fatal(size, err)
	}
	defer r.Close()
	for _, tt := range []struct {
		size int
		at   int64
		want error
	}{{1000, 1, nil}, {1001, 1, place.ErrChanged}, {1000, 2, place.ErrChanged}} {
		write(tt.size, tt.at)
		body, err := r.Open(t.Context(), 10, 10)
		if err == nil {
			_, err = io.ReadAll(body)
			err = errors.Join(err, body.Close())
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%d bytes of second %d: %v", tt.size, tt.at, err)
		}
	}
}

// TestChangedDuringUpload: a file whose content is no longer that of its checksums becomes no object, and the error
// does not speak of another object.
func TestChangedDuringUpload(t *testing.T) {
	t.Parallel()
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
	err = b.Put(t.Context(), &File{ReaderAt: strings.NewReader("a bug"), Name: "a.bag", Sums: sums})
	if !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}
