package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
)

// makeBag writes a bag with a message on each topic, ten seconds apart, and notes.
func makeBag(t *testing.T, path string, start time.Time, topics []string, notes ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, topic := range topics {
		c, err := w.AddConnection(topic, rosbag.Header{
			{Key: "topic", Value: topic},
			{Key: "type", Value: note.Type},
			{Key: "md5sum", Value: note.MD5Sum},
			{Key: "message_definition", Value: note.Definition},
		})
		if err != nil {
			t.Fatal(err)
		}
		at := rosbag.TimeOf(start.Add(time.Duration(i) * 10 * time.Second))
		if err := w.Write(c, at, []byte("\x01\x00\x00\x00x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(notes) > 0 {
		if code, _, stderr := gobag(append([]string{"note", "-q", path}, notes...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
}
