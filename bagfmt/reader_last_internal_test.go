package bagfmt

import (
	"bytes"
	"fmt"
	"testing"

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

// TestLatestCost has many connections with one message each, as latched ones have,
// in few of many chunks.
func TestLatestCost(t *testing.T) {
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
		if err := w.Write(c, at, []byte(c.Topic)); err != nil {
			t.Fatal(err)
		}
	}
	ids := map[rosbag.ConnID]bool{}
	for i := range conns {
		c, err := w.AddConnection(fmt.Sprint("/", i), header)
		if err != nil {
			t.Fatal(err)
		}
		ids[c.ID] = true
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
	r, err := NewReader(file, file.Size(), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for turn := range 3 {
		found := 0
		for c, last := range r.Latest(at, func(c *rosbag.Connection) bool { return ids[c.ID] }) {
			switch {
			case last.Err != nil:
				t.Fatal(last.Err)
			case last.Message == nil || last.Message.Conn != c || string(last.Message.Data()) != c.Topic:
				t.Errorf("connection %d: %v", c.ID, last.Message)
			}
			found++
		}
		if found != conns {
			t.Errorf("%d connections, want %d", found, conns)
		}
		if r.lists.Passes != 1 {
			t.Errorf("turn %d: %d passes through the chunks, want one", turn, r.lists.Passes)
		}
	}
	file.reads = 0
	for range r.Latest(at, func(c *rosbag.Connection) bool { return ids[c.ID] }) {
		break
	}
	if most := 8; file.reads > most {
		t.Errorf("%d reads for one connection, want at most %d", file.reads, most)
	}
}
