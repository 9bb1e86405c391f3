package bagfmt

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/queue/inorder"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestSealAheadMemory: one chunk is filled, as many as there are workers are sealed, and
// one waits. What is given back is used again.
func TestSealAheadMemory(t *testing.T) {
	t.Parallel()
	const workers = 3
	a, err := newSealAhead(rosbag.CompressionLZ4, workers)
	if err != nil {
		t.Fatal(err)
	}
	w := &Writer{ahead: a}
	var jobs []*sealJob
	for !w.sealsFull() {
		if jobs = append(jobs, a.Job()); len(jobs) > workers+2 {
			t.Fatalf("memory for more than %d chunks", workers+2)
		}
	}
	if len(jobs) != workers+2 {
		t.Errorf("memory for %d chunks, want %d", len(jobs), workers+2)
	}
	for _, j := range jobs {
		a.Recycle(j)
	}
	for i := range jobs {
		if w.sealsFull() {
			t.Errorf("full with %d of %d chunks in use", i, len(jobs))
		}
		if j := a.Job(); !slices.Contains(jobs, j) {
			t.Error("a chunk was made in place of one that came back")
		}
	}
	if !w.sealsFull() {
		t.Error("there is memory for more")
	}
}

// TestSealJob: what a worker packs is packed into the memory of the chunk before, and
// what goes wrong is an error, a panic too.
func TestSealJob(t *testing.T) {
	t.Parallel()
	z, err := chunk.NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		t.Fatal(err)
	}
	c := &rosbag.Connection{Topic: "/a"}
	var j sealJob
	fill := func() {
		j.builder.Reset(nil)
		j.builder.AppendMessage(c, rosbag.Time{Sec: 1}, bytes.Repeat([]byte("x"), 10_000))
	}
	fill()
	if j.seal(z); j.err != nil {
		t.Fatal(j.err)
	}
	first := &j.chunk.Record[0]
	fill()
	if j.seal(z); j.err != nil || &j.chunk.Record[0] != first {
		t.Errorf("the record of the second chunk is in other memory, %v", j.err)
	}
	j.builder.Reset(nil)
	if j.seal(z); j.err == nil {
		t.Errorf("an empty chunk: %v", j.err)
	}
	j.builder.BeginMessage(c, 100)
	if j.seal(z); j.err == nil || !strings.Contains(j.err.Error(), "Seal inside a message") {
		t.Errorf("a chunk with half a message: %v", j.err)
	}
}

// TestFillWhileSealing: Write goes on while all that was handed over still waits
// for a worker.
func TestFillWhileSealing(t *testing.T) {
	t.Parallel()
	var b buffer
	w, err := NewWriter(&b, WriterOptions{Compression: rosbag.CompressionLZ4, ChunkBytes: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	empty := w.Size()
	z, err := chunk.NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		t.Fatal(err)
	}
	busy := make(chan struct{})
	w.ahead = inorder.New([]*chunk.Compressor{z}, func(j *sealJob, z *chunk.Compressor) {
		<-busy
		j.seal(z)
	})
	for range 2 { // a chunk each; there is memory for three
		if err := w.Write(c, rosbag.Time{Sec: 1}, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if w.Size() != empty {
		t.Error("a chunk is written that nobody has sealed")
	}
	close(busy)
	if err := w.Close(); err != nil || w.chunks != 2 {
		t.Errorf("%d chunks, want 2, %v", w.chunks, err)
	}
}
