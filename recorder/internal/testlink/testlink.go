// Package testlink has what tests of the recorder send over links, and how they read bags.
package testlink

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Frame is one TCPROS frame whose payload says whose it is and which number it has.
func Frame(publisher, n uint32, size int) []byte {
	b := make([]byte, 4+max(size, 8))
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	binary.LittleEndian.PutUint32(b[4:], publisher)
	binary.LittleEndian.PutUint32(b[8:], n)
	return b
}

// Info is the link of a publisher of numbered messages without a std_msgs/Header.
func Info(topic, publisher string) tcpros.LinkInfo {
	return tcpros.LinkInfo{Topic: topic, Header: tcpros.Header{
		{Key: "callerid", Value: publisher},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: "0123456789abcdef0123456789abcdef"},
		{Key: "message_definition", Value: "uint32 publisher\nuint32 n\n"},
		{Key: "topic", Value: topic},
		{Key: "type", Value: "test/Numbered"},
	}}
}

// HeaderInfo is the link of a publisher whose messages begin with a std_msgs/Header.
func HeaderInfo(topic, publisher string) tcpros.LinkInfo {
	info := Info(topic, publisher)
	info.PublisherURI = "http://" + publisher
	return with(info, "message_definition", "Header header\n")
}

// LatchingInfo is HeaderInfo of a publisher that latches.
func LatchingInfo(topic, publisher string) tcpros.LinkInfo {
	return with(HeaderInfo(topic, publisher), "latching", "1")
}

// LatchedInfo is Info of a publisher that latches.
func LatchedInfo(topic, publisher string) tcpros.LinkInfo {
	return with(Info(topic, publisher), "latching", "1")
}

// DefinitionInfo is Info of a publisher with another definition, on a machine of its own.
func DefinitionInfo(topic, publisher, definition string) tcpros.LinkInfo {
	info := Info(topic, publisher)
	info.PublisherURI = "http://" + publisher + ":1/"
	return with(info, "message_definition", definition)
}

// LongRecordInfo is Info of a publisher whose connection record is so long that large messages rely on
// one record in their file.
func LongRecordInfo(topic, publisher string) tcpros.LinkInfo {
	return DefinitionInfo(topic, publisher, strings.Repeat("uint32 n\n", 2000))
}

// with sets a field that the header of a link has.
func with(info tcpros.LinkInfo, key, value string) tcpros.LinkInfo {
	for i := range info.Header {
		if info.Header[i].Key == key {
			info.Header[i].Value = value
		}
	}
	return info
}

// Numbered makes frames back to back whose payloads begin with the numbers.
func Numbered(seqs ...uint32) []byte {
	var run []byte
	for _, seq := range seqs {
		run = binary.LittleEndian.AppendUint32(run, 12)
		run = binary.LittleEndian.AppendUint32(run, seq)
		run = append(run, "8 bytes."...)
	}
	return run
}

// Count returns n numbers from first on.
func Count(first uint32, n int) []uint32 {
	seqs := make([]uint32, n)
	for i := range seqs {
		seqs[i] = first + uint32(i)
	}
	return seqs
}

// SendLarge sends one frame as a large message, in pieces, unless the link refuses it.
func SendLarge(l tcpros.LinkSink, f []byte) {
	large := tcpros.LargeOf(l, len(f))
	if large == nil {
		return // it is not wanted
	}
	for rest := f; len(rest) > 0; {
		room := large.Room(min(len(rest), max(1000, len(rest)/4)))
		if room == nil {
			return
		}
		rest = rest[copy(room, rest):]
	}
	large.Commit(time.Now())
}

// Fill gives a large message its next bytes, and reports whether it took them all.
func Fill(f tcpros.LargeFrame, b []byte) bool {
	for len(b) > 0 {
		room := f.Room(len(b))
		if room == nil {
			return false
		}
		b = b[copy(room, b):]
	}
	return true
}

// BeginLarge begins a large message of which only some bytes come. The goroutine that waits
// for more ends with the test.
func BeginLarge(t *testing.T, l tcpros.LinkSink, size, sent int) tcpros.LargeFrame {
	t.Helper()
	f := tcpros.LargeOf(l, size)
	if f == nil {
		t.Fatalf("a message of %d bytes was refused", size)
	}
	Fill(f, Frame(0, 0, size-4)[:sent])
	return f
}

// PublishPlain sends messages of 10 kB.
func PublishPlain(l tcpros.LinkSink, messages uint32) {
	for n := range messages {
		l.Frames(Frame(1, n, 10_000), 1, time.Now())
	}
}

// Sink keeps what a link hands over. It is for one goroutine. It implements tcpros.LinkSink.
type Sink struct {
	Messages int
	Last     []byte // the last run
	Larges   int    // large messages, which are refused
	Ended    int    // calls of Closed
	Err      error  // of the last one
}

// Frames implements tcpros.LinkSink.
func (s *Sink) Frames(run []byte, count int, _ time.Time) {
	s.Messages += count
	s.Last = append(s.Last[:0], run...)
}

// Large implements tcpros.LinkSink.
func (s *Sink) Large(int) tcpros.LargeFrame {
	s.Larges++
	return nil
}

// Closed implements tcpros.LinkSink.
func (s *Sink) Closed(err error) {
	s.Ended++
	s.Err = err
}

// SetClock returns now as it is after the wall clock was moved by d: the monotonic clock stays. The time
// package offers no way, and the machine's clock is not ours.
func SetClock(tb testing.TB, now time.Time, d time.Duration) time.Time {
	tb.Helper()
	moved := now
	*(*uint64)(unsafe.Pointer(&moved)) += uint64(int64(d/time.Second)) << 30 //nolint:gosec // the seconds of time.Time.wall
	if moved.Sub(now) != 0 || moved.Round(0).Sub(now.Round(0)) != d {
		tb.Fatal("time.Time is not what this test knows")
	}
	return moved
}

// Connection is a connection of a bag.
func Connection() *rosbag.Connection {
	return &rosbag.Connection{Topic: "/t", Header: rosbag.Header(Info("/t", "/p").Header)}
}

// openFile opens a file; it is closed with the test.
func openFile(tb testing.TB, path string) *os.File {
	tb.Helper()
	f, err := os.Open(path) //nolint:gosec // a bag of the test
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

// OpenBag opens a bag by its index.
func OpenBag(tb testing.TB, path string) *bagfmt.Reader {
	tb.Helper()
	f := openFile(tb, path)
	st, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// ScanBag reads a bag from front to back.
func ScanBag(tb testing.TB, path string) *bagfmt.Scanner {
	tb.Helper()
	s, err := bagfmt.NewScanner(openFile(tb, path), bagfmt.ScannerOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Numbers reads a bag and returns the message numbers of each publisher in time
// order, and in file order.
func Numbers(tb testing.TB, path string) (byTime, byFile map[uint32][]uint32) {
	tb.Helper()
	r := OpenBag(tb, path)
	byTime, byFile = map[uint32][]uint32{}, map[uint32][]uint32{}
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			tb.Fatal(err)
		}
		add(byTime, m)
	}
	s := ScanBag(tb, path)
	for {
		m, err := s.Next()
		if err != nil {
			return byTime, byFile
		}
		add(byFile, m)
	}
}

func add(to map[uint32][]uint32, m *rosbag.Message) {
	d := m.Data()
	publisher := binary.LittleEndian.Uint32(d)
	to[publisher] = append(to[publisher], binary.LittleEndian.Uint32(d[4:]))
}

// Exists reports whether there is a file of that name.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// WaitFor waits for a condition that another goroutine brings about. It leaves the
// processor to that goroutine, and soon also to other tests.
func WaitFor(t *testing.T, ok func() bool) {
	t.Helper()
	start := time.Now()
	for looks := 0; !ok(); looks++ {
		if time.Since(start) > patience {
			t.Fatalf("not within %v", patience)
		}
		if runtime.Gosched(); looks > 100 {
			<-time.After(200 * time.Microsecond)
		}
	}
}

const patience = 5 * time.Minute // of waitFor, for what takes milliseconds on an idle machine
