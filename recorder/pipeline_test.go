package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/fields"
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
func testPipeline(t testing.TB, o Options, wrap func(file) file) *pipeline {
	t.Helper()
	o.Select.All, o.Node = true, new(tcpros.Node)
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	o.Output.Name = filepath.Join(t.TempDir(), "test")
	outputs, err := openOutputs(o.Output, o.Sync, o.Split)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outputs.close() })
	var out *bagFile
	if o.Begin != StateStopped && o.Snapshot.Mode != SnapshotOnly {
		if out, err = outputs.create(time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if wrap != nil { // the head of the first file is written already
		out.file = wrap(out.file)
		outputs.wrap = wrap
	}
	return newPipeline(o, outputs, out)
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
	for m, err := range r.All(bagfmt.Query{}) {
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

func TestPipelineKeepsEachPublishersOrder(t *testing.T) {
	t.Parallel()
	const publishers, messages = 5, 400
	for _, c := range []bagfmt.Compression{bagfmt.CompressionNone, bagfmt.CompressionLZ4, bagfmt.CompressionBZ2} {
		for _, chunkBytes := range []int{1, 5000, 0} {
			t.Run(fmt.Sprintf("%s/chunk=%d", c, chunkBytes), func(t *testing.T) {
				t.Parallel()
				p := testPipeline(t, Options{Compression: c, ChunkBytes: chunkBytes, Overflow: OverflowBlock, BufferBytes: 4 << 20}, nil)
				var wg sync.WaitGroup
				for i := range publishers {
					l := open(t, p, fmt.Sprintf("/t%d", i%3), fmt.Sprintf("/p%d", i))
					wg.Go(func() { publish(l, uint32(i), messages) })
				}
				wg.Wait()
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
				byTime, byFile := numbers(t, p.out.target)
				checkCount(t, "by time", byTime, publishers, messages)
				checkCount(t, "in the file", byFile, publishers, messages)
			})
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

// gate is a file whose writes wait while it is shut.
type gate struct {
	file
	open chan struct{}
}

func (g gate) WriteAt(p []byte, off int64) (int, error) {
	<-g.open
	return g.file.WriteAt(p, off)
}

func TestOverflowDropsTheNewestAndCounts(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 1 << 20, ChunkBytes: 100 << 10}, func(f file) file { g.file = f; return g })
	l := open(t, p, "/t", "/p")
	const messages = 1000
	for n := range uint32(messages) {
		l.Frames(frame(1, n, 10_000), 1, time.Now())
	}
	if l.Large(5<<20) != nil {
		t.Error("a message larger than the buffer was taken")
	}
	if held := p.pool.held; held > 1<<20 {
		t.Errorf("%d bytes held, more than the budget", held)
	}
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := numbers(t, p.out.target)
	kept := len(byTime[1])
	for i, v := range byTime[1] {
		if int(v) != i {
			t.Fatalf("message %d at place %d: not the newest were dropped", v, i)
		}
	}
	topic := l.connection.topic
	if kept == 0 || kept > 110 || topic.messages != uint64(kept) {
		t.Errorf("kept %d, counted %d; the buffer holds about 100", kept, topic.messages)
	}
	if d := topic.dropped[dropBufferFull]; d != uint64(messages-kept) {
		t.Errorf("%d dropped counted, %d kept of %d", d, kept, messages)
	}
	if topic.dropped[dropOversize] != 1 {
		t.Errorf("oversize counted %d times, want once", topic.dropped[dropOversize])
	}
}

func TestOverflowBlocksAndLosesNothing(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 1 << 20, ChunkBytes: 100 << 10, Overflow: OverflowBlock}, func(f file) file { g.file = f; return g })
	l := open(t, p, "/t", "/p")
	done := make(chan struct{})
	go func() {
		defer close(done)
		publishPlain(l, 300)
	}()
	full := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.open == nil && !p.pool.fits(int64(p.pool.usual(p.chunkBytes)))
	}
	waitFor(t, full)
	select {
	case <-done:
		t.Error("the publisher was not held up")
	default:
	}
	close(g.open)
	<-done
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, byFile := numbers(t, p.out.target)
	checkCount(t, "by time", byTime, 1, 300)
	checkCount(t, "in the file", byFile, 1, 300)
}

// waitFor waits for a condition that another goroutine brings about.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("not within 20 s")
		}
	}
}

// TestLastCallReleasesALargeMessage: at the end a link that waits for room for a
// large message must not wait for a chunk that nobody seals any more.
func TestLastCallReleasesALargeMessage(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 100 << 10, Overflow: OverflowBlock, FlushInterval: time.Hour}, func(f file) file { g.file = f; return g })
	small, large, other := open(t, p, "/small", "/p"), open(t, p, "/large", "/p"), open(t, p, "/large", "/q")
	small.Frames(frame(1, 0, 10_000), 1, time.Now())
	first := other.Large(1_800_000)
	if first == nil {
		t.Fatal("the first large message was refused")
	}
	second := make(chan tcpros.LargeFrame)
	go func() { second <- large.Large(1_800_000) }()
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.largeWaits == 1
	})
	p.lastCall()
	if f := <-second; f != nil {
		f.Abort()
	}
	first.Abort()
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	_, byFile := numbers(t, p.out.target)
	checkCount(t, "in the file", byFile, 1, 1)
}

// TestAbortedMessageLeavesTheConnection: the record of a connection must be in the
// file before its messages, also when the first chunk that held it was given up.
func TestAbortedMessageLeavesTheConnection(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	l := open(t, p, "/t", "/p")
	f := l.Large(500_000)
	f.Room(1000)
	other, err := p.openLink(l.connection.topic, linkInfo("/t", "/p")) // it came back meanwhile
	if err != nil {
		t.Fatal(err)
	}
	other.Frames(frame(1, 0, 10), 1, time.Now())
	f.Abort()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	_, byFile := numbers(t, p.out.target)
	checkCount(t, "in the file", byFile, 1, 1)
}

// TestClaimsCostNothing: a publisher that announces much and sends little takes no
// room from the others.
func TestClaimsCostNothing(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 8 << 20}, nil)
	liar, honest := open(t, p, "/liar", "/p"), open(t, p, "/honest", "/p")
	f := liar.Large(7 << 20)
	f.Room(1000)
	publishPlain(honest, 100)
	if n := honest.connection.topic.messages; n != 100 {
		t.Errorf("%d of 100 messages", n)
	}
	f.Abort()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestLargeMessageGivenUpHalfway: two large messages that fit alone but not
// together must not exceed the budget.
func TestLargeMessageGivenUpHalfway(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 16 << 20}, nil)
	var given int
	for i := range 3 {
		l := open(t, p, fmt.Sprintf("/t%d", i), "/p")
		f := l.Large(12 << 20)
		if f == nil {
			given++
			continue
		}
		left := 12 << 20
		for left > 0 {
			room := f.Room(left)
			if room == nil {
				given++
				break
			}
			left -= len(room)
		}
		if d := l.connection.topic.dropped[dropBufferFull]; left > 0 && d != 1 {
			t.Errorf("message %d: given up, %d counted", i, d)
		}
		if left == 0 {
			defer f.Abort()
		}
	}
	if given == 0 || p.pool.held > 16<<20 {
		t.Errorf("%d given up, %d bytes held", given, p.pool.held)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
}

func TestPoolReusesYoungBuffers(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Sync: SyncNone}, nil)
	l := open(t, p, "/t", "/p")
	now := time.Now()
	for n := range uint32(300) {
		l.Frames(frame(1, n, 100), 1, now)
		now = now.Add(time.Second)
		p.tick(now)
		waitFor(t, func() bool { // it is written and its buffer free again
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.pool.free) > 0
		})
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if n := len(p.pool.free); n > 1 {
		t.Errorf("%d buffers for small chunks one after the other", n)
	}
}

func publishPlain(l *link, messages uint32) {
	for n := range messages {
		l.Frames(frame(1, n, 10_000), 1, time.Now())
	}
}

func TestEndReleasesABlockedPublisher(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 1, ChunkBytes: 10 << 10, Overflow: OverflowBlock}, func(f file) file { g.file = f; return g })
	l := open(t, p, "/t", "/p")
	var wg sync.WaitGroup
	wg.Go(func() { publishPlain(l, 100) })
	closed := make(chan error)
	go func() { closed <- p.close() }()
	wg.Wait() // close ends the intake although the file hangs
	close(g.open)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestHurrySkipsTheQueueAndCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []bagfmt.Compression{bagfmt.CompressionNone, bagfmt.CompressionBZ2} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			testHurry(t, c)
		})
	}
}

func testHurry(t *testing.T, c bagfmt.Compression) {
	t.Helper()
	g := gate{open: make(chan struct{})}
	hurry := make(chan struct{})
	p := testPipeline(t, Options{ChunkBytes: 10 << 10, Hurry: hurry, Compression: c}, func(f file) file { g.file = f; return g })
	l := open(t, p, "/t", "/p")
	publishPlain(l, 100)
	close(hurry)
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := numbers(t, p.out.target)
	topic := l.connection.topic
	if got := uint64(len(byTime[1])); got != topic.messages || topic.dropped[dropHurry] != 100-got || got > 2 {
		t.Errorf("%d messages in the bag, %d counted, %d dropped", got, topic.messages, topic.dropped[dropHurry])
	}
}

var errInjected = errors.New("injected")

// faulty fails the at-th operation of all its files together, a write after half of
// its bytes.
type faulty struct {
	err   error // what the operation returns
	mu    sync.Mutex
	at, n int
	sync  bool // count syncs instead of writes
	syncs map[file]int
}

// faultyFile is one of them.
type faultyFile struct {
	file
	*faulty
}

func (f *faulty) wrap(inner file) file { return faultyFile{inner, f} }

func (f *faulty) due(isSync bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sync != isSync {
		return false
	}
	f.n++
	return f.n == f.at
}

func (f faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if f.due(false) {
		n, err := f.file.WriteAt(p[:len(p)/2], off)
		return n, errors.Join(f.err, err)
	}
	return f.file.WriteAt(p, off)
}

func (f faultyFile) Sync() error {
	f.mu.Lock()
	if f.syncs == nil {
		f.syncs = map[file]int{}
	}
	f.syncs[f.file]++
	f.mu.Unlock()
	if f.due(true) {
		return f.err
	}
	return f.file.Sync()
}

// TestEveryWriteFailsOnce checks for each write that what was written before can be
// read, that the bag has an index if anything could still be written, and that the
// account is right. A full disk ends the recording; after any other fault it goes on
// in a new file and nothing is lost.
func TestEveryWriteFailsOnce(t *testing.T) {
	t.Parallel()
	for name, injected := range map[string]error{"full": syscall.ENOSPC, "fault": errInjected} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				if testWriteFails(t, at, injected) {
					if at < 5 {
						t.Errorf("only %d writes were visited", at)
					}
					return
				}
			}
		})
	}
}

// testWriteFails reports whether there were fewer than at writes.
func testWriteFails(t *testing.T, at int, injected error) bool {
	t.Helper()
	f := &faulty{at: at, err: injected}
	p := testPipeline(t, Options{ChunkBytes: 20 << 10}, f.wrap)
	l := open(t, p, "/t", "/p")
	publishPlain(l, 20)
	err := p.close()
	if err == nil {
		return true
	}
	if !errors.Is(err, injected) {
		t.Fatalf("write %d: %v", at, err)
	}
	kept, indexed := uint64(0), true
	for _, b := range p.done {
		if b.sealed != b.target { // closed without an index
			indexed = false
			continue
		}
		byTime, _ := numbers(t, b.sealed)
		kept += uint64(len(byTime[1]))
	}
	topic := l.connection.topic
	if indexed && kept != topic.messages {
		t.Errorf("write %d: %d messages in the bags, %d counted", at, kept, topic.messages)
	}
	if sum := topic.messages + topic.dropped[dropDisk]; sum != 20 {
		t.Errorf("write %d: %d messages accounted for, 20 sent", at, sum)
	}
	if errors.Is(injected, errInjected) && topic.messages != 20 {
		t.Errorf("write %d: %d messages after a fault that a new file heals", at, topic.messages)
	}
	return false
}

// TestFailedSyncMovesOn: a sync that failed is not repeated; what comes after goes
// into a new file, once.
func TestFailedSyncMovesOn(t *testing.T) {
	t.Parallel()
	f := &faulty{at: 2, sync: true, err: errInjected}
	p := testPipeline(t, Options{ChunkBytes: 20 << 10, Sync: SyncChunk}, f.wrap)
	l := open(t, p, "/t", "/p")
	publishPlain(l, 20)
	err := p.close()
	if !errors.Is(err, errInjected) || !strings.Contains(err.Error(), "what was written after byte") {
		t.Fatalf("got %v, want the failed sync", err)
	}
	if len(p.done) != 2 || f.syncs[p.done[0].file.(faultyFile).file] != 2 {
		t.Errorf("%d files, syncs %v: none may follow the failed one", len(p.done), f.syncs)
	}
	var kept []uint32
	for _, b := range p.done {
		byTime, _ := numbers(t, b.sealed)
		kept = append(kept, byTime[1]...)
	}
	checkCount(t, "in both files", map[uint32][]uint32{1: kept}, 1, 20)
}

// TestSecondFaultEnds: a disk that fails again does not get a third file.
func TestSecondFaultEnds(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{ChunkBytes: 20 << 10}, func(f file) file { return broken{f} })
	l := open(t, p, "/t", "/p")
	publishPlain(l, 20)
	if err := p.close(); !errors.Is(err, errInjected) {
		t.Fatalf("got %v", err)
	}
	if topic := l.connection.topic; len(p.done) != 2 || topic.messages != 0 || topic.dropped[dropDisk] != 20 {
		t.Errorf("%d files, %d messages, %d dropped", len(p.done), topic.messages, topic.dropped[dropDisk])
	}
}

// broken takes the head of a bag and what is behind its chunks, but no chunk.
type broken struct{ file }

func (b broken) WriteAt(p []byte, off int64) (int, error) {
	if off == 4117 && len(p) > 10_000 {
		return 0, errInjected
	}
	return b.file.WriteAt(p, off)
}

func TestFlushSealsAnOldChunk(t *testing.T) {
	t.Parallel()
	written := make(chan struct{}, 10)
	p := testPipeline(t, Options{FlushInterval: time.Second}, func(f file) file { return told{f, written} })
	l := open(t, p, "/t", "/p")
	now := time.Now()
	l.Frames(frame(1, 0, 10), 1, now)
	p.tick(now.Add(999 * time.Millisecond))
	select {
	case <-written:
		t.Error("written before the flush interval")
	default:
	}
	p.tick(now.Add(time.Second))
	<-written
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// told reports each write.
type told struct {
	file
	written chan<- struct{}
}

func (f told) WriteAt(p []byte, off int64) (int, error) {
	defer func() {
		select {
		case f.written <- struct{}{}:
		default:
		}
	}()
	return f.file.WriteAt(p, off)
}

func TestSameHeaderSameConnection(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	topic := p.addTopic("/t")
	info := linkInfo("/t", "/p")
	first, err1 := p.openLink(topic, info)
	again, err2 := p.openLink(topic, info)
	info.Header = append(info.Header, fields.Field{Key: "zfoo", Value: "bar"})
	other, err3 := p.openLink(topic, info)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if first.connection != again.connection || first.connection == other.connection {
		t.Error("a connection is one publisher's header on one topic")
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

func TestLimitStopsAtTheMessage(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Limit: 5}, nil)
	l := open(t, p, "/t", "/p")
	for n := uint32(0); n < 8; n += 4 {
		var run []byte
		for i := range uint32(4) {
			run = append(run, frame(1, n+i, 20)...)
		}
		l.Frames(run, 4, time.Now())
	}
	<-p.limited
	if l.Large(1<<20) != nil || !p.reachedLimit(l.connection.topic) {
		t.Error("the topic goes on after its limit")
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := numbers(t, p.out.target)
	checkCount(t, "by time", byTime, 1, 5)
}

// TestLargeAllocatesNothing: nor does a message with a chunk of its own, from the link to
// the file.
func TestLargeAllocatesNothing(t *testing.T) {
	wrote := make(chan struct{}, 1)
	p := testPipeline(t, Options{FlushInterval: time.Hour, Sync: SyncNone, Overflow: OverflowBlock}, func(f file) file {
		return told{nowhere{f}, wrote}
	})
	l := open(t, p, "/t", "/p")
	f := frame(1, 1, 300_000)
	for range 50 { // the index of the file grows a few times
		offer(l, f)
		<-wrote
	}
	if n := testing.AllocsPerRun(500, func() { offer(l, f); <-wrote }); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestAppendAllocatesNothing: a message costs one copy and no allocation, also where
// some are dropped.
func TestAppendAllocatesNothing(t *testing.T) {
	for _, overflow := range []Overflow{OverflowBlock, OverflowDrop} {
		testAllocations(t, overflow)
	}
}

func testAllocations(t *testing.T, overflow Overflow) {
	t.Helper()
	p := testPipeline(t, Options{FlushInterval: time.Hour, Sync: SyncNone, Overflow: overflow, BufferBytes: 8 << 20}, nil)
	l := open(t, p, "/t", "/p")
	const count = 64
	var run []byte
	for i := range uint32(count) {
		run = append(run, frame(1, i, 1000)...)
	}
	now := time.Now()
	for range 200 { // let every buffer grow
		l.Frames(run, count, now)
	}
	// A chunk holds 12 runs.
	if n := testing.AllocsPerRun(600, func() { l.Frames(run, count, now) }); n != 0 {
		t.Errorf("overflow %d: %v allocations for %d messages", overflow, n, count)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("msg=%d", size), func(b *testing.B) {
			p := testPipeline(b, Options{Sync: SyncNone, Overflow: OverflowBlock}, func(f file) file { return nowhere{f} })
			l := open(b, p, "/t", "/p")
			count := max(64<<10/size, 1)
			var run []byte
			for i := range count {
				run = append(run, frame(1, uint32(i), size)...)
			}
			b.SetBytes(int64(len(run)))
			b.ReportAllocs()
			now := time.Now()
			for b.Loop() {
				l.Frames(run, count, now)
			}
			b.StopTimer()
			p.close()
			runtime.GC()
		})
	}
}

// nowhere takes every write.
type nowhere struct{ file }

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
