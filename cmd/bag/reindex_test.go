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
