package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// repeatFile is a bag in which one chunk is repeated many times, without the memory.
type repeatFile struct {
	head  memFile
	chunk []byte
	count int64
	tail  []byte
}

func (f *repeatFile) Write(p []byte) (int, error) {
	switch {
	case len(f.head.b) == 0:
		return f.head.Write(p)
	case &p[0] == &f.chunk[0]:
		f.count++
	default:
		f.tail = append(f.tail, p...)
	}
	return len(p), nil
}

func (f *repeatFile) WriteAt(p []byte, off int64) (int, error) { return f.head.WriteAt(p, off) }

func (f *repeatFile) size() int64 {
	return int64(len(f.head.b)) + f.count*int64(len(f.chunk)) + int64(len(f.tail))
}

func (f *repeatFile) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		chunks := at - int64(len(f.head.b))
		after := chunks - f.count*int64(len(f.chunk))
		switch {
		case chunks < 0:
			n += copy(p[n:], f.head.b[at:])
		case after < 0:
			n += copy(p[n:], f.chunk[chunks%int64(len(f.chunk)):])
		case after < int64(len(f.tail)):
			n += copy(p[n:], f.tail[after:])
		default:
			return n, io.EOF
		}
	}
	return n, nil
}

// TestBeyond4GiB reads a bag of 5 GiB.
func TestBeyond4GiB(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine fills and reads large bags")
	t.Parallel()
	conns, _ := sample(0)
	var b chunk.Builder
	b.Reset(nil)
	b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame(strings.Repeat("x", 32<<20)), 1)
	b.AppendRun(conns[1], rosbag.Time{Sec: 2}, frame("end"), 1)
	c, err := b.Seal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &repeatFile{chunk: c.Record}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const chunks = 160
	for range chunks {
		if err := w.WriteChunk(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if f.size() < 5<<30 || w.Size() >= f.size() {
		t.Fatalf("%d bytes, chunks end at %d", f.size(), w.Size())
	}
	r, err := bagfmt.NewReader(f, f.size(), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.NumSpans(); n != chunks || r.Span(n-1).Pos < 1<<32 || r.Info().Messages != 2*chunks {
		t.Errorf("%d chunks, %d messages", n, r.Info().Messages)
	}
	m, err := lastOf(r, 1, rosbag.Time{Sec: 9})
	if err != nil || string(m.Data()) != "end" {
		t.Errorf("last message: %v, %v", m, err)
	}
}

// TestBigChunks reads chunks of more than 256 MiB without options, as one big
// message in a chunk of a recorder makes them.
func TestBigChunks(t *testing.T) {
	testkit.SkipUnlessFull(t, "takes seconds and 1 GiB of memory")
	testkit.SkipInRace(t, "takes seconds and 1 GiB of memory without it")
	conns, _ := sample(0)
	const size = 256 << 20 // what tcpros accepts
	for _, comp := range compressions[:2] {
		b := writeBag(t, bagfmt.WriterOptions{Compression: comp}, conns[:1], []msg{{"/imu", rosbag.Time{Sec: 1}, strings.Repeat("x", size)}})
		r, err := openBag(b)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := r.Cursor(rosbag.Query{}).Next(); err != nil || len(m.Data()) != size {
			t.Errorf("%s: reader: %v", comp, err)
		}
		s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := s.Next(); err != nil || len(m.Data()) != size {
			t.Errorf("%s: scanner: %v", comp, err)
		}
	}
}

// TestManyChunksAndConnections writes 70 000 chunks and 10 000 connections.
func TestManyChunksAndConnections(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine fills and reads large bags")
	t.Parallel()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	const chunks, conns = 70_000, 10_000
	var list []*rosbag.Connection
	for i := range conns {
		c, err := w.AddConnection(fmt.Sprintf("/topic%d", i), header("a/A"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	for i := range uint32(chunks) {
		if err := w.Write(list[i%conns], rosbag.Time{Sec: chunks - i}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := openBag(f.b)
	if err != nil {
		t.Fatal(err)
	}
	if r.NumSpans() != chunks || len(r.Connections()) != conns {
		t.Errorf("%d chunks, %d connections", r.NumSpans(), len(r.Connections()))
	}
	c := r.Cursor(rosbag.Query{})
	n := uint32(0)
	for {
		m, err := c.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n++; m.Time.Sec != n {
			t.Fatalf("message %d at %s", n, m.Time)
		}
	}
	if n != chunks {
		t.Errorf("%d messages", n)
	}
}
