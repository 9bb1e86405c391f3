package snapshot

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// writerOf returns a writer of snapshots without a sink, and its intake, which has a buffer of limit bytes and
// a ring. sim is nil for the wall clock.
func writerOf(limit int64, chunkBytes int, sim *simtime.Sim) (*Writer, *intake.Intake) {
	in := intake.New(intake.Config{
		Log: zap.NewNop(), Memory: memory.Options{Limit: limit, ChunkBytes: chunkBytes}, Sim: sim, OnChange: func() {},
		Encoder: encode.New(encode.Options{}), Ring: &ring.Options{Most: 1 << 40},
	})
	return New(Config{In: in, Accounts: in.Accounts, Buffers: &in.Buffers, Sim: sim, Log: zap.NewNop(), Packer: latch.Packer{ChunkBytes: chunkBytes}}), in
}

// linkOf opens a link of a publisher.
func linkOf(t *testing.T, in *intake.Intake, info tcpros.LinkInfo) *intake.Link {
	t.Helper()
	l, err := in.OpenLink(in.Accounts.AddTopic(topicname.InBag(info.Topic), topicname.InGraph(info.Topic), time.Time{}), info)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// recorded is a message in a chunk.
type recorded struct {
	c     *rosbag.Connection
	at    rosbag.Time
	frame []byte
}

// sealedChunk makes a chunk of messages as the encoder does. They came between first and last.
func sealedChunk(t *testing.T, in *intake.Intake, first, last time.Time, messages ...recorded) *memory.Chunk {
	t.Helper()
	c := in.Buffers.FreshChunk(1)
	if c == nil {
		t.Fatal("no memory")
	}
	c.Builder().Reset(nil)
	for _, m := range messages {
		c.Builder().AppendRun(m.c, m.at, m.frame, 1)
	}
	in.Buffers.CountGrown(c)
	if err := c.Seal(nil); err != nil {
		t.Fatal(err)
	}
	c.Came(first, last)
	return c
}

// latchedBefore returns how many publishers have a latched message from before a snapshot.
func latchedBefore(sn *Snapshot) int { return len(sn.State.Latest(time.Time{}, nil)) }

// useUp leaves so many bytes of the buffer of an intake.
func useUp(t *testing.T, in *intake.Intake, left int64) {
	t.Helper()
	live := in.Stats(time.Now())
	if in.Buffers.FreshChunk(int(live.BufferMost-live.Buffered-left)) == nil {
		t.Fatalf("of %d bytes %d are used", live.BufferMost, live.Buffered)
	}
}

// TestFirstChunkOfASnapshot: it is written anew with what is in the window, but for one large
// message, which stays as it is. What is latched before the window is kept for the beginning.
func TestFirstChunkOfASnapshot(t *testing.T) {
	t.Parallel()
	const large = leastLarge + 1000
	start := time.Unix(1000, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for name, tc := range map[string]struct {
		chunkBytes   int
		sizes        []int
		from         int // seconds, where the window begins; the messages come one a second
		wanted, done bool
		messages     uint64 // left
		latched      int    // of before the window
	}{
		"small":                         {100, []int{10, 10}, 0, true, true, 2, 0},
		"cut":                           {100, []int{10, 10, 10}, 1, true, true, 2, 1},
		"before the window":             {100, []int{10, 10}, 5, false, false, 0, 1},
		"large":                         {100, []int{large}, 0, true, false, 1, 0},
		"of ordinary size":              {1 << 20, []int{large}, 0, true, true, 1, 0},
		"large, and there is another":   {100, []int{large, 10}, 0, true, true, 2, 0},
		"too small for large, by bytes": {100, []int{leastLarge - 46 - 400}, 0, true, true, 1, 0},
	} {
		w, in := writerOf(64<<20, tc.chunkBytes, nil)
		c := linkOf(t, in, testlink.LatchedInfo("/map", "/a")).Conn()
		var messages []recorded
		for i, size := range tc.sizes {
			messages = append(messages, recorded{c, rosbag.TimeOf(at(i)), testlink.Frame(1, uint32(i), size)})
		}
		old := toRing(in, sealedChunk(t, in, start, at(len(tc.sizes)-1), messages...))
		sn := &Snapshot{Snapshot: ring.Snapshot{From: at(tc.from)}}
		got, wanted := w.rewriteFirst(sn, old)
		if wanted != tc.wanted || sn.firstDone != tc.done || latchedBefore(sn) != tc.latched {
			t.Errorf("%s: wanted %v, done %v, %d latched before; want %v, %v, %d", name, wanted, sn.firstDone, latchedBefore(sn), tc.wanted, tc.done, tc.latched)
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
	for name, sim := range map[string]*simtime.Sim{"wall": nil, "sim": simtime.New()} {
		for from, want := range map[time.Duration][]uint32{
			1500 * time.Millisecond: {2, 3, 4, 5}, 2500 * time.Millisecond: {2, 3, 4, 5}, 3500 * time.Millisecond: {4, 5}, 5 * time.Second: {5}, 6 * time.Second: nil,
		} {
			w, in := writerOf(64<<20, 100, sim)
			c := linkOf(t, in, testlink.LatchedInfo("/map", "/a")).Conn()
			var messages []recorded
			for i, second := range []uint32{500, 501, 502, 10, 11, 12} { // one comes each second
				messages = append(messages, recorded{c, rosbag.Time{Sec: second}, testlink.Frame(1, uint32(i), 10)})
			}
			sn := &Snapshot{Snapshot: ring.Snapshot{From: start.Add(from)}}
			got, wanted := w.rewriteFirst(sn, toRing(in, sealedChunk(t, in, start, start.Add(5*time.Second), messages...)))
			var numbers []uint32
			if wanted {
				for m, err := range got.Sealed().Messages() {
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
		w, in := writerOf(64<<20, 100, nil)
		c := linkOf(t, in, testlink.LatchedInfo("/map", "/a")).Conn()
		var messages []recorded
		for i, second := range []uint32{500, 501, 502, 90_000, 90_001} { // one comes each second
			messages = append(messages, recorded{c, rosbag.Time{Sec: second}, testlink.Frame(1, uint32(i), 10)})
		}
		sn := &Snapshot{Snapshot: ring.Snapshot{From: start.Add(from)}}
		got, wanted := w.rewriteFirst(sn, toRing(in, sealedChunk(t, in, start, start.Add(4*time.Second), messages...)))
		if wanted != (want > 0) || wanted && got.MessageCount() != want || latchedBefore(sn) != 1 {
			t.Errorf("from %v on: wanted %v, %d latched before; want %d messages and one", from, wanted, latchedBefore(sn), want)
		}
	}
}

// TestFirstChunkWithoutMemory: where there is no memory for what is latched before the window, the
// chunk with that stays.
func TestFirstChunkWithoutMemory(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	w, in := writerOf(10_000, 100, nil)
	c := linkOf(t, in, testlink.LatchedInfo("/map", "/a")).Conn()
	old := toRing(in, sealedChunk(t, in, start, start.Add(time.Second),
		recorded{c, rosbag.TimeOf(start), testlink.Frame(1, 1, 10)}, recorded{c, rosbag.TimeOf(start), testlink.Frame(1, 2, 10)}))
	useUp(t, in, 1)
	sn := &Snapshot{Snapshot: ring.Snapshot{From: start.Add(time.Hour)}}
	if got, wanted := w.rewriteFirst(sn, old); !wanted || got != old || latchedBefore(sn) != 0 {
		t.Errorf("wanted %v, the chunk as it is: %v, %d latched before", wanted, got == old, latchedBefore(sn))
	}
}

// TestFirstChunkBackdated: a snapshot of everything has messages whose stamps are before that of the
// first one, as those of marks may be.
func TestFirstChunkBackdated(t *testing.T) {
	t.Parallel()
	w, in := writerOf(64<<20, 100, nil)
	c := linkOf(t, in, testlink.LatchedInfo("/map", "/a")).Conn()
	sealed := sealedChunk(t, in, time.Time{}, time.Time{},
		recorded{c, rosbag.Time{Sec: 500, Nsec: 2}, testlink.Frame(1, 0, 10)},
		recorded{c, rosbag.Time{Sec: 500, Nsec: 1}, testlink.Frame(1, 1, 10)})
	got, wanted := w.rewriteFirst(new(Snapshot), toRing(in, sealed))
	if !wanted || got.MessageCount() != 2 {
		t.Errorf("%d messages of 2", got.MessageCount())
	}
}

// TestFirstChunkWithAMark: a mark that took long to write is no step back of the simulated.
func TestFirstChunkWithAMark(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	w, in := writerOf(64<<20, 100, nil)
	c, mark := linkOf(t, in, testlink.LatchedInfo("/map", "/a")).Conn(), linkOf(t, in, testlink.LatchedInfo(note.MarksTopic, "/b")).Conn()
	var messages []recorded
	for i := range 10 { // one comes each tenth of a second
		messages = append(messages, recorded{c, rosbag.Time{Sec: 500, Nsec: uint32(i) * 1e8}, testlink.Frame(1, uint32(i), 10)})
		if i == 5 {
			messages = append(messages, recorded{mark, rosbag.Time{Sec: 490}, testlink.Frame(1, 0, 10)})
		}
	}
	sn := &Snapshot{Snapshot: ring.Snapshot{From: start.Add(300 * time.Millisecond)}}
	old := toRing(in, sealedChunk(t, in, start, start.Add(900*time.Millisecond), messages...))
	if got, wanted := w.rewriteFirst(sn, old); !wanted || got.MessageCount() != 8 {
		t.Errorf("%d messages, want 7 and the mark", got.MessageCount())
	}
}

// TestMissedLatchedWithoutMemory: of the latched messages that came in a pause those are kept for
// which there is memory.
func TestMissedLatchedWithoutMemory(t *testing.T) {
	t.Parallel()
	w, in := writerOf(100_000, 100, nil)
	small, large := linkOf(t, in, testlink.LatchedInfo("/map", "/a")), linkOf(t, in, testlink.LatchedInfo("/map", "/b")) // the newest connection comes first
	if err := in.Pause(); err != nil {
		t.Fatal(err)
	}
	message := testlink.Frame(1, 1, 1000)
	large.Frames(message, 1, time.Now())
	small.Frames(testlink.Frame(1, 2, 10), 1, time.Now())
	if err := in.Resume(time.Now()); err != nil {
		t.Fatal(err)
	}
	item, _ := in.Next()
	if item.Command == nil || len(item.Command.Start.Missed) != 2 {
		t.Fatalf("queued: %+v, want both messages", item.Command)
	}
	record := 0 // bytes, about
	for _, f := range large.Conn().Header {
		record += 5 + len(f.Key) + len(f.Value)
	}
	useUp(t, in, int64(len(message)+record))
	w.KeepMissed(item.Command.Start)
	chunks := in.Buffers.TakeRing(new(ring.Snapshot))
	if len(chunks) != 1 || chunks[0].Sealed().Counts[0].Conn != small.Conn() {
		t.Fatalf("%d messages are kept, want the small one", len(chunks))
	}
}

// toRing makes a sealed chunk one of the ring.
func toRing(in *intake.Intake, c *memory.Chunk) *latch.Chunk {
	return in.Buffers.ToRingChunk(c, in.Accounts.LatchingOf(c.Sealed()))
}
