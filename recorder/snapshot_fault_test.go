package recorder

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
	"weak"

	"github.com/gorosbag/gorosbag/bagfmt"
)

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
