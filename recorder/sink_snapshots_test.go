package recorder

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestSnapshotTells: how many messages a snapshot has, and how many triggers shared snapshots; and
// nothing is wrong. In the bubble no time passes while the disk works, so no operation is slow, however busy
// the machine is.
func TestSnapshotTells(t *testing.T) {
	t.Parallel()
	for name, triggers := range map[string]int{"one trigger": 1, "two triggers": 2, "three at once": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zapcore.InfoLevel)
				p := ringPipeline(t, Options{
					Log: zap.New(core), Compression: rosbag.CompressionLZ4, Sync: SyncChunk,
					Snapshot: Snapshot{Mode: control.SnapshotBeside, PreRoll: 10 * time.Second, PostRoll: 5 * time.Second},
				})
				start := time.Now()
				at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
				chart, odom := latching(t, p, "/map", "/server"), open(t, p, "/odom", "/p")
				chart.Frames(testlink.Frame(1, 0, 10), 1, at(0))
				for s := 1; s <= 20; s++ {
					odom.Frames(testlink.Frame(1, uint32(s), 1000), 1, at(s))
				}
				atOnce, shared := max(triggers-2, 0)*triggers, triggers == 2
				p.Snapshotter.OnMessages("/snapshot_trigger", max(atOnce, 1), at(20))
				synctest.Wait()
				sn := currentSnapshot(t, p)
				if shared {
					if again, err := p.Snapshotter.Trigger(t.Context(), at(20)); again != sn || err != nil {
						t.Fatal(err)
					}
				}
				p.tick(at(60))
				<-sn.Out.Finished
				closePipeline(t, p)
				begun := logs.FilterMessageSnippet("Triggered snapshot recording").All()
				if n, told := begun[0].ContextMap()["triggers"]; len(begun) != 1 || told != (atOnce > 1) || told && n != int64(atOnce) {
					t.Errorf("begun %v, want %d triggers", begun, atOnce)
				}
				if n := accountOf(p, chart).Repeated; n != 1 {
					t.Errorf("%d latched messages repeated, want 1", n)
				}
				if got := sn.Messages; got != 11 {
					t.Errorf("%d messages, want 11", got)
				}
				if n := logs.FilterMessage("triggers shared snapshots").Len(); (n == 1) != (triggers > 1) {
					t.Errorf("told %d times that triggers shared snapshots", n)
				}
				for _, l := range logs.All() {
					if l.Level > zapcore.InfoLevel {
						t.Errorf("logged %s %v", l.Message, l.ContextMap())
					}
				}
				path := sn.Out.Target()
				if name := filepath.Base(path); !strings.HasPrefix(name, "test_snapshot_") {
					t.Errorf("the bag of a snapshot beside a recording is named %s", name)
				}
				for h, err := range testlink.OpenBag(t, path).ChunkHeaders() {
					if err != nil || h.Compression != rosbag.CompressionLZ4 {
						t.Errorf("a chunk is stored with %q, %v", h.Compression, err)
					}
				}
			})
		})
	}
}

// TestSnapshotGivesTheRingBack: once a snapshot has the chunks of the ring, also one of several triggers, a large
// message displaces what the ring holds, and its link does not wait.
func TestSnapshotGivesTheRingBack(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{BufferBytes: 16 << 20, Overflow: OverflowBlock, Snapshot: Snapshot{PostRoll: time.Hour}})
	l, large := open(t, p, "/t", "/p"), open(t, p, "/large", "/p")
	const fill = 1500 // messages, more than the ring holds
	testlink.PublishPlain(l, fill)
	now := time.Now()
	p.Snapshotter.OnMessages("/snapshot_trigger", 2, now)
	sn, err := p.Snapshotter.Trigger(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.Snapshotter.Trigger(t.Context(), now); again != sn || err != nil {
		t.Fatalf("the second trigger does not share the snapshot: %v", err)
	}
	p.tick(now.Add(2 * time.Hour))
	<-sn.Out.Finished
	testlink.PublishPlain(l, fill)
	goesThrough(t, p, func() { testlink.SendLarge(large, testlink.Frame(2, 0, 7<<20)) })
	if n := lost(p, large); n != 0 {
		t.Errorf("%d large messages lost", n)
	}
	closePipeline(t, p)
}
