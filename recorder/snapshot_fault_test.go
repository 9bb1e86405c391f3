package recorder

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestTornSnapshotCanBeRead: the records of the connections come before the messages,
// so that what a crash leaves of a snapshot is good without an index.
func TestTornSnapshotCanBeRead(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{ChunkBytes: 1000, Snapshot: Snapshot{PreRoll: 20 * time.Second, PostRoll: time.Second}})
	l, quiet := open(t, p, "/t", "/p"), open(t, p, "/quiet", "/q")
	start := time.Now()
	quiet.Frames(testlink.Frame(2, 0, 10), 1, start) // long ago, with its record
	for n := range 1000 {
		l.Frames(testlink.Frame(1, uint32(n), 50), 1, start.Add(time.Duration(n)*time.Second/10))
	}
	end := start.Add(100 * time.Second)
	sn, err := p.Snapshotter.Trigger(t.Context(), end)
	if err != nil {
		t.Fatal(err)
	}
	quiet.Frames(testlink.Frame(2, 1, 10), 1, end.Add(time.Millisecond))
	p.tick(end.Add(time.Second))
	<-sn.Out.Finished
	b, err := os.ReadFile(sn.Out.Target())
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
type failing struct{ disk.Handle }

func (f failing) WriteAt(p []byte, off int64) (int, error) {
	if off >= 4117 {
		return 0, syscall.ENOSPC
	}
	return f.Handle.WriteAt(p, off)
}

// TestSnapshotThatFails: what is missing is counted and returned, and the ring goes on.
func TestSnapshotThatFails(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{ChunkBytes: 1000})
	l := open(t, p, "/t", "/p")
	for n := range uint32(100) {
		l.Frames(testlink.Frame(1, n, 100), 1, time.Now())
	}
	p.Snapshotter.Outputs.Wrap = func(f disk.Handle) disk.Handle { return failing{f} }
	sn, err := p.Snapshotter.Trigger(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	<-sn.Out.Finished
	if sn.Err == nil || sn.Missing != 100 {
		t.Errorf("missing %d: %v", sn.Missing, sn.Err)
	}
	p.Snapshotter.Outputs.Wrap = nil
	l.Frames(testlink.Frame(1, 100, 100), 1, time.Now())
	if got := numbersOf(t, take(t, p, time.Now()).Out.Target()); !slices.Equal(got, []uint32{100}) {
		t.Errorf("the next snapshot has %v", got)
	}
	if err := p.close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("close returns %v", err)
	}
	if topic := accountOf(p, l); topic.Dropped[control.DropDisk.String()] != 100 || topic.Messages != 1 || topic.Bytes != 100 {
		t.Errorf("dropped %v, recorded %d messages, %d bytes", topic.Dropped, topic.Messages, topic.Bytes)
	}
}

// telling is a file that tells of each write before it is done.
type telling struct {
	disk.Handle
	writes func()
}

func (f telling) WriteAt(p []byte, off int64) (int, error) {
	f.writes()
	return f.Handle.WriteAt(p, off)
}

// TestSnapshotLetsMemoryGo: what is written of a snapshot may be collected before the rest
// is, since the ring has that memory again. It runs alone: it looks at the heap.
func TestSnapshotLetsMemoryGo(t *testing.T) {
	p := ringPipeline(t, Options{Compression: rosbag.CompressionLZ4}) // the ring has copies of packed chunks
	l := open(t, p, "/t", "/p")
	const chunks, looked, size = 40, 30, 100_000
	now := time.Now()
	for n := range uint32(chunks) {
		l.Frames(noise(testlink.Frame(1, n, size)), 1, now)
		p.tick(now.Add(p.o.FlushInterval))
	}
	testlink.WaitFor(t, func() bool { return p.Stats(now).Snapshots.Bytes >= chunks*size })
	writes, before, freed := 0, heapInUse(), int64(0)
	p.Snapshotter.Outputs.Wrap = func(f disk.Handle) disk.Handle {
		return telling{f, func() {
			if writes++; writes == looked {
				freed = before - heapInUse()
			}
		}}
	}
	take(t, p, time.Now())
	if least := int64(looked-ring.MaxSpare-6) * size; freed < least {
		t.Errorf("after %d of %d writes %d bytes are free, want %d", looked, writes, freed, least)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotIsNotWaitedForByADiskThatHangs: who gives up waiting need not wait for the
// file to be created either. The end of the recording waits for the snapshot, and accepts no trigger after that.
func TestSnapshotIsNotWaitedForByADiskThatHangs(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := ringPipeline(t, Options{Control: c})
	c.attach(sessionOn(p, Options{}))
	creating, hangs := make(chan struct{}), make(chan struct{})
	p.Snapshotter.Outputs.Wrap = func(f disk.Handle) disk.Handle {
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
	testlink.WaitFor(t, func() bool {
		_, err := c.Snapshot(ctx)
		return errors.Is(err, control.ErrNotRecording)
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
	if left, err := filepath.Glob(filepath.Dir(p.Snapshotter.Outputs.Next(time.Now())) + "/*.bag"); err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
}
