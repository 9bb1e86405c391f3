package recorder

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
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

// TestSlowTopicsReachFarBack: chunks that are sealed young do not fill memory with air.
func TestSlowTopicsReachFarBack(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{BufferBytes: 8 << 20, Snapshot: Snapshot{PreRoll: time.Hour}})
	l := open(t, p, "/t", "/p")
	start := time.Now()
	kept := func() int64 { return p.Stats(start).Snapshots.Bytes }
	for n := range 3000 { // seconds
		before := kept()
		now := start.Add(time.Duration(n) * time.Second)
		l.Frames(testlink.Frame(1, uint32(n), 100), 1, now)
		p.tick(now.Add(time.Second))
		testlink.WaitFor(t, func() bool { return kept() > before })
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
	testlink.WaitFor(t, func() bool { return p.Stats(time.Now()).Snapshots.Bytes > 1<<20 })
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
		if perMessage := perRun / count; perMessage > 0.02 && !testkit.Race {
			t.Errorf("%s: %.3f allocations a message", c, perMessage)
		}
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
	}
}
