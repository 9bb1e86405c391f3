package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// makeFiles makes empty files and their folders.
func makeFiles(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestExpand: URLs of folders and patterns stand for what is in the store.
func TestExpand(t *testing.T) {
	t.Parallel()
	dir := makeFiles(t, "a.bag", "a.bag.attrs", "b.bag", "notes.txt", "[x].bag", "r1/c.bag", "r1/d.bag", "r2/c.bag", "empty/none.txt")
	isBag := func(name string) bool { return strings.HasSuffix(name, ".bag") }
	for _, test := range []struct {
		place string
		want  []string
		err   string
	}{
		{"/a.bag", []string{"/a.bag"}, ""},
		{"/nothing.bag", []string{"/nothing.bag"}, ""}, // told when it is opened
		{"", []string{"/%5Bx%5D.bag", "/a.bag", "/b.bag"}, ""},
		{"/", []string{"/%5Bx%5D.bag", "/a.bag", "/b.bag"}, ""},
		{"/r1/", []string{"/r1/c.bag", "/r1/d.bag"}, ""},
		{"/r1", []string{"/r1/c.bag", "/r1/d.bag"}, ""},
		{"/*.bag", []string{"/%5Bx%5D.bag", "/a.bag", "/b.bag"}, ""},
		{"/[ab].bag", []string{"/a.bag", "/b.bag"}, ""},
		{"/[x].bag", []string{"/%5Bx%5D.bag"}, ""},
		{"/*/c.bag", []string{"/r1/c.bag", "/r2/c.bag"}, ""},
		{"/r*/*", []string{"/r1/c.bag", "/r1/d.bag", "/r2/c.bag"}, ""},
		{"/empty/", nil, ""},
		{"/*.mcap", nil, ""},
		{"/nowhere/", nil, "no such directory"},
		{"/a[", nil, "a [ without its ]"},
	} {
		got, err := store.Expand(t.Context(), "file://"+dir+test.place, isBag)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "file://"+dir)
		}
		if !slices.Equal(got, test.want) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, %v", test.place, got, err)
		}
	}
	if got, err := store.Expand(t.Context(), "https://example.org/a/", isBag); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestList lists a directory with all below it, and a folder alone.
func TestList(t *testing.T) {
	t.Parallel()
	dir := makeFiles(t, "a.bag", "a.bag.attrs", "x/b.bag", "x/y/c.bag", "z")
	b, err := store.OpenBucket(t.Context(), "file://"+dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var all, in []string
	for e, err := range b.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Name)
	}
	for e, err := range b.ListIn(t.Context(), "x") {
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, e.Name)
	}
	for range b.ListIn(t.Context(), "nothing") {
		t.Error("a folder that is not there has objects")
	}
	if !slices.Equal(all, []string{"a.bag", "x/b.bag", "x/y/c.bag", "z"}) || !slices.Equal(in, []string{"x/b.bag"}) {
		t.Errorf("%q, %q", all, in)
	}
}
