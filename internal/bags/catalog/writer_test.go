package catalog_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"

	"github.com/gorosbag/gorosbag/internal/bags/catalog"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWriter: every bag that is added is found, and the number of files stays small.
func TestWriter(t *testing.T) {
	t.Parallel()
	bag, err := os.ReadFile("../../../bagfmt/testdata/cpp_lz4.bag")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b, err := store.OpenBucket(t.Context(), "file://"+dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const bags = 120
	w := catalog.NewWriter(b, zaptest.NewLogger(t))
	for i := range bags {
		name := fmt.Sprintf("day%d/%d.bag", i%3, i)
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bag, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 1 + i%2 { // as after a crash
			if err := w.Add(t.Context(), name, int64(len(bag)), "sum", bytes.NewReader(bag)); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, catalog.Folder, "*.jsonl.gz"))
	if err != nil || len(files) == 0 || len(files) > 100 {
		t.Errorf("%d files, %v", len(files), err)
	}
	c, err := catalog.Load(t.Context(), b, catalog.Options{Problem: func(name string, err error) { t.Error(name, err) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Bags) != bags || c.Read != 0 || c.Dropped != 0 {
		t.Errorf("%d bags, %d read, %d dropped", len(c.Bags), c.Read, c.Dropped)
	}
	for _, s := range c.Bags {
		if s.SHA256 != "sum" || s.Robot == "" || len(s.Topics) == 0 || s.Error != "" {
			t.Fatalf("%+v", s)
		}
	}
}

// TestMergeIsBounded: small files that unpack to large ones do not fill the memory of the recorder that
// merges them. Files beyond the bound of one merge are left for the next merge, and no line is lost.
func TestMergeIsBounded(t *testing.T) {
	testkit.SkipInRace(t, "160 MB are packed, and a merge has a time limit")
	testkit.SkipUnlessFull(t, "160 MB are unpacked and packed, for two seconds of processor time")
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, catalog.Folder)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const files = 70
	pack := func(text string) []byte {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return packed.Bytes()
	}
	long := pack(strings.Repeat("a", 2<<20)) // packed once: a gzip stream may have parts
	for i := range files {
		lines := 1
		if i == 0 {
			lines = 10 // of 2 MiB each: more than any good file has
		}
		var packed []byte
		for line := range lines {
			packed = slices.Concat(packed, pack(fmt.Sprintf(`{"bag":"%d_%d.bag","notes":{"a":"`, i, line)), long, pack(`"}}`+"\n"))
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.jsonl.gz", i)), packed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := store.OpenBucket(t.Context(), "file://"+dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	bag, err := os.ReadFile("../../../bagfmt/testdata/cpp_lz4.bag")
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.NewWriter(b, zaptest.NewLogger(t)).Add(t.Context(), "new.bag", int64(len(bag)), "sum", bytes.NewReader(bag)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "?.jsonl.gz"))
	more, err2 := filepath.Glob(filepath.Join(folder, "??.jsonl.gz"))
	if n := len(left) + len(more); err != nil || err2 != nil || n < files-16 || n == files {
		t.Errorf("%d files of %d are left, %v, %v", n, files, err, err2)
	}
	if _, err := os.Stat(filepath.Join(folder, "0.jsonl.gz")); err != nil {
		t.Errorf("a file that was not read: %v", err)
	}
}
