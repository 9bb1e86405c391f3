package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
	"weak"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// ringPipeline is a pipeline that writes snapshots only.
func ringPipeline(t testing.TB, o Options) *pipeline {
	t.Helper()
	if o.Snapshot.Mode == SnapshotOff {
		o.Snapshot.Mode = SnapshotOnly
	}
	return testPipeline(t, o, nil)
}

// take takes a snapshot and returns it when it is closed.
func take(t testing.TB, p *pipeline, now time.Time) *snapshot {
	t.Helper()
	sn, err := p.snapshot(now)
	if err != nil {
		t.Fatal(err)
	}
	<-sn.out.finished
	if err := errors.Join(sn.err, sn.out.fault); err != nil {
		t.Fatal(err)
	}
	return sn
}

// numbersOf reads the messages of publisher 1 in a bag, and judges it first.
func numbersOf(t testing.TB, path string) []uint32 {
	t.Helper()
	byTime, byFile := numbers(t, path)
	if !slices.Equal(byTime[1], byFile[1]) {
		t.Errorf("%s: messages %v by time, %v in the file", path, byTime[1], byFile[1])
	}
	return byTime[1]
}

func sequence(from, to int) []uint32 {
	var all []uint32
	for n := from; n < to; n++ {
		all = append(all, uint32(n))
	}
	return all
}

// TestSnapshotHasTheWindow: of what came before the trigger exactly the pre-roll, of
// what comes after it exactly the post-roll.
func TestSnapshotHasTheWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []bagfmt.Compression{bagfmt.CompressionNone, bagfmt.CompressionLZ4} {
		for _, chunkBytes := range []int{1, 500, 0} {
			t.Run(fmt.Sprintf("%s/chunk=%d", c, chunkBytes), func(t *testing.T) {
				t.Parallel()
				p := ringPipeline(t, Options{
					Compression: c, ChunkBytes: chunkBytes,
					Snapshot: Snapshot{PreRoll: 10 * time.Second, PostRoll: 5 * time.Second},
				})
				l := open(t, p, "/t", "/p")
				start := time.Now()
				at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
				send := func(from, to int) {
					for n := from; n < to; n++ {
						l.Frames(frame(1, uint32(n), 50), 1, at(float64(n)))
					}
				}
				send(0, 30)
				sn, err := p.snapshot(at(29.5)) // 19.5 to 34.5
				if err != nil {
					t.Fatal(err)
				}
				send(30, 40)
				<-sn.out.finished
				if got := numbersOf(t, sn.out.target); !slices.Equal(got, sequence(20, 35)) {
					t.Errorf("messages %v, want 20 to 34", got)
				}
				send(40, 42)
				p.tick(at(60))
				second := take2(t, p, at(41.5), at(60))
				if got := numbersOf(t, second); !slices.Equal(got, sequence(35, 42)) {
					t.Errorf("the next snapshot has %v, want 35 to 41", got)
				}
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// take2 takes a snapshot whose post-roll is over at end.
func take2(t *testing.T, p *pipeline, now, end time.Time) string {
	t.Helper()
	sn, err := p.snapshot(now)
	if err != nil {
		t.Fatal(err)
	}
	p.tick(end)
	<-sn.out.finished
	return sn.out.target
}

// TestSnapshotWithSlowClock: the pre-roll is time that passed, whatever the stamps say.
func TestSnapshotWithSlowClock(t *testing.T) {
	t.Parallel()
	sim := &simClock{begun: make(chan struct{})}
	sim.set(int64(time.Hour))
	p := ringPipeline(t, Options{sim: sim, FlushInterval: time.Hour, Snapshot: Snapshot{PreRoll: 10500 * time.Millisecond}})
	l := open(t, p, "/t", "/p")
	start := time.Now()
	for n := range 21 {
		sim.set(int64(time.Hour + time.Duration(n)*time.Second/10))
		l.Frames(frame(1, uint32(n), 50), 1, start.Add(time.Duration(n)*time.Second))
	}
	sn := take(t, p, start.Add(20*time.Second))
	if got := numbersOf(t, sn.out.target); !slices.Equal(got, sequence(10, 21)) {
		t.Errorf("messages %v, want 10 to 20", got)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotProlonged: a trigger within the post-roll makes it longer, in one file.
func TestSnapshotProlonged(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PostRoll: 5 * time.Second}})
	l := open(t, p, "/t", "/p")
	start := time.Now()
	var first, second *snapshot
	for n := range 20 {
		now := start.Add(time.Duration(n) * time.Second)
		l.Frames(frame(1, uint32(n), 50), 1, now)
		var err error
		switch n {
		case 3:
			first, err = p.snapshot(now)
		case 7:
			second, err = p.snapshot(now)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if first != second {
		t.Error("the second trigger began another snapshot")
	}
	<-first.out.finished
	if got := numbersOf(t, first.out.target); !slices.Equal(got, sequence(0, 12)) {
		t.Errorf("messages %v, want 0 to 11", got)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotsInARow: what comes while snapshots are taken is in one of them, once.
func TestSnapshotsInARow(t *testing.T) {
	t.Parallel()
	for _, mode := range []SnapshotMode{SnapshotOnly, SnapshotBeside} {
		for _, c := range []bagfmt.Compression{bagfmt.CompressionNone, bagfmt.CompressionLZ4} {
			t.Run(fmt.Sprintf("%d/%s", mode, c), func(t *testing.T) {
				t.Parallel()
				p := ringPipeline(t, Options{
					ChunkBytes: 20 << 10, BufferBytes: 64 << 20, Overflow: OverflowBlock, Compression: c,
					Snapshot: Snapshot{Mode: mode, PostRoll: time.Millisecond},
				})
				const messages, snapshots = 20_000, 50
				links := []*link{open(t, p, "/t", "/p"), open(t, p, "/u", "/q")}
				done := make(chan struct{})
				go func() { // until the snapshots have been taken
					defer close(done)
					for n := range uint32(messages) {
						links[0].Frames(frame(1, n, 300), 1, time.Now())
						if n%1000 == 0 {
							sendLarge(links[1], frame(2, n/1000, 100_000))
						}
					}
				}()
				var paths []string
				for len(paths) < snapshots {
					sn, err := p.snapshot(time.Now())
					if err != nil {
						t.Fatal(err)
					}
					if len(paths) == 0 || paths[len(paths)-1] != sn.out.target {
						paths = append(paths, sn.out.target)
					}
					p.tick(time.Now())
				}
				<-done
				sn, err := p.snapshot(time.Now())
				if err != nil {
					t.Fatal(err)
				}
				paths = append(paths, sn.out.target)
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
				got := allNumbers(t, slices.Compact(paths))
				checkCount(t, "in the snapshots", map[uint32][]uint32{1: got[1]}, 1, messages)
				checkCount(t, "large ones", map[uint32][]uint32{2: got[2]}, 1, messages/1000)
				if mode == SnapshotBeside {
					byTime, _ := numbers(t, p.out.target)
					checkCount(t, "in the recording", map[uint32][]uint32{1: byTime[1]}, 1, messages)
				}
				if m := links[0].connection.topic.messages; m != messages {
					t.Errorf("%d messages counted", m)
				}
			})
		}
	}
}

// TestSnapshotStaysInMemory: the ring and all else together keep within the buffer, the
// oldest messages go, and that is said once.
func TestSnapshotStaysInMemory(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zapcore.WarnLevel)
	const buffer = 2 << 20
	p := ringPipeline(t, Options{
		BufferBytes: buffer, ChunkBytes: 50 << 10, Overflow: OverflowBlock, Log: zap.New(core),
		Snapshot: Snapshot{PreRoll: time.Hour},
	})
	l := open(t, p, "/t", "/p")
	const messages = 3000
	for n := range uint32(messages) {
		l.Frames(frame(1, n, 5000), 1, time.Now())
		if n%100 == 0 {
			p.tick(time.Now())
		}
		p.mu.Lock()
		if held := p.pool.held; held > buffer {
			t.Fatalf("%d bytes held", held)
		}
		p.mu.Unlock()
	}
	if n := logged.FilterMessageSnippet("memory does not hold").Len(); n != 1 {
		t.Errorf("said %d times that memory is short", n)
	}
	got := numbersOf(t, take(t, p, time.Now()).out.target)
	if n := len(got); n < 200 || n > buffer*3/4/5000 || !slices.Equal(got, sequence(messages-n, messages)) {
		t.Errorf("%d messages, %d to %d", n, got[0], got[n-1])
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if d := l.connection.topic.dropped; d != [dropCauses]uint64{} {
		t.Errorf("dropped %v", d)
	}
}

// TestRingNeedsNoMemoryOfItsOwn: while all memory waits for the writer, a chunk comes into
// the ring as it is, not as a copy for which there is no room.
func TestRingNeedsNoMemoryOfItsOwn(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 50 << 10, Overflow: OverflowBlock, FlushInterval: time.Hour})
	behind := make(chan struct{})
	p.mu.Lock()
	p.send(func(*errand) error {
		<-behind
		return nil
	})
	p.mu.Unlock()
	l := open(t, p, "/t", "/p")
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for n := range uint32(1000) {
			l.Frames(frame(1, n, 5000), 1, time.Now())
		}
	}()
	waitFor(t, func() bool { // it waits for room
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.open == nil && !p.pool.fits(p.sharedChunk())
	})
	c, _ := p.sealed.take() // in place of the writer
	if c.errand != nil {    // that has not come to its errand yet
		go c.errand.run()
		c, _ = p.sealed.take()
	}
	c.seal(nil)
	rc := p.hold(c)
	if rc.chunk != c {
		t.Error("a copy was made beyond the buffer")
	}
	p.giveBack(rc)
	close(behind)
	<-sent
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestRingForgetsTheOld: what is older than the pre-roll takes no memory.
func TestRingForgetsTheOld(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{ChunkBytes: 1, Snapshot: Snapshot{PreRoll: 10 * time.Second}})
	l := open(t, p, "/t", "/p")
	start := time.Now()
	for n := range 100 {
		l.Frames(frame(1, uint32(n), 100), 1, start.Add(time.Duration(n)*time.Second))
	}
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.snaps.ring.chunks) == 11 && p.snaps.ring.chunks[0].born.Equal(start.Add(89*time.Second))
	})
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSlowTopicsReachFarBack: chunks that are sealed young do not fill memory with air.
func TestSlowTopicsReachFarBack(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{BufferBytes: 8 << 20, Snapshot: Snapshot{PreRoll: time.Hour}})
	l := open(t, p, "/t", "/p")
	start := time.Now()
	for n := range 3000 { // seconds
		now := start.Add(time.Duration(n) * time.Second)
		l.Frames(frame(1, uint32(n), 100), 1, now)
		p.tick(now.Add(time.Second))
		waitFor(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.snaps.ring.chunks) == n+1
		})
	}
	sn := take(t, p, start.Add(3000*time.Second))
	if got := numbersOf(t, sn.out.target); len(got) != 3000 {
		t.Errorf("%d of 3000 messages", len(got))
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestRecordingComesBeforeTheRing: memory that the recording needs is taken from the
// ring, not from the messages.
func TestRecordingComesBeforeTheRing(t *testing.T) {
	t.Parallel()
	g := gate{open: make(chan struct{})}
	p := testPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 50 << 10, Overflow: OverflowBlock, Snapshot: Snapshot{Mode: SnapshotBeside}}, func(f file) file { g.file = f; return g })
	l := open(t, p, "/t", "/p")
	close(g.open)
	publishSized := func(from, to uint32) {
		for n := from; n < to; n++ {
			l.Frames(frame(1, n, 5000), 1, time.Now())
		}
	}
	publishSized(0, 1000)
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.snaps.ring.bytes > 1<<20
	})
	large := l.Large(1_800_000) // more than the ring leaves
	if large == nil {
		t.Fatal("a message was refused for the sake of the ring")
	}
	large.Abort()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if d := l.connection.topic.dropped[dropOversize]; d != 0 {
		t.Errorf("%d dropped", d)
	}
}

// TestTriggerKeepsWhatWasThere: what comes while the writer is behind takes no memory
// of what a snapshot was asked for before.
func TestTriggerKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 50 << 10})
	l := open(t, p, "/t", "/p")
	const before = 400
	send := func(from, to uint32) {
		for n := from; n < to; n++ {
			l.Frames(frame(1, n, 5000), 1, time.Now())
		}
	}
	for n := uint32(0); n < before; n += 10 {
		send(n, n+10)
		waitFor(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.pool.waiting == 0 // nothing but the open chunk is on its way
		})
	}
	behind := make(chan struct{})
	p.mu.Lock()
	p.send(func(*errand) error {
		<-behind
		return nil
	})
	p.mu.Unlock()
	sn, err := p.snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	send(before, 5*before)
	close(behind)
	<-sn.out.finished
	got := numbersOf(t, sn.out.target)
	if n := len(got); n < 200 || !slices.Equal(got, sequence(before-n, before)) {
		t.Errorf("%d messages, %v to %v", n, got[0], got[n-1])
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// latchedInfo is that of a latching publisher.
func latchedInfo(topic, publisher string) tcpros.LinkInfo {
	info := linkInfo(topic, publisher)
	for i := range info.Header {
		if info.Header[i].Key == "latching" {
			info.Header[i].Value = "1"
		}
	}
	return info
}

// TestSnapshotHasLatchedMessages: each snapshot begins with those that fell out of the
// ring, under their own header, and has none twice.
func TestSnapshotHasLatchedMessages(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PreRoll: 10 * time.Second}})
	l := open(t, p, "/t", "/p")
	old, err1 := p.openLink(p.addTopic("/tf_static"), latchedInfo("/tf_static", "/old"))
	fresh, err2 := p.openLink(old.connection.topic, latchedInfo("/tf_static", "/fresh"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	old.Frames(frame(7, 1, 10), 1, start)
	p.tick(start.Add(2 * time.Second))
	l.Frames(frame(1, 0, 10), 1, start.Add(95*time.Second))
	fresh.Frames(frame(8, 1, 10), 1, start.Add(99*time.Second))
	for i := range 2 {
		path := take(t, p, start.Add(time.Duration(100+i)*time.Second)).out.target
		byTime, _ := numbers(t, path)
		if len(byTime[7]) != 1 || len(byTime[8]) != 1 {
			t.Errorf("%s: latched messages %v and %v", path, byTime[7], byTime[8])
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		latching := 0
		for _, c := range r.Connections() {
			if c.Header.Latching() && slices.Contains([]string{"/old", "/fresh"}, c.Header.CallerID()) {
				latching++
			}
		}
		if latching != 2 {
			t.Errorf("%s: %d latching connections", path, latching)
		}
		if first := r.Start(); first.Std().Before(start.Add(94*time.Second)) || i == 0 && !first.Std().Before(start.Add(96*time.Second)) {
			t.Errorf("%s begins at %v", path, first)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestTornSnapshotCanBeRead: the records of the connections come before the messages,
// so that what a crash leaves of a snapshot is good without an index.
func TestTornSnapshotCanBeRead(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{ChunkBytes: 1000, Snapshot: Snapshot{PreRoll: 20 * time.Second, PostRoll: time.Second}})
	l, quiet := open(t, p, "/t", "/p"), open(t, p, "/quiet", "/q")
	start := time.Now()
	quiet.Frames(frame(2, 0, 10), 1, start) // long ago, with its record
	for n := range 1000 {
		l.Frames(frame(1, uint32(n), 50), 1, start.Add(time.Duration(n)*time.Second/10))
	}
	end := start.Add(100 * time.Second)
	sn, err := p.snapshot(end)
	if err != nil {
		t.Fatal(err)
	}
	quiet.Frames(frame(2, 1, 10), 1, end.Add(time.Millisecond))
	p.tick(end.Add(time.Second))
	<-sn.out.finished
	b, err := os.ReadFile(sn.out.target)
	if err != nil {
		t.Fatal(err)
	}
	s, err := bagfmt.NewScanner(bytes.NewReader(b[:len(b)-100]), bagfmt.ScannerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for m, err := s.Next(); err == nil; m, err = s.Next() {
		n[m.Conn.Topic]++
	}
	if n["/t"] != 200 || n["/quiet"] != 1 {
		t.Errorf("without an index %v can be read, want 200 and 1", n)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// failing is a file that takes no writes after the first few bytes.
type failing struct{ file }

func (f failing) WriteAt(p []byte, off int64) (int, error) {
	if off >= 4117 {
		return 0, syscall.ENOSPC
	}
	return f.file.WriteAt(p, off)
}

// TestSnapshotThatFails: what is missing is counted and returned, and the ring goes on.
func TestSnapshotThatFails(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{ChunkBytes: 1000})
	l := open(t, p, "/t", "/p")
	for n := range uint32(100) {
		l.Frames(frame(1, n, 100), 1, time.Now())
	}
	p.snaps.outputs.wrap = func(f file) file { return failing{f} }
	sn, err := p.snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	<-sn.out.finished
	if sn.err == nil || sn.missing != 100 {
		t.Errorf("missing %d: %v", sn.missing, sn.err)
	}
	p.snaps.outputs.wrap = nil
	l.Frames(frame(1, 100, 100), 1, time.Now())
	if got := numbersOf(t, take(t, p, time.Now()).out.target); !slices.Equal(got, []uint32{100}) {
		t.Errorf("the next snapshot has %v", got)
	}
	if err := p.close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("close returns %v", err)
	}
	if topic := l.connection.topic; topic.dropped[dropDisk] != 100 || p.recorded(topic) != 1 {
		t.Errorf("dropped %v, recorded %d", topic.dropped, p.recorded(topic))
	}
}

// telling is a file that tells of each write before it is done.
type telling struct {
	file
	writes func()
}

func (f telling) WriteAt(p []byte, off int64) (int, error) {
	f.writes()
	return f.file.WriteAt(p, off)
}

// TestSnapshotLetsMemoryGo: what is written of a snapshot may be collected before the rest
// is, since the ring has that memory again.
func TestSnapshotLetsMemoryGo(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{})
	l := open(t, p, "/t", "/p")
	const chunks = 40
	now := time.Now()
	for n := range uint32(chunks) {
		l.Frames(frame(1, n, 5000), 1, now)
		p.tick(now.Add(p.flush))
	}
	var memory []weak.Pointer[byte]
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.snaps.ring.chunks) == chunks
	})
	p.mu.Lock()
	for _, c := range p.snaps.ring.chunks {
		memory = append(memory, weak.Make(&c.memory[0]))
	}
	p.mu.Unlock()
	writes, held := 0, 0
	p.snaps.outputs.wrap = func(f file) file {
		return telling{f, func() {
			if writes++; writes != chunks { // the last one, about
				return
			}
			runtime.GC()
			for _, m := range memory {
				if m.Value() != nil {
					held++
				}
			}
		}}
	}
	take(t, p, time.Now())
	if writes < chunks || held > maxSpare+5 {
		t.Errorf("after %d writes the memory of %d chunks is held", writes, held)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotEndsWithTheRecording: a post-roll that goes on is cut short, and what is
// in the ring only is no loss.
func TestSnapshotEndsWithTheRecording(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PostRoll: time.Hour}})
	l := open(t, p, "/t", "/p")
	l.Frames(frame(1, 0, 10), 1, time.Now())
	sn, err := p.snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.Frames(frame(1, 1, 10), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, sn.out.target); !slices.Equal(got, sequence(0, 2)) {
		t.Errorf("messages %v", got)
	}
	if _, err := p.snapshot(time.Now()); !errors.Is(err, ErrNotRecording) {
		t.Errorf("after the end: %v", err)
	}
	left, err := filepath.Glob(filepath.Dir(sn.out.target) + "/*")
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
}

// TestEmptySnapshot: a trigger always makes a bag.
func TestEmptySnapshot(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{})
	path := take(t, p, time.Now()).out.target
	if byTime, _ := numbers(t, path); len(byTime) != 0 {
		t.Errorf("messages %v", byTime)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotNames(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 15, 30, 0, time.Local)
	tests := []struct {
		out    Output
		beside bool
		want   string
	}{
		{Output{}, false, "2026-11-21-08-15-30.bag"},
		{Output{Prefix: "run"}, false, "run_2026-11-21-08-15-30.bag"},
		{Output{Name: "run.bag"}, false, "run.bag"},
		{Output{}, true, "snapshot_2026-11-21-08-15-30.bag"},
		{Output{Prefix: "dir/"}, true, "dir/snapshot_2026-11-21-08-15-30.bag"},
		{Output{Prefix: "run"}, true, "run_snapshot_2026-11-21-08-15-30.bag"},
		{Output{Name: "run.bag"}, true, "run_snapshot_2026-11-21-08-15-30.bag"},
		{Output{Template: "day_%Y.bag"}, true, "day_2026_snapshot.bag"},
	}
	for _, tc := range tests {
		main := &outputs{Output: tc.out}
		if got := main.ofSnapshots(tc.beside).path(now); got != tc.want {
			t.Errorf("%+v, beside %v: %s, want %s", tc.out, tc.beside, got, tc.want)
		}
	}
}

func TestSnapshotOptions(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	tests := map[string]struct {
		o    Options
		most int64 // of the ring; zero means refused
	}{
		"default":     {Options{BufferBytes: 100 * mb, Snapshot: Snapshot{Mode: SnapshotOnly}}, 75 * mb},
		"given":       {Options{BufferBytes: 100 * mb, Snapshot: Snapshot{Mode: SnapshotBeside, Bytes: 10 * mb}}, 10 * mb},
		"too much":    {Options{BufferBytes: 100 * mb, Snapshot: Snapshot{Mode: SnapshotOnly, Bytes: 76 * mb}}, 0},
		"no bound":    {Options{BufferBytes: Unlimited, Snapshot: Snapshot{Mode: SnapshotOnly}}, 0},
		"own bound":   {Options{BufferBytes: Unlimited, Snapshot: Snapshot{Mode: SnapshotOnly, Bytes: mb}}, mb},
		"no mode":     {Options{Snapshot: Snapshot{PreRoll: time.Second}}, 0},
		"split":       {Options{Split: true, Snapshot: Snapshot{Mode: SnapshotOnly}}, 0},
		"split aside": {Options{Split: true, BufferBytes: 4 * mb, Snapshot: Snapshot{Mode: SnapshotBeside}}, 3 * mb},
		"negative":    {Options{Snapshot: Snapshot{Mode: SnapshotOnly, PostRoll: -1}}, 0},
	}
	for name, tc := range tests {
		tc.o.Node, tc.o.Select.All = new(tcpros.Node), true
		o, err := tc.o.withDefaults()
		if refused := err != nil; refused != (tc.most == 0) || !refused && o.Snapshot.Bytes != tc.most {
			t.Errorf("%s: %d bytes, %v", name, o.Snapshot.Bytes, err)
		}
	}
}

// TestRingAllocatesNothing: a message costs no allocation where snapshots are kept
// ready, neither where the ring takes buffers over nor where it copies what is packed.
func TestRingAllocatesNothing(t *testing.T) {
	for _, c := range []bagfmt.Compression{bagfmt.CompressionNone, bagfmt.CompressionLZ4} {
		p := ringPipeline(t, Options{FlushInterval: time.Hour, Overflow: OverflowBlock, BufferBytes: 8 << 20, Compression: c, Snapshot: Snapshot{Bytes: 1 << 20}})
		l := open(t, p, "/t", "/p")
		const count = 64
		var run []byte
		for i := range uint32(count) {
			run = append(run, frame(1, i, 1000)...)
		}
		now := time.Now()
		for range 300 { // let the ring fill and every buffer grow
			l.Frames(run, count, now)
		}
		perRun := testing.AllocsPerRun(300, func() { l.Frames(run, count, now) })
		if perMessage := perRun / count; perMessage > 0.02 {
			t.Errorf("%s: %.3f allocations a message", c, perMessage)
		}
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSnapshotThroughControl: it waits for the bag, and stop and start work without one.
func TestSnapshotThroughControl(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := ringPipeline(t, Options{Control: c})
	c.attach(&recording{pipe: p})
	l := open(t, p, "/t", "/p")
	l.Frames(frame(1, 0, 10), 1, time.Now())
	if _, err := c.Split(t.Context()); !errors.Is(err, ErrOnlySnapshots) {
		t.Errorf("split: %v", err)
	}
	if closed, err := c.Stop(t.Context()); closed != "" || err != nil {
		t.Errorf("stop: %q, %v", closed, err)
	}
	l.Frames(frame(1, 1, 10), 1, time.Now())
	if opened, err := c.Start(t.Context()); opened != "" || err != nil {
		t.Errorf("start: %q, %v", opened, err)
	}
	l.Frames(frame(1, 2, 10), 1, time.Now())
	file, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, file); !slices.Equal(got, []uint32{0, 2}) {
		t.Errorf("messages %v", got)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if all, err := filepath.Glob(filepath.Dir(file) + "/*"); err != nil || len(all) != 1 {
		t.Errorf("files %v, %v", all, err)
	}
}

// TestSnapshotIsNotWaitedFor: the end of the waiting is not the end of the snapshot.
func TestSnapshotIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := ringPipeline(t, Options{Control: c, Snapshot: Snapshot{PostRoll: time.Hour}})
	c.attach(&recording{pipe: p})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("snapshot: %v", err)
	}
	var sn *snapshot
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		sn = p.snaps.current
		return sn != nil
	})
	open(t, p, "/t", "/p").Frames(frame(1, 0, 10), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, sn.out.target); !slices.Equal(got, []uint32{0}) {
		t.Errorf("messages %v", got)
	}
}

func TestNoSnapshots(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := testPipeline(t, Options{Control: c}, nil)
	c.attach(&recording{pipe: p})
	if _, err := c.Snapshot(t.Context()); !errors.Is(err, ErrNoSnapshots) {
		t.Errorf("snapshot: %v", err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestResumeWithoutABag: where only snapshots are written there is no bag that the
// latched messages of a pause could go into. The next snapshot has them.
func TestResumeWithoutABag(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := ringPipeline(t, Options{Control: c, Begin: StatePaused})
	c.attach(&recording{pipe: p})
	latching(t, p, "/map", "/server").Frames(frame(1, 5, 10), 1, time.Now())
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	file, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, file); !slices.Equal(got, []uint32{5}) {
		t.Errorf("messages %v", got)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotIsNotWaitedForByADiskThatHangs: who gives up waiting need not wait for the
// file to be created either, and no file is created behind the end.
func TestSnapshotIsNotWaitedForByADiskThatHangs(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := ringPipeline(t, Options{Control: c})
	c.attach(&recording{pipe: p})
	creating, hangs := make(chan struct{}), make(chan struct{})
	p.snaps.outputs.wrap = func(f file) file {
		close(creating)
		<-hangs
		return f
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-creating
		cancel()
	}()
	if _, err := c.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("snapshot: %v", err)
	}
	closed := make(chan error)
	go func() { closed <- p.close() }()
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.ended
	})
	select {
	case err := <-closed:
		t.Fatalf("closed while a file was created: %v", err)
	default:
	}
	close(hangs)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Dir(p.snaps.outputs.path(time.Now())) + "/*"); err != nil || len(left) != 0 {
		t.Errorf("files %v, %v", left, err)
	}
}
