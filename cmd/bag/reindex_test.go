package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/rosbag"
)

// readFile returns the bytes of a file.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// count returns the messages of a bag that has to have a good index.
func count(t *testing.T, path string) uint64 {
	t.Helper()
	b := readFile(t, path)
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{IndexOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.Info().Messages
}

func TestReindex(t *testing.T) {
	t.Parallel()
	killed := readFile(t, "../../bagfmt/testdata/cpp_killed.bag")
	good := readFile(t, goodBag)
	tests := map[string]struct {
		name   string
		in     []byte
		args   []string
		code   int
		files  []string
		want   uint64
		stderr []string
	}{
		"killed":  {"a.bag.active", killed, nil, 0, []string{"a.bag.active", "a.bag.orig.active"}, 115, []string{"kept 115 messages; the original is ", "a.bag.orig.active; rename a.bag.active to a.bag\n", "was not completed"}},
		"torn":    {"a.bag", killed[:len(killed)-5], nil, 3, []string{"a.bag", "a.orig.bag"}, 114, []string{"truncated: message at ", "bytes 1", "kept 114 messages, and how many are lost"}},
		"quiet":   {"a.bag", killed, []string{"-q"}, 0, []string{"a.bag", "a.orig.bag"}, 115, nil},
		"good":    {"a.bag", good, nil, 0, []string{"a.bag", "a.orig.bag"}, 26, []string{"kept 26 messages"}},
		"nothing": {"a.bag", good[:4300], nil, 1, []string{"a.bag"}, 0, []string{"truncated: ", "no message can be read; it is left as it was"}},
		"no bag":  {"a.bag", []byte("hello\n"), nil, 1, []string{"a.bag"}, 0, []string{"not a bag"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tc.name, tc.in)
			dir := filepath.Dir(path)
			code, stdout, stderr := gobag(slices.Concat([]string{"reindex"}, tc.args, []string{path})...)
			if code != tc.code || stdout != "" {
				t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			for _, want := range tc.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q, want %q", stderr, want)
				}
			}
			if tc.stderr == nil && stderr != "" {
				t.Errorf("stderr %q", stderr)
			}
			if got := names(t, dir); !slices.Equal(got, tc.files) {
				t.Fatalf("files %v, want %v", got, tc.files)
			}
			if len(tc.files) == 1 {
				if !bytes.Equal(readFile(t, path), tc.in) {
					t.Error("the input was changed")
				}
				return
			}
			if !bytes.Equal(readFile(t, filepath.Join(dir, tc.files[1])), tc.in) {
				t.Error("the backup is not the original")
			}
			if got := count(t, path); got != tc.want {
				t.Errorf("%d messages, want %d", got, tc.want)
			}
		})
	}
}

// TestReindexBackup has a backup from before.
func TestReindexBackup(t *testing.T) {
	t.Parallel()
	killed := readFile(t, "../../bagfmt/testdata/cpp_killed.bag")
	path := write(t, "a.bag", killed)
	backup := filepath.Join(filepath.Dir(path), "a.orig.bag")
	if err := os.WriteFile(backup, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := gobag("reindex", path)
	if code != 1 || !strings.Contains(stderr, "skipped: the backup") || string(readFile(t, backup)) != "old" || !bytes.Equal(readFile(t, path), killed) {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	code, _, stderr = gobag("reindex", "-f", path)
	if code != 0 || !bytes.Equal(readFile(t, backup), killed) || count(t, path) != 115 {
		t.Errorf("with -f: code %d, stderr %q", code, stderr)
	}
}

// TestReindexSeveral writes two bags to a directory, one of an old version, and goes on
// after one that cannot be read.
func TestReindexSeveral(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := write(t, "old.bag", []byte("#ROSRECORD V1.1\n/a\n992ce8a1687cec8c8bd883ec73ca41d1\nstd_msgs/String\n\x01\x00\x00\x00\x02\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00x"))
	killed := write(t, "k.bag", readFile(t, "../../bagfmt/testdata/cpp_killed.bag"))
	code, _, stderr := gobag("reindex", "--output-dir", dir, old, filepath.Join(dir, "no.bag"), killed)
	if code != 1 || !strings.Contains(stderr, "no such file") {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"k.bag", "old.bag"}) {
		t.Fatalf("files %v", got)
	}
	if a, b := count(t, filepath.Join(dir, "k.bag")), count(t, filepath.Join(dir, "old.bag")); a != 115 || b != 1 {
		t.Errorf("%d and %d messages", a, b)
	}
	if got := names(t, filepath.Dir(killed)); len(got) != 1 {
		t.Errorf("beside the input: %v", got)
	}
}

// TestReindexInterrupted leaves the input as it was.
func TestReindexInterrupted(t *testing.T) {
	t.Parallel()
	path := write(t, "a.bag", bigBag(t, 8<<20))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var o, e bytes.Buffer
	code := run(ctx, []string{"reindex", path}, job.NewOutput(strings.NewReader(""), &o, &e))
	if code != 1 || !strings.Contains(e.String(), "interrupted") {
		t.Errorf("code %d, stderr %q", code, e.String())
	}
	if got := names(t, filepath.Dir(path)); !slices.Equal(got, []string{"a.bag"}) {
		t.Errorf("files %v", got)
	}
}

// bigBag is a bag with more than size bytes of messages.
func bigBag(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/a", rosbag.Header{{Key: "type", Value: "std_msgs/String"}})
	if err != nil {
		t.Fatal(err)
	}
	text := append(binary.LittleEndian.AppendUint32(nil, 99_996), make([]byte, 99_996)...)
	for n := range size/100_000 + 1 {
		if err := w.Write(c, rosbag.Time{Sec: uint32(n)}, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
