package recorder

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
	"github.com/gorosbag/gorosbag/recorder/internal/filling"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/snapshot"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// recorded is a message in a chunk.
type recorded struct {
	c     *account.Connection
	at    rosbag.Time
	frame []byte
}

// sealedChunk makes a chunk of messages as the encoder does.
func sealedChunk(t testing.TB, in *intake.Intake, messages ...recorded) *memory.Chunk {
	t.Helper()
	c := in.Snapshots().FreshChunk(1)
	if c == nil {
		t.Fatal("no memory")
	}
	c.Builder.Reset(nil)
	for _, m := range messages {
		c.Builder.AppendRun(m.c.Conn, m.at, m.frame, 1)
	}
	in.Snapshots().Count(c)
	if c.Seal(nil); c.Err != nil {
		t.Fatal(c.Err)
	}
	return c
}

// snapshotsOf returns a writer of snapshots without a sink.
func snapshotsOf(in *intake.Intake) *snapshot.Writer {
	return snapshot.New(snapshot.Config{In: in.Snapshots(), Log: zap.NewNop()})
}

// TestFirstChunkOfASnapshot: it is written anew with what is in the window, but for one large
// message, which stays as it is. What is latched before the window is kept for the beginning.
func TestFirstChunkOfASnapshot(t *testing.T) {
	t.Parallel()
	const large = snapshot.LeastLarge + 1000
	start := time.Unix(1000, 0)
	at := func(s int) rosbag.Time { return rosbag.TimeOf(start.Add(time.Duration(s) * time.Second)) }
	for name, tc := range map[string]struct {
		chunkBytes     int
		sizes          []int
		from           int // seconds, where the window begins; the messages come one a second
		wanted, rooted bool
		messages       uint64 // left
		latched        int    // of before the window
	}{
		"small":                         {100, []int{10, 10}, 0, true, true, 2, 0},
		"cut":                           {100, []int{10, 10, 10}, 1, true, true, 2, 1},
		"before the window":             {100, []int{10, 10}, 5, false, false, 0, 1},
		"large":                         {100, []int{large}, 0, true, false, 1, 0},
		"of ordinary size":              {1 << 20, []int{large}, 0, true, true, 1, 0},
		"large, and there is another":   {100, []int{large, 10}, 0, true, true, 2, 0},
		"too small for large, by bytes": {100, []int{snapshot.LeastLarge - 46 - 300}, 0, true, true, 1, 0},
	} {
		p := ringOf(0, time.Now())
		p.Pool.SetBudget(64 << 20)
		p.Pool.ChunkBytes = tc.chunkBytes
		c := latchingConnection(p, "/a")
		var messages []recorded
		for i, size := range tc.sizes {
			messages = append(messages, recorded{c, at(i), testlink.Frame(1, uint32(i), size)})
		}
		sealed := sealedChunk(t, p, messages...)
		sealed.FirstAt, sealed.LastAt = start, start.Add(time.Duration(len(tc.sizes)-1)*time.Second)
		old := p.Snapshots().ToRingChunk(sealed)
		sn := &snapshot.Snapshot{Taking: ring.Taking{From: start.Add(time.Duration(tc.from) * time.Second)}}
		got, wanted := snapshotsOf(p).Root(sn, old)
		if wanted != tc.wanted || sn.Rooted != tc.rooted || len(sn.State.Before) != tc.latched {
			t.Errorf("%s: wanted %v, rooted %v, %d latched before; want %v, %v, %d", name, wanted, sn.Rooted, len(sn.State.Before), tc.wanted, tc.rooted, tc.latched)
		}
		if wanted && got.MessageCount() != tc.messages {
			t.Errorf("%s: %d messages, want %d", name, got.MessageCount(), tc.messages)
		}
	}
}

// TestFirstChunkAcrossAStepBack: the clock goes back within the chunk that the window begins in. What
// came since then has the earlier stamps, and belongs to the window.
func TestFirstChunkAcrossAStepBack(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	simulated := simtime.New()
	for name, sim := range map[string]*simtime.Sim{"wall": nil, "sim": simulated} {
		for from, want := range map[time.Duration][]uint32{
			1500 * time.Millisecond: {2, 3, 4, 5}, 2500 * time.Millisecond: {2, 3, 4, 5}, 3500 * time.Millisecond: {4, 5}, 5 * time.Second: {5}, 6 * time.Second: nil,
		} {
			p := bareIntakeAt(64<<20, 100, sim)
			addRing(p, ring.Options{Most: 1 << 40})
			c := latchingConnection(p, "/a")
			var messages []recorded
			for i, second := range []uint32{500, 501, 502, 10, 11, 12} { // one comes each second
				messages = append(messages, recorded{c, rosbag.Time{Sec: second}, testlink.Frame(1, uint32(i), 10)})
			}
			sealed := sealedChunk(t, p, messages...)
			sealed.FirstAt, sealed.LastAt = start, start.Add(5*time.Second)
			sn := &snapshot.Snapshot{Taking: ring.Taking{From: start.Add(from)}}
			got, wanted := snapshotsOf(p).Root(sn, p.Snapshots().ToRingChunk(sealed))
			var numbers []uint32
			if wanted {
				for m, err := range got.Messages() {
					if err != nil {
						t.Fatal(err)
					}
					numbers = append(numbers, binary.LittleEndian.Uint32(m.Frame[8:]))
				}
			}
			if !slices.Equal(numbers, want) {
				t.Errorf("%s: from %v on: %v, want %v", name, from, numbers, want)
			}
		}
	}
}

// TestFirstChunkAcrossAStepForward: the clock on the wall is set forward within the chunk. The window is
// that of the time which has passed.
func TestFirstChunkAcrossAStepForward(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	for from, want := range map[time.Duration]uint64{1500 * time.Millisecond: 3, time.Hour: 0} {
		p := ringOf(0, time.Now())
		p.Pool.SetBudget(64 << 20)
		p.Pool.ChunkBytes = 100
		c := latchingConnection(p, "/a")
		var messages []recorded
		for i, second := range []uint32{500, 501, 502, 90_000, 90_001} { // one comes each second
			messages = append(messages, recorded{c, rosbag.Time{Sec: second}, testlink.Frame(1, uint32(i), 10)})
		}
		sealed := sealedChunk(t, p, messages...)
		sealed.FirstAt, sealed.LastAt = start, start.Add(4*time.Second)
		sn := &snapshot.Snapshot{Taking: ring.Taking{From: start.Add(from)}}
		got, wanted := snapshotsOf(p).Root(sn, p.Snapshots().ToRingChunk(sealed))
		if wanted != (want > 0) || wanted && got.MessageCount() != want || len(sn.State.Before) != 1 {
			t.Errorf("from %v on: wanted %v, %d latched before; want %d messages and one", from, wanted, len(sn.State.Before), want)
		}
	}
}

// TestFirstChunkWithoutMemory: where there is no memory for what is latched before the window, the
// chunk with that stays.
func TestFirstChunkWithoutMemory(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	p := ringOf(0, time.Now())
	c := latchingConnection(p, "/a")
	sealed := sealedChunk(t, p, recorded{c, rosbag.TimeOf(start), testlink.Frame(1, 1, 10)}, recorded{c, rosbag.TimeOf(start), testlink.Frame(1, 2, 10)})
	sealed.FirstAt, sealed.LastAt = start, start.Add(time.Second)
	old := p.Snapshots().ToRingChunk(sealed)
	p.Pool.SetBudget(1)
	sn := &snapshot.Snapshot{Taking: ring.Taking{From: start.Add(time.Hour)}}
	if got, wanted := snapshotsOf(p).Root(sn, old); !wanted || got.MessageCount() != 2 {
		t.Errorf("wanted %v, %d messages", wanted, got.MessageCount())
	}
}

// TestNothingLatchedTakesNoMemory, also where there is none.
func TestNothingLatchedTakesNoMemory(t *testing.T) {
	t.Parallel()
	p := ringOf(1, time.Now())
	p.Pool.SetBudget(1)
	p.Ring.Pending, p.Ring.Only = 1, true // the ring is needed
	if err := p.Snapshots().AddBefore(new(latch.State), nil); err != nil {
		t.Error(err)
	}
}

// TestMissedLatchedWithoutMemory: of the latched messages that came in a pause those are kept for
// which there is memory.
func TestMissedLatchedWithoutMemory(t *testing.T) {
	t.Parallel()
	p := bareIntake(0, 100)
	addRing(p, ring.Options{Most: 1 << 20})
	large, small := latchingConnection(p, "/a"), latchingConnection(p, "/b")
	large.Bytes = 200
	message := testlink.Frame(1, 1, 1000)
	p.Pool.SetBudget(int64(len(message) + large.Bytes + filling.RecordOverhead - 1))
	next := &command.FileStart{At: time.Now(), Missed: []latch.Pinned{{Source: &large.Source, Message: &latch.Message{Frame: message}}, {Source: &small.Source, Message: &latch.Message{Frame: testlink.Frame(1, 2, 10)}}}}
	snapshotsOf(p).KeepMissed(next)
	chunks := p.Ring.Chunks
	if len(chunks) != 1 || chunks[0].Counts[0].Conn != small.Conn {
		t.Fatalf("%d messages are kept, want the small one", len(chunks))
	}
}

// TestSnapshotTells: how many messages a snapshot has, and how many triggers shared snapshots; and
// nothing is wrong.
func TestSnapshotTells(t *testing.T) {
	t.Parallel()
	for name, triggers := range map[string]int{"one trigger": 1, "two triggers": 2, "three at once": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
			sn, err := p.Snapshotter.TriggerAll(at(20), at(20), max(atOnce, 1))
			if err != nil {
				t.Fatal(err)
			}
			if shared {
				if again, err := p.Snapshotter.Trigger(at(20)); again != sn || err != nil {
					t.Fatal(err)
				}
			}
			p.tick(at(60))
			<-sn.Out.Finished
			closePipeline(t, p)
			if p.Ring.Pending != 0 {
				t.Errorf("%d snapshots wait for the ring", p.Ring.Pending)
			}
			begun := logs.FilterMessageSnippet("Triggered snapshot recording").All()
			if n, told := begun[0].ContextMap()["triggers"]; len(begun) != 1 || told != (atOnce > 1) || told && n != int64(atOnce) {
				t.Errorf("begun %v, want %d triggers", begun, atOnce)
			}
			if n := accountOf(chart).Repeated; n != 1 {
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
	}
}

// TestFirstChunkBackdated: a snapshot of everything has messages whose stamps are before that of the
// first one, as those of marks may be.
func TestFirstChunkBackdated(t *testing.T) {
	t.Parallel()
	p := ringOf(0, time.Now())
	p.Pool.SetBudget(64 << 20)
	p.Pool.ChunkBytes = 100
	c := latchingConnection(p, "/a")
	sealed := sealedChunk(t, p,
		recorded{c, rosbag.Time{Sec: 500, Nsec: 2}, testlink.Frame(1, 0, 10)},
		recorded{c, rosbag.Time{Sec: 500, Nsec: 1}, testlink.Frame(1, 1, 10)})
	got, wanted := snapshotsOf(p).Root(&snapshot.Snapshot{}, p.Snapshots().ToRingChunk(sealed))
	if !wanted || got.MessageCount() != 2 {
		t.Errorf("%d messages of 2", got.MessageCount())
	}
}

// TestFirstChunkWithAMark: a mark that took long to write is no step back of the simulated.
func TestFirstChunkWithAMark(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	p := ringOf(0, time.Now())
	p.Pool.SetBudget(64 << 20)
	p.Pool.ChunkBytes = 100
	c, mark := latchingConnection(p, "/a"), latchingConnection(p, "/b")
	mark.Conn.Topic = bagnote.MarksTopic
	var messages []recorded
	for i := range 10 { // one comes each tenth of a second
		messages = append(messages, recorded{c, rosbag.Time{Sec: 500, Nsec: uint32(i) * 1e8}, testlink.Frame(1, uint32(i), 10)})
		if i == 5 {
			messages = append(messages, recorded{mark, rosbag.Time{Sec: 490}, testlink.Frame(1, 0, 10)})
		}
	}
	sealed := sealedChunk(t, p, messages...)
	sealed.FirstAt, sealed.LastAt = start, start.Add(900*time.Millisecond)
	sn := &snapshot.Snapshot{Taking: ring.Taking{From: start.Add(300 * time.Millisecond)}}
	if got, wanted := snapshotsOf(p).Root(sn, p.Snapshots().ToRingChunk(sealed)); !wanted || got.MessageCount() != 8 {
		t.Errorf("%d messages, want 7 and the mark", got.MessageCount())
	}
}

// TestCopiesOfLatchedInTheRing: a chunk in the ring comes with copies of its latched messages where
// these take no more memory than the chunk, and the chunk is kept in their place otherwise.
func TestCopiesOfLatchedInTheRing(t *testing.T) {
	t.Parallel()
	const size = 2000
	p := bareIntake(1<<20, 100)
	addRing(p, ring.Options{})
	c, other := latchingConnection(p, "/a"), latchingConnection(p, "/b")
	other.Latching = false
	message := testlink.Frame(1, 1, size)
	counted := int64(latch.LatchedOverhead + 2*len(message))
	build := func(filler int) *memory.Chunk {
		return sealedChunk(t, p, recorded{c, rosbag.Time{}, message}, recorded{other, rosbag.Time{}, testlink.Frame(1, 1, filler)})
	}
	const some = 100
	beside := int64(len(build(some).Sealed.Record)) - some
	for more, want := range map[int64]bool{-1: false, 0: true, 1: true} {
		all := p.Snapshots().LatchedIn(build(int(counted + more - beside)))
		if len(all) != 1 || (all[0].Frame != nil) != want || want && all[0].Counted != counted {
			t.Errorf("a chunk that takes %d bytes more than the copies: %+v; copied, want %v", more, all[0].Message, want)
		}
	}
}
