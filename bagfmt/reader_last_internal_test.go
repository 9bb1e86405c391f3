package bagfmt

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// countedReads counts how often it is read from.
type countedReads struct {
	*bytes.Reader
	reads int
}

func (c *countedReads) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	return c.Reader.ReadAt(p, off)
}

// buffer is a file in memory, to write a bag to.
type buffer struct{ data []byte }

func (b *buffer) Write(p []byte) (int, error) {
	b.data = append(b.data, p...)
	return len(p), nil
}

func (b *buffer) WriteAt(p []byte, off int64) (int, error) { return copy(b.data[off:], p), nil }

// TestLastOfEachCost has many connections with one message each, as latched ones have,
// in few of many chunks.
func TestLastOfEachCost(t *testing.T) {
	t.Parallel()
	const conns, chunks = 300, 200
	var b buffer
	w, err := NewWriter(&b, WriterOptions{ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	header := rosbag.Header{{Key: "md5sum", Value: "*"}, {Key: "type", Value: "a/B"}}
	at := rosbag.Time{Sec: 1}
	write := func(c *rosbag.Connection) {
		at = at.Add(1)
		if err := w.WriteMessage(c, at, []byte(c.Topic)); err != nil {
			t.Fatal(err)
		}
	}
	var ids []rosbag.ConnID
	for i := range conns {
		c, err := w.AddConnection(fmt.Sprint("/", i), header)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID)
		write(c)
	}
	other, err := w.AddConnection("/other", header)
	if err != nil {
		t.Fatal(err)
	}
	for range chunks {
		write(other)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := &countedReads{Reader: bytes.NewReader(b.data)}
	r, err := NewReader(file, file.Size(), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for turn := range 3 {
		for n, last := range r.LastOfEach(append(ids, 12345), at) {
			switch {
			case last.Err != nil:
				t.Fatal(last.Err)
			case n == conns && last.Message != nil:
				t.Errorf("a message of no connection: %v", last.Message)
			case n < conns && (last.Message == nil || string(last.Message.Data()) != fmt.Sprint("/", n)):
				t.Errorf("connection %d: %v", n, last.Message)
			}
		}
		if r.lists.Passes != 1 {
			t.Errorf("turn %d: %d passes through the chunks, want one", turn, r.lists.Passes)
		}
	}
	file.reads = 0
	for range r.LastOfEach(ids, at) {
		break
	}
	if most := 8; file.reads > most {
		t.Errorf("%d reads for one connection, want at most %d", file.reads, most)
	}
}
