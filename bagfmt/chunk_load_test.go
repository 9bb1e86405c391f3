package bagfmt_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestFileChangesBehindCache overwrites a chunk that a Cursor has read, checked and
// forgotten: what it knew about that chunk must not be applied to other data.
func TestFileChangesBehindCache(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	var msgs []msg
	for i := range uint32(60) { // the chunks are read in turns
		msgs = append(msgs, msg{conns[i%3].Topic, rosbag.Time{Sec: 2*(i%30) + i/30}, strings.Repeat("0123456789", 12)})
	}
	b := writeBag(t, bagfmt.WriterOptions{ChunkBytes: 5200}, conns, msgs)
	b = bytes.ReplaceAll(b, []byte("crc32c="), []byte("crc32x=")) // as stock writes them
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{CacheBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := 1
	for i := 1; i < r.NumSpans(); i++ {
		for _, n := range r.Span(i).Counts {
			want += int(n.Count)
		}
	}
	if want < 31 || want > 55 {
		t.Fatalf("%d messages are not in the first chunk", want-1)
	}
	c := r.Cursor(rosbag.Query{})
	for range 2 {
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
	}
	chunk := recordsOf(t, b, 5)[0]
	for i := range chunk.data { // in place: the Cursor reads it again
		b[chunk.dataAt+4+i] = 0xff
	}
	var errs []error
	n := 2
	for {
		m, err := c.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if n++; asMsg(m).Data != msgs[0].Data {
			t.Fatalf("message %d comes from data that is gone", n)
		}
	}
	var bad *rosbag.CorruptError
	if len(errs) != 1 || !errors.As(errs[0], &bad) || bad.Offset != int64(chunk.off) {
		t.Errorf("got %v", errs)
	}
	if n != want {
		t.Errorf("%d messages, want %d: the sound chunks and one of the other", n, want)
	}
}
