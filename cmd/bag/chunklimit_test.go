package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestMaxChunk has a chunk of a few kB that unpacks to 2 MiB: each command that unpacks it names the
// option that allows it, and takes it with that option.
func TestMaxChunk(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "whole.bag")
	f, err := os.Create(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{Compression: rosbag.CompressionBZ2})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/a", rosbag.Header{
		{Key: "type", Value: "std_msgs/UInt8MultiArray"}, {Key: "md5sum", Value: "*"}, {Key: "message_definition", Value: ""},
	})
	if err == nil {
		err = w.Write(c, rosbag.Time{Sec: 1}, make([]byte, 2<<20))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "o.bag")
	for _, command := range []string{"check BAG", "info -v BAG", "filter -f BAG " + out + " true", "decompress -f BAG", "reindex -f BAG"} {
		path := write(t, "a.bag", readFile(t, whole))
		args := strings.Fields(strings.ReplaceAll(command, "BAG", path))
		code, stdout, stderr := gobag(append(args, "--max-chunk=1M")...)
		if code == 0 || !strings.Contains(stdout+stderr, "a larger --max-chunk unpacks it") {
			t.Errorf("%s: code %d, %q, %q", command, code, stdout, stderr)
		}
		if code, stdout, stderr := gobag(append(args, "--max-chunk=3M")...); code != 0 {
			t.Errorf("%s: code %d, %q, %q", command, code, stdout, stderr)
		}
	}
	if code, _, stderr := gobag("info", "--max-chunk=2G", goodBag); code != 1 || !strings.Contains(stderr, "want a size up to 2047M") {
		t.Errorf("code %d, %q", code, stderr)
	}
}
