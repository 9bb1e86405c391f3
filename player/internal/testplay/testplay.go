// Package testplay makes bags in memory for tests of play.
package testplay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// The type of test messages, unless a test says another.
const (
	StringType       = "std_msgs/String"
	StringMD5        = "992ce8a1687cec8c8bd883ec73ca41d1"
	StringDefinition = "string data\n"
)

// Conn is a connection of a test bag.
type Conn struct {
	Topic, CallerID string
	Latching        bool
	Type, MD5Sum    string // empty: those of std_msgs/String
	NoDefinition    bool
}

// Message is a message of a test bag, at a time after second 1000.
type Message struct {
	Conn Conn
	At   time.Duration
	Text string
}

// Base is time 0 of TestMessage.
var Base = rosbag.Time{Sec: 1000}

// MakeBag writes a bag in memory.
func MakeBag(tb testing.TB, o bagfmt.WriterOptions, messages ...Message) []byte {
	tb.Helper()
	size := 0
	for _, m := range messages {
		size += len(m.Text)
	}
	// Without room from the start, growing a large bag stops the goroutines of other tests for long.
	f := &MemoryFile{Data: make([]byte, 0, 64<<10+size+128*len(messages))}
	w, err := bagfmt.NewWriter(f, o)
	if err != nil {
		tb.Fatal(err)
	}
	conns := map[Conn]*rosbag.Connection{}
	for _, m := range messages {
		c, ok := conns[m.Conn]
		if !ok {
			if c, err = w.AddConnection(m.Conn.Topic, m.Conn.Header()); err != nil {
				tb.Fatal(err)
			}
			conns[m.Conn] = c
		}
		if err := w.Write(c, Base.Add(m.At), StringData(m.Text)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.Data
}

// Header returns the connection header.
func (c Conn) Header() rosbag.Header {
	h := rosbag.Header{
		{Key: "callerid", Value: c.CallerID},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: StringMD5},
		{Key: "message_definition", Value: StringDefinition},
		{Key: "topic", Value: c.Topic},
		{Key: "type", Value: StringType},
	}
	if c.Latching {
		h[1].Value = "1"
	}
	if c.MD5Sum != "" {
		h[2].Value = strings.TrimSpace(c.MD5Sum)
	}
	if c.NoDefinition {
		h[3].Value = ""
	}
	if c.Type != "" {
		h[5].Value = c.Type
	}
	return h
}

// StringData is a std_msgs/String as serialized.
func StringData(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// Open opens the bag of size bytes in r.
func Open(tb testing.TB, name string, r io.ReaderAt, size int64, o bagfmt.ReaderOptions) *source.Recording {
	tb.Helper()
	opened, err := bagfmt.NewReader(r, size, o)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := source.New(tb.Context(), name, opened)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// OpenFile opens the bag at path, until the test ends.
func OpenFile(tb testing.TB, path string, o bagfmt.ReaderOptions) *source.Recording {
	tb.Helper()
	f, err := os.Open(path) //nolint:gosec // a test names the file
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	})
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	return Open(tb, path, f, info.Size(), o)
}

// OpenBags opens bags in memory.
func OpenBags(tb testing.TB, bags ...[]byte) []*source.Recording {
	tb.Helper()
	var open []*source.Recording
	for i, data := range bags {
		open = append(open,
			Open(tb, fmt.Sprintf("bag%d", i), bytes.NewReader(data), int64(len(data)),
				bagfmt.ReaderOptions{}))
	}
	return open
}

// MemoryFile is a file in memory, for bagfmt.Writer.
type MemoryFile struct{ Data []byte }

// Write implements io.Writer.
func (f *MemoryFile) Write(p []byte) (int, error) {
	f.Data = append(f.Data, p...)
	return len(p), nil
}

// WriteAt implements io.WriterAt.
func (f *MemoryFile) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > int64(len(f.Data)) {
		return 0, io.ErrShortWrite
	}
	return copy(f.Data[off:], p), nil
}

// ConnA and ConnB are the connections that most tests use.
var (
	ConnA = Conn{Topic: "/a", CallerID: "/n1"}
	ConnB = Conn{Topic: "/b", CallerID: "/n1"}
)

// Series makes messages "x0", "x1", ... at these times.
func Series(c Conn, prefix string, at ...time.Duration) []Message {
	var ms []Message
	for i, d := range at {
		ms = append(ms, Message{c, d, fmt.Sprintf("%s%d", prefix, i)})
	}
	return ms
}

// Concat joins lists of messages.
func Concat(lists ...[]Message) []Message {
	var all []Message
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// FaultyFile is a bag on a disk that makes trouble after opening.
type FaultyFile struct {
	*bytes.Reader
	Fault func(off int64, n int) error // called before each read
}

// ReadAt implements io.ReaderAt.
func (f *FaultyFile) ReadAt(p []byte, off int64) (int, error) {
	if f.Fault != nil {
		if err := f.Fault(off, len(p)); err != nil {
			return 0, err
		}
	}
	return f.Reader.ReadAt(p, off)
}

// OpenFaulty opens a bag that can make trouble afterwards.
func OpenFaulty(t *testing.T, data []byte) (*source.Recording, *FaultyFile) {
	t.Helper()
	f := &FaultyFile{Reader: bytes.NewReader(data)}
	return Open(t, "faulty", f, int64(len(data)), bagfmt.ReaderOptions{}), f
}

// Resolve resolves names, and knows one remapping, /from to /to.
func Resolve(name string) (string, error) {
	name = "/" + strings.TrimPrefix(name, "/")
	if err := tcpros.CheckName(name); err != nil {
		return "", err
	}
	if name == "/from" {
		return "/to", nil
	}
	return name, nil
}

// HeaderBlock is what definitions with a header have after them.
var HeaderBlock = "\n" + strings.Repeat("=", 80) +
	"\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

// TFMD5 is that of tf2_msgs/TFMessage and tf/tfMessage.
const TFMD5 = "94810edda583a504dfda3829e70d7eec"
