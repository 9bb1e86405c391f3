package intake

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// loseLease takes the lease from the large messages that are received: another one waits, and nothing more of them arrives.
func loseLease(l *Link) {
	locked(l.in, func() {
		other, turns := memory.NewTurn(1), l.in.Buffers.pool.Turns()
		turns.Enqueue(&other)
		now := time.Now()
		turns.Expire(now) // notes what has arrived
		turns.Expire(now.Add(memory.LeaseTime))
		turns.Dequeue(&other)
	})
}

// TestHalfReceivedMessages: messages that are half received and have lost their leases are completed
// one after the other.
func TestHalfReceivedMessages(t *testing.T) {
	t.Parallel()
	const size, come = 11 << 20, 3 << 20
	in := recording(t, memory.Options{Limit: 32 << 20, ChunkBytes: 768 << 10, Blocks: true}, nil)
	links := []*Link{linkOf(t, in, testlink.Info("/a", "/p")), linkOf(t, in, testlink.Info("/b", "/p"))}
	for _, l := range links {
		testlink.BeginLarge(t, l, size, come)
		loseLease(l)
	}
	var all sync.WaitGroup
	for i, l := range links {
		all.Go(func() {
			if !testlink.Fill(&l.frame, make([]byte, size-come)) {
				t.Errorf("message %d is given up", i)
				return
			}
			l.frame.Abort()
		})
	}
	all.Wait()
	if n := lost(links[0]) + lost(links[1]); n != 0 {
		t.Errorf("%d counted as lost", n)
	}
}

// TestLatchedStaysBesideLarge: neither announced bytes nor bytes that have arrived cost a latched
// message its place in the next file, and a large message waits for no latched one.
func TestLatchedStaysBesideLarge(t *testing.T) {
	t.Parallel()
	in := recording(t, memory.Options{Limit: 16 << 20, ChunkBytes: 768 << 10, Blocks: true}, nil)
	static := linkOf(t, in, testlink.LatchedInfo("/tf_static", "/p"))
	static.Frames(testlink.Frame(1, 0, 1000), 1, time.Now())
	f := testlink.BeginLarge(t, linkOf(t, in, testlink.Info("/liar", "/p")), 8<<20-17<<10, 1000)
	if !static.connection.Source().Remembered() {
		t.Error("announced bytes cost a latched message its place in the next file")
	}
	f.Abort()

	slow, room := linkOf(t, in, testlink.Info("/slow", "/p")), linkOf(t, in, testlink.LatchedInfo("/map", "/p"))
	f = testlink.BeginLarge(t, slow, 7<<20, 2<<20)
	loseLease(slow)
	testlink.SendLarge(room, testlink.Frame(2, 0, 3<<20))
	finishes(t, in, func() {
		if testlink.Fill(f, make([]byte, 5<<20)) {
			f.Abort()
		}
	})
	if n := lost(slow); n != 0 || !room.connection.Source().Remembered() {
		t.Errorf("%d messages given up, or a latched message was: %v", n, !room.connection.Source().Remembered())
	}
}

// TestWaitingIsNotBeingStuck: when a message is complete, those that have waited for it take
// turns; none is given up.
func TestWaitingIsNotBeingStuck(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		in := recording(t, memory.Options{Limit: 64 << 20, ChunkBytes: 768 << 10, Blocks: true}, nil)
		var links [3]*Link
		for i := range links {
			links[i] = linkOf(t, in, testlink.Info(fmt.Sprintf("/l%d", i), "/p"))
		}
		for _, l := range links[1:] {
			testlink.BeginLarge(t, l, 10<<20, 2<<20)
			loseLease(l)
		}
		testlink.BeginLarge(t, links[0], 22<<20, 2<<20) // the others wait for it
		var waiting sync.WaitGroup
		for i, l := range links[1:] {
			waiting.Go(func() {
				if !testlink.Fill(&l.frame, make([]byte, 8<<20)) {
					t.Errorf("message %d was given up", i+1)
					return
				}
				l.frame.Abort()
			})
			testlink.WaitFor(t, func() bool { return heldUp(l) })
		}
		links[0].frame.Abort()
		waiting.Wait()
	}
}

// TestLeaseOutlivesLargerChunks: the shared chunks may become larger while leases are out and
// latched messages have all that they may have; that must not take the memory of the leases.
func TestLeaseOutlivesLargerChunks(t *testing.T) {
	t.Parallel()
	const mib, come = 1 << 20, 8 << 20
	const size = come + 400<<10
	in := recording(t, memory.Options{Limit: 34 * mib, ChunkBytes: 768 << 10, Blocks: true}, nil)
	links := []*Link{linkOf(t, in, testlink.Info("/a", "/p")), linkOf(t, in, testlink.Info("/b", "/p"))}
	small, chart := linkOf(t, in, testlink.Info("/small", "/p")), linkOf(t, in, testlink.LatchedInfo("/map", "/p"))
	for _, l := range links {
		testlink.BeginLarge(t, l, size, come)
	}
	sharedChunk := func() (bytes int64) {
		locked(in, func() { bytes = in.Buffers.pool.SharedChunk() })
		return bytes
	}
	before := sharedChunk()
	locked(in, func() {
		in.Buffers.latched.Remember(chart.connection.Source(), make([]byte, (17*mib-memory.KeptChunks*before)/2))
		if !chart.connection.Source().Remembered() {
			t.Fatal("the latched message is not remembered")
		}
	})
	for n := range uint32(60_000) { // their index takes as much as they do
		small.Frames(testlink.Frame(1, n, 8), 1, time.Now())
	}
	if sharedChunk() <= before {
		t.Fatal("the chunks did not grow")
	}
	finishes(t, in, func() {
		var all sync.WaitGroup
		for _, l := range links {
			all.Go(func() {
				if testlink.Fill(&l.frame, make([]byte, size-come)) {
					l.frame.Abort()
				}
			})
		}
		all.Wait()
	})
	if n := lost(links[0]) + lost(links[1]); n != 0 {
		t.Errorf("%d messages lost", n)
	}
}

// openRecordChunk opens a chunk that has nothing but the record of a large message: the message began in the file
// before.
func openRecordChunk(t *testing.T, in *Intake) {
	t.Helper()
	l := linkOf(t, in, testlink.LongRecordInfo("/scan", "/p"))
	testlink.SendLarge(l, testlink.Frame(1, 0, 200_000)) // brings the record into the file
	f := testlink.BeginLarge(t, l, 200_000, 199_000)
	split, err := in.RequestSplit(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	<-split.Done
	if !testlink.Fill(f, make([]byte, 1000)) {
		t.Fatal("a message was refused")
	}
	testlink.WaitFor(t, func() bool { return in.Usage().Waiting == 0 })
	f.Commit(time.Now())
	locked(in, func() {
		if in.filling.Open == nil || !in.filling.Empty() {
			t.Fatal("no chunk is open that has nothing but a record")
		}
	})
}

// TestHalfTheBufferBesideLatched: where links wait, a message that takes all the room for large ones
// waits for no latched message. Nor does one that comes when a chunk is open that has nothing but a
// record.
func TestHalfTheBufferBesideLatched(t *testing.T) {
	t.Parallel()
	in := recording(t, memory.Options{Limit: 8 << 20, ChunkBytes: 100_000, Blocks: true}, nil)
	chart, l := linkOf(t, in, testlink.LatchedInfo("/map", "/server")), linkOf(t, in, testlink.Info("/t", "/p"))
	testlink.SendLarge(chart, testlink.Frame(0, 0, 1_500_000))
	testlink.SendLarge(l, testlink.Frame(0, 0, 3_700_000))
	openRecordChunk(t, in)
	testlink.SendLarge(l, testlink.Frame(0, 0, 4_150_000))
	testlink.WaitFor(t, func() bool { return in.Usage().Waiting == 0 })
	locked(in, func() {
		if chart.connection.Topic().Tally().Messages != 1 || l.connection.Topic().Tally().Messages != 2 {
			t.Errorf("%d and %d recorded", chart.connection.Topic().Tally().Messages, l.connection.Topic().Tally().Messages)
		}
		open := int64(0) // a chunk without messages is not sealed
		if c := in.filling.Open; c != nil {
			open = c.Counted()
		}
		if p := in.Buffers.pool; p.Usage().Latched == 0 || p.Usage().Held != p.Usage().Idle+p.Usage().Latched+open {
			t.Errorf("%d bytes for latched messages; %+v", p.Usage().Latched, p.Usage())
		}
	})
}
