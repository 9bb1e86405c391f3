package folder_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/folder"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// open opens the directory of a URL.
func open(t *testing.T, dir, parameters string) *folder.Folder {
	t.Helper()
	at, err := place.Parse("file://" + filepath.ToSlash(dir) + parameters)
	if err != nil {
		t.Fatal(err)
	}
	d, err := folder.New(at, put.NewMeter(0))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// file returns a file to upload.
func file(t *testing.T, content io.ReaderAt, size int64) *put.File {
	t.Helper()
	sums, err := put.Sum(t.Context(), content, size, size)
	if err != nil {
		t.Fatal(err)
	}
	return &put.File{ReaderAt: content, Sums: sums, Metadata: map[string]string{"host": "r1"}}
}

// names returns the names of all files below a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unmounting is a file that, when it is read, takes the directory away, as unmounting does.
type unmounting struct {
	io.ReaderAt
	t        *testing.T
	from, to string
}

// ReadAt implements io.ReaderAt.
func (u *unmounting) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		if err := os.Rename(u.from, u.to); err != nil {
			u.t.Error(err)
		}
	}
	return u.ReaderAt.ReadAt(p, off)
}

// TestNeverMadeAgain: a directory that goes away is not made again, on the disk of the system, at whichever step of
// an upload it goes, and whatever else is asked of it.
func TestNeverMadeAgain(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a.bag", "2026/11/a.bag"} {
		top := t.TempDir()
		dir, aside := filepath.Join(top, "bags"), filepath.Join(top, "aside")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		d := open(t, dir, "")
		f := file(t, strings.NewReader("a bag"), 5)
		if err := d.Put(t.Context(), key, f); err != nil {
			t.Fatal(err)
		}
		f.ReaderAt = &unmounting{f.ReaderAt, t, dir, aside}
		during := d.Put(t.Context(), key, f) // it goes between the first and the last step
		f.ReaderAt = strings.NewReader("a bag")
		_, attributes := d.Attributes(t.Context(), key)
		_, opened := d.Open(t.Context(), key, 0, -1)
		var listed error
		for _, err := range d.List(t.Context(), "", true) {
			listed = err
		}
		for what, err := range map[string]error{
			"during an upload": during, "before an upload": d.Put(t.Context(), key, f), "attributes": attributes, "open": opened,
			"list": listed, "delete": d.Delete(t.Context(), key),
		} {
			if !errors.Is(err, place.ErrNotFound) || !strings.Contains(err.Error(), "no such directory: make or mount it") {
				t.Errorf("%s, %s: %v", key, what, err)
			}
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory is there again: %v", key, err)
		}
		if err := d.Put(t.Context(), key, f); err == nil {
			t.Error("an upload without its directory succeeds")
		}
		if err := os.Rename(aside, dir); err != nil {
			t.Fatal(err)
		}
		if err := d.Put(t.Context(), key, f); err != nil {
			t.Error(err)
		}
	}
}

// TestCreateDirectory: only a URL that demands it has its directory made.
func TestCreateDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, dir, "?create_dir=true&dir_file_mode=0750&metadata=skip")
	for range d.List(t.Context(), "", true) {
		t.Error("an object in no directory")
	}
	if _, err := d.Attributes(t.Context(), "x.bag"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := d.Put(t.Context(), "c/x.bag", file(t, strings.NewReader("a bag"), 5)); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"c/x.bag"}) {
		t.Errorf("%q", got)
	}
	if st, err := os.Stat(filepath.Join(dir, "c")); err != nil || st.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// TestExclusive: an upload that must not replace an object leaves it and its metadata as they are.
func TestExclusive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, "")
	first, second := file(t, strings.NewReader("one"), 3), file(t, strings.NewReader("another"), 7)
	first.Exclusive, second.Exclusive = true, true
	if err := d.Put(t.Context(), "a.bag", first); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), "a.bag", second); !errors.Is(err, place.ErrExists) {
		t.Errorf("%v", err)
	}
	a, err := d.Attributes(t.Context(), "a.bag")
	if err != nil || a.Size != 3 || a.Metadata[put.MetaSHA256] != first.SHA256 || a.Metadata["host"] != "r1" {
		t.Errorf("%+v, %v", a, err)
	}
	second.Exclusive = false
	if err := d.Put(t.Context(), "a.bag", second); err != nil {
		t.Error(err)
	}
	if a, err := d.Attributes(t.Context(), "a.bag"); err != nil || a.Size != 7 || a.Metadata[put.MetaSHA256] != second.SHA256 {
		t.Errorf("%+v, %v", a, err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a.bag", "a.bag.attrs"}) {
		t.Errorf("%q", got)
	}
}

// TestFailedUpload: an upload that fails, or that is canceled, leaves nothing.
func TestFailedUpload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, "")
	f := file(t, strings.NewReader("a bag"), 5)
	f.ReaderAt = strings.NewReader("a bug")
	if err := d.Put(t.Context(), "a.bag", f); !errors.Is(err, place.ErrChanged) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.ReaderAt = strings.NewReader("a bag")
	if err := d.Put(ctx, "a.bag", f); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "b.bag"), 0o700); err != nil { // the last step fails
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), "b.bag", f); err == nil {
		t.Error("a directory is replaced")
	}
	if err := d.Put(t.Context(), "c.attrs", f); err == nil {
		t.Error("an object has the name of metadata")
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("%q are left", got)
	}
}

// TestWrittenByGocloud: what fileblob of gocloud.dev has written beside an object is read.
func TestWrittenByGocloud(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const notes = `{"user.cache_control":"","user.content_disposition":"","user.content_encoding":"","user.content_language":"",` +
		`"user.content_type":"application/octet-stream","user.metadata":{"host":"r1","sha256":"ab"},"md5":"eqDAHkC0/x9gNJNVkmRZUg=="}` + "\n"
	for name, text := range map[string]string{"a.bag": "a bag", "a.bag.attrs": notes, "b.bag": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir, "?no_tmp_dir=true")
	a, err := d.Attributes(t.Context(), "a.bag")
	if err != nil || a.Metadata["host"] != "r1" || a.Metadata["sha256"] != "ab" || len(a.MD5) != 16 || a.Size != 5 {
		t.Errorf("%+v, %v", a, err)
	}
	if b, err := d.Attributes(t.Context(), "b.bag"); err != nil || b.MD5 != nil || len(b.Metadata) > 0 {
		t.Errorf("%+v, %v", b, err)
	}
	f := file(t, strings.NewReader("a bag"), 5)
	f.Metadata = map[string]string{"host": "r1"}
	if err := d.Put(t.Context(), "c.bag", f); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "c.bag.attrs"))
	if want := strings.Replace(notes, `"ab"`, `"`+f.SHA256+`"`, 1); err != nil || string(got) != want {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	for _, key := range []string{"c.bag", "b.bag"} {
		if err := d.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a.bag", "a.bag.attrs"}) {
		t.Errorf("%q", got)
	}
}

// TestParameters: a parameter that the URL of a directory cannot have is an error.
func TestParameters(t *testing.T) {
	t.Parallel()
	for parameters, want := range map[string]string{
		"?creat_dir=true": `unknown query parameter "creat_dir"`, "?dir_file_mode=rwx": "invalid dir_file_mode", "?metadata=no": "invalid metadata",
	} {
		at, err := place.Parse("file:///tmp" + parameters)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := folder.New(at, put.NewMeter(0)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}

// TestListLinked: a directory, or a folder in it, that is named by a link has the objects of the one it points to.
func TestListLinked(t *testing.T) {
	dir := t.TempDir()
	all := filepath.Join(dir, "all")
	if err := errors.Join(os.MkdirAll(filepath.Join(all, "d"), 0o700), os.WriteFile(filepath.Join(all, "a.bag"), nil, 0o600),
		os.WriteFile(filepath.Join(all, "d", "b.bag"), nil, 0o600), os.Symlink(all, filepath.Join(dir, "link")),
		os.Symlink("d", filepath.Join(all, "e"))); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"all", "link"} {
		d := open(t, filepath.Join(dir, root), "")
		for prefix, want := range map[string]string{"": "a.bag", "d/": "d/b.bag", "e/": "e/b.bag"} {
			var got []string
			for o, err := range d.List(t.Context(), prefix, false) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, o.Key)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, %q: %q, want %s", root, prefix, got, want)
			}
		}
	}
}
