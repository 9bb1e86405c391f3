package bags_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/bags"
	_ "github.com/gorosbag/gorosbag/internal/ros2/db3/sqlite" // recordings of ROS 2
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const goodBag = "../../bagfmt/testdata/cpp_lz4.bag"

// files makes empty files of these names in a new directory.
func files(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNames(t *testing.T) {
	t.Parallel()
	dir := files(t, "b.bag", "a.bag", "a.orig.bag", "c.orig.bag", "d.bag.active", ".hidden.bag", "notes.txt")
	if err := os.Mkdir(filepath.Join(dir, "sub.bag"), 0o700); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for name, tc := range map[string]struct {
		args []string // below dir
		want []string // below dir; or one error
	}{
		"files":           {[]string{"/b.bag", "/a.bag", "/no.bag"}, []string{"/b.bag", "/a.bag", "/no.bag"}},
		"directory":       {[]string{""}, []string{"/a.bag", "/b.bag", "/c.orig.bag", "/d.bag.active"}},
		"pattern":         {[]string{"/[ab].bag"}, []string{"/a.bag", "/b.bag"}},
		"pattern of none": {[]string{"/x*.bag"}, []string{"/x*.bag: no such files"}},
		"bad pattern":     {[]string{"/[a.bag"}, []string{"/[a.bag: syntax error in pattern"}},
	} {
		var args []string
		for _, arg := range tc.args {
			args = append(args, dir+arg)
		}
		got, err := bags.Names(t.Context(), args)
		if err != nil {
			got = []string{err.Error()}
		}
		for i := range got {
			got[i] = strings.TrimPrefix(filepath.ToSlash(got[i]), filepath.ToSlash(dir))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if _, err := bags.Names(t.Context(), []string{empty}); err == nil || err.Error() != empty+": no bags in this directory" {
		t.Errorf("an empty directory: %v", err)
	}
}

// TestNamesBesideROS2: bags are listed although there are files whose names recordings of ROS 2 have,
// too. Only a metadata.yaml of ROS 2 makes the directory one recording.
func TestNamesBesideROS2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		metadata string // empty: no metadata.yaml
		others   []string
		want     []string // below the directory
	}{
		{"title: drive to work\n", []string{"a.bag"}, []string{"/a.bag"}},
		{"", []string{"a.bag", "photos.db3"}, []string{"/a.bag"}},
		{"version: 5\nstorage_identifier: sqlite3\nrelative_file_paths: [r_0.db3]\n", []string{"back.bag", "r_0.db3"}, []string{""}},
		{"", []string{"r_0.db3"}, []string{""}},
	} {
		dir := files(t, c.others...)
		if c.metadata != "" {
			if err := os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte(c.metadata), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := bags.Names(t.Context(), []string{dir})
		for i := range got {
			got[i] = strings.TrimPrefix(filepath.ToSlash(got[i]), filepath.ToSlash(dir))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("metadata.yaml %q beside %q: %q, %v; want %q", c.metadata, c.others, got, err, c.want)
		}
	}
}

// TestRecordings reads the same messages from a file and from a pipe.
func TestRecordings(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	file, err := bags.Open(t.Context(), goodBag, bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := bags.OpenPipe(t.Context(), bytes.NewReader(b), bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if file.Size != int64(len(b)) || file.Bag() == nil || pipe.Pipe == nil {
		t.Errorf("the file is %+v, the pipe %+v", file, pipe)
	}
	for name, r := range map[string]*bags.Recording{"file": file, "pipe": pipe} {
		n := 0
		for m, err := range r.Messages(rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.Topic == "/count" }}) {
			if err != nil || m.Conn.Topic != "/count" {
				t.Errorf("%s: %v, %v", name, m, err)
			}
			n++
		}
		topics := r.Topics()
		slices.Sort(topics)
		if n != 25 || !slices.Equal(topics, []string{"/count", "/latched"}) || r.Elapsed() || r.Encrypted() {
			t.Errorf("%s: %d messages, topics %q", name, n, topics)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// blocked is a stream that sends nothing until it is released.
type blocked struct{ released chan struct{} }

func (b blocked) Read([]byte) (int, error) {
	<-b.released
	return 0, errors.New("released")
}

// TestPipeInterrupted: opening a pipe that sends nothing ends with the context.
func TestPipeInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := blocked{make(chan struct{})}
	defer close(b.released)
	if _, err := bags.OpenPipe(ctx, b, bags.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestUnusable checks what is told of files that are no bags.
func TestUnusable(t *testing.T) {
	t.Parallel()
	dir := files(t, "run1.bag", "crash.bag.active")
	for path, want := range map[string]string{
		"no.bag":                           "no such file",
		filepath.Join(dir, "run1"):         "no such file; did you mean " + filepath.Join(dir, "run1.bag") + "?",
		filepath.Join(dir, "run.bag"):      "no such file; did you mean " + filepath.Join(dir, "run1.bag") + "?",
		filepath.Join(dir, "crash.bag"):    "no such file; crash.bag.active is there: it is being recorded, or was not closed",
		filepath.Join(dir, "other.bag"):    "no such file",
		t.TempDir():                        "is a directory; name the bag files in it",
		os.DevNull:                         "is not a regular file; copy the bag to one",
		filepath.Join(files(t, "e"), "e"):  "not a bag: empty file",
		"../../bagfmt/testdata/no/such/at": "no such file",
	} {
		if _, err := bags.Open(t.Context(), path, bags.Options{}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
