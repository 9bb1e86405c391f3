package recorder

import (
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testrace"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ringPipeline is a pipeline that writes snapshots only.
func ringPipeline(t testing.TB, o Options) *pipeline {
	t.Helper()
	if o.Snapshot.Mode == control.SnapshotOff {
		o.Snapshot.Mode = control.SnapshotOnly
	}
	return testPipeline(t, o, nil)
}

// TestRingNeedsNoMemoryOfItsOwn: while all memory waits for the writer, a chunk comes into
// the ring as it is, not as a copy for which there is no room.
func TestRingNeedsNoMemoryOfItsOwn(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 50 << 10, Overflow: OverflowBlock, FlushInterval: time.Hour})
	release := holdWriter(p)
	l := open(t, p, "/t", "/p")
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for n := range uint32(1000) {
			l.Frames(testlink.Frame(1, n, 5000), 1, time.Now())
		}
	}()
	testlink.WaitFor(t, func() bool { return heldUp(p, "/t") })
	next, _ := p.Intake.Files().Next() // in place of the writer
	if next.Command != nil {           // that has not come to its command yet
		go p.Execute(next.Command)
		next, _ = p.Intake.Files().Next()
	}
	c := next.Chunk
	c.Seal(nil)
	rc := p.Snapshots().ToRingChunk(c)
	if rc.Buffer != c {
		t.Error("a copy was made beyond the buffer")
	}
	p.Snapshots().GiveBack(rc)
	release()
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
		l.Frames(testlink.Frame(1, uint32(n), 100), 1, start.Add(time.Duration(n)*time.Second))
	}
	testlink.WaitFor(t, func() bool {
		p.Mu.Lock()
		defer p.Mu.Unlock()
		return len(p.Ring.Chunks) == 11 && p.Ring.Chunks[0].FirstAt.Equal(start.Add(89*time.Second))
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
		l.Frames(testlink.Frame(1, uint32(n), 100), 1, now)
		p.tick(now.Add(time.Second))
		testlink.WaitFor(t, func() bool {
			p.Mu.Lock()
			defer p.Mu.Unlock()
			return len(p.Ring.Chunks) == n+1
		})
	}
	sn := take(t, p, start.Add(3000*time.Second))
	if got := numbersOf(t, sn.Out.Target()); len(got) != 3000 {
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
	p := testPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 50 << 10, Overflow: OverflowBlock, Snapshot: Snapshot{Mode: control.SnapshotBeside}}, func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	close(g.open)
	publishSized := func(from, to uint32) {
		for n := from; n < to; n++ {
			l.Frames(testlink.Frame(1, n, 5000), 1, time.Now())
		}
	}
	publishSized(0, 1000)
	testlink.WaitFor(t, func() bool { return p.Accounts().Stats(time.Now()).Snapshots.Bytes > 1<<20 })
	large := l.Large(1_000_000) // more than the ring leaves
	if large == nil || !testlink.Fill(large, testlink.Frame(1, 1000, 1_000_000-4)) {
		t.Fatal("a message was refused for the sake of the ring")
	}
	large.Commit(time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := accountOf(p, l).Messages; lost(p, l) != 0 || got != 1001 {
		t.Errorf("%d of 1001 messages, %d lost", got, lost(p, l))
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
			l.Frames(testlink.Frame(1, n, 5000), 1, time.Now())
		}
	}
	for n := uint32(0); n < before; n += 10 {
		send(n, n+10)
		testlink.WaitFor(t, p.written)
	}
	release := holdWriter(p)
	sn, err := p.Snapshotter.Trigger(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	send(before, 5*before)
	release()
	<-sn.Out.Finished
	got := numbersOf(t, sn.Out.Target())
	if n := len(got); n < 200 || !slices.Equal(got, sequence(before-n, before)) {
		t.Errorf("%d messages, %v to %v", n, got[0], got[n-1])
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestRingAllocatesNothing: a message costs no allocation where snapshots are kept
// ready, neither where the ring takes buffers over nor where it copies what is packed.
func TestRingAllocatesNothing(t *testing.T) {
	for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		p := ringPipeline(t, Options{FlushInterval: time.Hour, Overflow: OverflowBlock, BufferBytes: 8 << 20, Compression: c, Snapshot: Snapshot{Bytes: 1 << 20}})
		l := open(t, p, "/t", "/p")
		const count = 64
		var run []byte
		for i := range uint32(count) {
			run = append(run, testlink.Frame(1, i, 1000)...)
		}
		now := time.Now()
		for range 300 { // let the ring fill and every buffer grow
			l.Frames(run, count, now)
		}
		perRun := testing.AllocsPerRun(300, func() { l.Frames(run, count, now) })
		if perMessage := perRun / count; perMessage > 0.02 && !testrace.Enabled {
			t.Errorf("%s: %.3f allocations a message", c, perMessage)
		}
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
	}
}
