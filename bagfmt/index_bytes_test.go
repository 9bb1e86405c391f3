package bagfmt_test

import (
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestIndexBytes: what is said before a chunk is written is what Close then adds.
func TestIndexBytes(t *testing.T) {
	t.Parallel()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conns, _ := sample(1)
	for i := range 5 {
		var b chunk.Builder
		b.Reset(nil)
		for _, c := range conns[:1+i%len(conns)] { // the first time, and known ones
			b.AppendRun(c, rosbag.Time{Sec: 1}, []byte{1, 0, 0, 0, 7}, 1)
		}
		c := seal(t, &b, nil)
		said := w.IndexBytes(c)
		if err := w.WriteChunk(c); err != nil {
			t.Fatal(err)
		}
		if got := w.IndexBytes(nil); got != said {
			t.Errorf("chunk %d: %d bytes with it, %d after it", i, said, got)
		}
	}
	size, said := w.Size(), w.IndexBytes(nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := int64(len(f.b)) - size; got != said {
		t.Errorf("Close wrote %d bytes, %d were said", got, said)
	}
}
