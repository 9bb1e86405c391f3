package recorder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// filesOf returns the names of the closed files, and fails if one is not closed.
func filesOf(t testing.TB, p *pipeline) []string {
	t.Helper()
	var all []string
	for _, b := range p.Bags.Finished.List() {
		if b.Name != b.Place.Target() {
			t.Errorf("%s was not closed", b.Name)
		}
		all = append(all, b.Place.Target())
	}
	return all
}

// allNumbers reads the files one after the other.
func allNumbers(t *testing.T, paths []string) map[uint32][]uint32 {
	t.Helper()
	all := map[uint32][]uint32{}
	for _, path := range paths {
		_, byFile := testlink.Numbers(t, path)
		for publisher, list := range byFile {
			all[publisher] = append(all[publisher], list...)
		}
	}
	return all
}

func TestSplitBySize(t *testing.T) {
	t.Parallel()
	for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			const size = 300 << 10
			p := testPipeline(t, Options{Split: true, MaxBytes: size, Compression: c, ChunkBytes: 100 << 10, Overflow: OverflowBlock}, nil)
			l, other := open(t, p, "/t", "/p"), open(t, p, "/o", "/q")
			const messages = 600
			publish(l, 1, messages)
			testlink.PublishPlain(other, messages)
			publishLarge(other, 2, 40)
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			paths := filesOf(t, p)
			got := allNumbers(t, paths)
			if n := len(got[1]); n < messages {
				t.Errorf("%d messages of %d", n, messages)
			}
			checkCount(t, "large ones", map[uint32][]uint32{2: got[2]}, 1, 40)
			for i, path := range paths {
				if want := fmt.Sprintf("test_%d.bag", i); filepath.Base(path) != want {
					t.Errorf("file %d is %s, want %s", i, path, want)
				}
				st, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				// One message beyond, and the index; compressed ones are an estimate.
				most := int64(size + 330<<10)
				if c != rosbag.CompressionNone {
					most += 300 << 10
				}
				if st.Size() > most || st.Size() < size/3 && i < len(paths)-1 && c == rosbag.CompressionNone {
					t.Errorf("%s has %d bytes", path, st.Size())
				}
			}
			if c == rosbag.CompressionNone && len(paths) < 20 {
				t.Errorf("only %d files", len(paths))
			}
		})
	}
}

// publishLarge sends messages each in a chunk of its own.
func publishLarge(l *intake.Link, publisher uint32, messages int) {
	for n := range uint32(messages) {
		testlink.SendLarge(l, testlink.Frame(publisher, n, 300_000))
	}
}

// TestSizeWithoutSplitEnds: nothing more is taken, and that is no loss.
func TestSizeWithoutSplitEnds(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{MaxBytes: 1 << 20}, nil)
	l := open(t, p, "/t", "/p")
	for n := range uint32(200) {
		l.Frames(testlink.Frame(1, n, 20_000), 1, time.Now())
	}
	<-p.AtSize()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filesOf(t, p)[0])
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() < 1<<20 || st.Size() > 1_070_000 {
		t.Errorf("%d bytes; stock stops at 1.00 to 1.07 MiB", st.Size())
	}
	byTime, _ := testlink.Numbers(t, filesOf(t, p)[0])
	topic := accountOf(p, l)
	if uint64(len(byTime[1])) != topic.Messages || topic.Dropped != nil {
		t.Errorf("%d messages, %d counted, dropped %v", len(byTime[1]), topic.Messages, topic.Dropped)
	}
}

// TestSplitOnAFixedGrid: as in stock the boundaries do not move with the messages,
// and intervals without messages make a file each, but for those that nobody saw
// pass.
func TestSplitOnAFixedGrid(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true, Duration: time.Second}, nil)
	l := open(t, p, "/t", "/p")
	at := func(ms int) time.Time { return p.begun.Add(time.Duration(ms) * time.Millisecond) }
	for n, ms := range []int{100, 999, 1000, 1700, 2001, 9100, 10_000} {
		l.Frames(testlink.Frame(1, uint32(n), 10), 1, at(ms))
		if ms == 2001 {
			p.tick(at(3100)) // quiet
			p.tick(at(3200))
			p.tick(at(4000))
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	var got [][]uint32
	for _, path := range filesOf(t, p) {
		byTime, _ := testlink.Numbers(t, path)
		got = append(got, byTime[1])
	}
	want := [][]uint32{{0, 1}, {2, 3}, {4}, nil, nil, {5}, {6}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("files hold %v, want %v", got, want)
	}
}

// TestLatchedBeginEachFile: the latest message of each latching publisher, small or
// large, under its own connection.
func TestLatchedBeginEachFile(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprintf("off=%v", off), func(t *testing.T) {
			t.Parallel()
			p := testPipeline(t, Options{Split: true, Duration: time.Hour, NoRepeatLatched: off, Compression: rosbag.CompressionLZ4}, nil)
			small, large := latching(t, p, "/map", "/p1"), latching(t, p, "/map", "/p2")
			plain := open(t, p, "/t", "/p3")
			for n := range uint32(3) {
				testlink.SendLarge(large, testlink.Frame(2, n, 400_000))
				run := append(testlink.Frame(1, 2*n, 50), testlink.Frame(1, 2*n+1, 80)...)
				small.Frames(run, 2, time.Now())
			}
			next := p.begun.Add(time.Hour)
			plain.Frames(testlink.Frame(3, 0, 10), 1, next)
			plain.Frames(testlink.Frame(3, 1, 10), 1, next.Add(time.Hour))
			testlink.SendLarge(large, testlink.Frame(2, 3, 100)) // nothing waits for the writer: the old one is pinned
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			paths := filesOf(t, p)
			if len(paths) != 3 {
				t.Fatalf("files: %v", paths)
			}
			for i, path := range paths[1:] {
				_, byFile := testlink.Numbers(t, path)
				wantSmall, wantLarge := []uint32{5}, []uint32{2}
				if i == 1 {
					wantLarge = []uint32{2, 3}
				}
				if off {
					wantSmall, wantLarge = nil, wantLarge[1:]
				}
				if !slices.Equal(byFile[1], wantSmall) || !slices.Equal(byFile[2], wantLarge) || len(byFile[3]) != 1 {
					t.Errorf("%s holds %v", path, byFile)
				}
				if !off {
					checkLatchedConnections(t, path)
				}
			}
			if r := accountOf(p, small).Repeated; !off && r != 2 || off && r != 0 {
				t.Errorf("%d counted as repeated", r)
			}
			if u := p.Usage(); u.Held < 0 || u.Latched < 0 {
				t.Errorf("%d bytes held, %d latched", u.Held, u.Latched)
			}
		})
	}
}

func checkLatchedConnections(t *testing.T, path string) {
	t.Helper()
	r := testlink.OpenBag(t, path)
	var ids []string
	for _, c := range r.Connections() {
		if c.Header.Latching() {
			ids = append(ids, c.Header.CallerID())
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"/p1", "/p2"}) {
		t.Errorf("%s: latching connections of %v", path, ids)
	}
}

// TestLatchedWithinTheBudget: what does not fit is recorded, but not repeated, and
// an older message is not repeated in its place.
func TestLatchedWithinTheBudget(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true, Duration: time.Hour, BufferBytes: 2 << 20, Overflow: OverflowBlock}, nil)
	l := latching(t, p, "/map", "/p1")
	l.Frames(testlink.Frame(1, 0, 100), 1, time.Now())
	testlink.SendLarge(l, testlink.Frame(1, 1, 1_200_000))
	p.tick(p.begun.Add(time.Hour))
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	paths := filesOf(t, p)
	if _, byFile := testlink.Numbers(t, paths[0]); len(byFile[1]) != 2 {
		t.Errorf("the first file holds %v", byFile)
	}
	if _, byFile := testlink.Numbers(t, paths[1]); len(byFile[1]) != 0 {
		t.Errorf("the second file holds %v", byFile)
	}
}

// TestLargeMessageAcrossASplit: its connection record is in an earlier file, but
// the file where it ends up can be read without its index, too.
func TestLargeMessageAcrossASplit(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true, Duration: time.Hour}, nil)
	info := testlink.LongRecordInfo("/t", "/p") // too long to go along with each message
	l, err := p.OpenLink(p.AddTopic("/t", "/t", time.Time{}), info)
	if err != nil {
		t.Fatal(err)
	}
	plain := open(t, p, "/o", "/q")
	testlink.SendLarge(l, testlink.Frame(1, 0, 300_000))
	f := testlink.Frame(1, 1, 300_000)
	large := l.Large(len(f))
	p.tick(p.begun.Add(time.Hour))
	plain.Frames(testlink.Frame(2, 0, 10), 1, time.Now())
	for rest := f; len(rest) > 0; {
		rest = rest[copy(large.Room(len(rest)), rest):]
	}
	large.Commit(time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	_, byFile := testlink.Numbers(t, filesOf(t, p)[1]) // reads from front to back
	if !slices.Equal(byFile[1], []uint32{1}) || len(byFile[2]) != 1 {
		t.Errorf("the second file holds %v", byFile)
	}
}

// TestNextNameTaken: the next number is taken, and nothing is overwritten.
func TestNextNameTaken(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true, Duration: time.Second}, nil)
	taken := strings.TrimSuffix(p.Current().Target(), "_0.bag") + "_1.bag"
	if err := os.WriteFile(taken, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, p, "/t", "/p")
	for n := range uint32(3) {
		l.Frames(testlink.Frame(1, n, 10), 1, p.begun.Add(time.Duration(n+1)*time.Second))
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	var bases []string
	for _, path := range filesOf(t, p) {
		bases = append(bases, filepath.Base(path))
	}
	if !slices.Equal(bases, []string{"test_0.bag", "test_2.bag", "test_3.bag", "test_4.bag"}) {
		t.Errorf("files: %v", bases)
	}
	checkCount(t, "in all files", allNumbers(t, filesOf(t, p)), 1, 3)
	if b, err := os.ReadFile(taken); err != nil || string(b) != "precious" {
		t.Errorf("the other file holds %q, %v", b, err)
	}
}

// TestEveryWriteFailsOnceAcrossSplits: a full disk at each write of several files
// leaves every message before it in a bag, and each file closed if it can be.
func TestEveryWriteFailsOnceAcrossSplits(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		f := &faulty{at: at, err: errInjected}
		p := testPipeline(t, Options{Split: true, MaxBytes: 40 << 10, ChunkBytes: 20 << 10}, f.wrap)
		l := open(t, p, "/t", "/p")
		testlink.PublishPlain(l, 20)
		err := p.close()
		if err == nil && f.n < at {
			if at < 10 {
				t.Errorf("only %d writes were visited", at)
			}
			return
		}
		if err != nil && !errors.Is(err, errInjected) {
			t.Fatalf("write %d: %v", at, err)
		}
		kept, closed := 0, true
		for _, b := range p.Bags.Finished.List() {
			if closed = closed && b.Name == b.Place.Target(); closed {
				byTime, _ := testlink.Numbers(t, b.Name)
				kept += len(byTime[1])
			}
		}
		if topic := accountOf(p, l); topic.Messages != 20 || closed && kept != 20 {
			t.Errorf("write %d: %d messages in the bags, %d counted", at, kept, topic.Messages)
		}
	}
}

// BenchmarkSplits records 50 MB/s in messages of 50 kB with a split each MB and
// reports how long pipeline.append waited around.
func BenchmarkSplits(b *testing.B) {
	p := testPipeline(b, Options{Split: true, MaxBytes: 1 << 20, Retain: Retention{Files: 20}}, nil)
	l := open(b, p, "/t", "/p")
	f := testlink.Frame(1, 0, 50_000)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var waits []time.Duration
	sent := 0
	b.ResetTimer()
	for b.Loop() { // one split
		for range 22 {
			<-tick.C
			start := time.Now()
			l.Frames(f, 1, start)
			waits = append(waits, time.Since(start))
			sent++
		}
	}
	b.StopTimer()
	p.close()
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(waits[len(waits)*999/1000].Microseconds()), "p99.9-µs")
	b.ReportMetric(float64(waits[len(waits)-1].Microseconds()), "max-µs")
	b.ReportMetric(float64(p.Bags.Finished.Number()), "files")
	b.ReportMetric(float64(uint64(sent)-accountOf(p, l).Messages), "lost")
}
