package recorder

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frame is one TCPROS frame whose payload says whose it is and which number it has.
func frame(publisher, n uint32, size int) []byte {
	b := make([]byte, 4+max(size, 8))
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	binary.LittleEndian.PutUint32(b[4:], publisher)
	binary.LittleEndian.PutUint32(b[8:], n)
	return b
}

func linkInfo(topic, publisher string) tcpros.LinkInfo {
	return tcpros.LinkInfo{Topic: topic, Header: tcpros.Header{
		{Key: "callerid", Value: publisher},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: "0123456789abcdef0123456789abcdef"},
		{Key: "message_definition", Value: "uint32 publisher\nuint32 n\n"},
		{Key: "topic", Value: topic},
		{Key: "type", Value: "test/Numbered"},
	}}
}

// testPipeline is a pipeline on a file in a directory of the test.
func testPipeline(t testing.TB, o Options, wrap func(bagfile.Handle) bagfile.Handle) *pipeline {
	t.Helper()
	o.Select.All, o.Node = true, new(tcpros.Node)
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	o.Output.Name = filepath.Join(t.TempDir(), "test")
	outputs, err := bagfile.OpenSeries(o.Output, o.Sync, o.Split, o.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outputs.Close() })
	var out *bagFile
	if o.Begin != StateStopped && o.Snapshot.Mode != SnapshotOnly {
		if out, err = createBag(outputs, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if wrap != nil { // the head of the first file is written already
		out.Wrap(wrap)
		outputs.Wrap = wrap
	}
	retain := bagfile.NewRetainer(o.Retain, o.Log, outputs.Free, o.handover().Keeps)
	return newPipeline(o, outputs, retain, out)
}

func open(t testing.TB, p *pipeline, topic, publisher string) *link {
	t.Helper()
	l, err := p.openLink(p.addTopic(topic), linkInfo(topic, publisher))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// openFile opens a file; it is closed with the test.
func openFile(tb testing.TB, path string) *os.File {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	return f
}

// openBag opens a bag by its index.
func openBag(tb testing.TB, path string) *bagfmt.Reader {
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

// scanBag reads a bag from front to back.
func scanBag(tb testing.TB, path string) *bagfmt.Scanner {
	tb.Helper()
	s, err := bagfmt.NewScanner(openFile(tb, path), bagfmt.ScannerOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// numbers reads a bag and returns the message numbers of each publisher in time
// order, and in file order.
func numbers(t testing.TB, path string) (byTime, byFile map[uint32][]uint32) {
	t.Helper()
	r := openBag(t, path)
	byTime, byFile = map[uint32][]uint32{}, map[uint32][]uint32{}
	for m, err := range rosbag.Messages(r, bagfmt.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		add(byTime, m)
	}
	s := scanBag(t, path)
	for {
		m, err := s.Next()
		if err != nil {
			return byTime, byFile
		}
		add(byFile, m)
	}
}

func add(to map[uint32][]uint32, m *bagfmt.Message) {
	d := m.Data()
	publisher := binary.LittleEndian.Uint32(d)
	to[publisher] = append(to[publisher], binary.LittleEndian.Uint32(d[4:]))
}

// checkCount checks that the numbers 0 to n-1 are all there, in order.
func checkCount(t *testing.T, what string, got map[uint32][]uint32, publishers, n int) {
	t.Helper()
	if len(got) != publishers {
		t.Errorf("%s: %d publishers, want %d", what, len(got), publishers)
	}
	for publisher, all := range got {
		if len(all) != n {
			t.Errorf("%s: publisher %d: %d messages, want %d", what, publisher, len(all), n)
		}
		for i, v := range all {
			if int(v) != i {
				t.Errorf("%s: publisher %d: message %d at place %d", what, publisher, v, i)
				break
			}
		}
	}
}

// publish sends runs of small frames and, every seventh time, a large one.
func publish(l *link, publisher uint32, messages int) {
	for n := 0; n < messages; {
		if n%7 == 0 {
			f := frame(publisher, uint32(n), 3000)
			large := l.Large(len(f))
			for rest := f; len(rest) > 0; {
				rest = rest[copy(large.Room(min(len(rest), 1000)), rest):]
			}
			large.Commit(time.Now())
			n++
			continue
		}
		var run []byte
		count := 0
		for ; count < 3 && n < messages && n%7 != 0; count++ {
			run = append(run, frame(publisher, uint32(n), 100*(n%5))...)
			n++
		}
		l.Frames(run, count, time.Now())
	}
}

const patience = 5 * time.Minute // of waitFor, for what takes milliseconds on an idle machine

// waitFor waits for a condition that another goroutine brings about. It leaves the
// processor to that goroutine, and soon also to other tests.
func waitFor(t *testing.T, ok func() bool) {
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

func publishPlain(l *link, messages uint32) {
	for n := range messages {
		l.Frames(frame(1, n, 10_000), 1, time.Now())
	}
}

// holdWriter makes the writer wait behind what is queued until now, until release.
func holdWriter(p *pipeline) (release func()) {
	const least = 1 // byte, which the disk does not seem to have when the writer is to open a file
	held, asked := make(chan struct{}), make(chan struct{})
	var others atomic.Bool
	p.disk = bagfile.NewSpace(least, "", false, func() (int64, error) {
		if others.Swap(true) {
			return least, nil
		}
		close(asked)
		<-held
		return 0, nil
	}, p.sink.log)
	p.mu.Lock()
	p.enqueue(&command{kind: commandOpen})
	p.mu.Unlock()
	<-asked
	return func() { close(held) }
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
