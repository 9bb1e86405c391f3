package recorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// goesThrough does what must end although others hold on to memory.
func goesThrough(t *testing.T, p *pipeline, do func()) {
	t.Helper()
	stop := tickAlong(p)
	defer stop()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	testlink.WaitFor(t, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

// TestHalfMessageBesideTheRing: what has come of a message that stands still is not taken
// for what the links have filled, or small messages would wait for the ring forever.
func TestHalfMessageBesideTheRing(t *testing.T) {
	t.Parallel()
	for _, mode := range []control.SnapshotMode{control.SnapshotOnly, control.SnapshotBeside} {
		p := ringPipeline(t, Options{BufferBytes: 16 << 20, Overflow: OverflowBlock, Snapshot: Snapshot{Mode: mode}})
		small := open(t, p, "/small", "/p")
		testlink.PublishPlain(small, 2000)
		f := testlink.BeginLarge(t, open(t, p, "/liar", "/p"), 7<<20, 3<<20)
		goesThrough(t, p, func() { testlink.PublishPlain(small, 3000) })
		f.Abort()
		closePipeline(t, p)
	}
}

// TestProvenPublisherThatStops: who has sent a large message to the end gets no more
// memory for the next than what comes of it, but for a small part of the buffer.
func TestProvenPublisherThatStops(t *testing.T) {
	t.Parallel()
	const size = 7 << 20
	for _, overflow := range []Overflow{OverflowBlock, OverflowDrop} {
		p := testPipeline(t, Options{BufferBytes: 16 << 20, Overflow: overflow}, nil)
		liar, image := open(t, p, "/liar", "/p"), open(t, p, "/image", "/p")
		testlink.SendLarge(liar, testlink.Frame(1, 0, size))
		testlink.WaitFor(t, func() bool { return p.Usage().Idle > size })
		f := testlink.BeginLarge(t, liar, size, 200_000)
		goesThrough(t, p, func() { offer(image, testlink.Frame(2, 0, 6<<20)) })
		if got := accountOf(p, image).Messages; got != 1 {
			t.Errorf("%v: %d images recorded", overflow, got)
		}
		f.Abort()
		closePipeline(t, p)
	}
}

// TestNearlyHalfTheBuffer: half of a message that leaves no other large one beside it has come; the
// other half blocks nobody.
func TestNearlyHalfTheBuffer(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 16 << 20, Overflow: OverflowBlock}, nil)
	f := testlink.BeginLarge(t, open(t, p, "/liar", "/p"), 8<<20-20<<10, 4<<20+700_000)
	small := open(t, p, "/small", "/p")
	goesThrough(t, p, func() { testlink.PublishPlain(small, 500) })
	f.Abort()
	closePipeline(t, p)
}

// TestLatchedMessageAcrossAPause: it is remembered, whatever overflow does.
func TestLatchedMessageAcrossAPause(t *testing.T) {
	t.Parallel()
	for _, overflow := range []Overflow{OverflowDrop, OverflowBlock} {
		p := testPipeline(t, Options{BufferBytes: 64 << 20, Overflow: overflow}, nil)
		l := latching(t, p, "/map", "/p")
		f := testlink.BeginLarge(t, l, 8<<20, 2<<20)
		if err := p.Pause(); err != nil {
			t.Fatal(err)
		}
		if !testlink.Fill(f, make([]byte, 6<<20)) {
			t.Fatalf("%v: given up", overflow)
		}
		f.Commit(time.Now())
		if p.Usage().Latched == 0 || accountOf(p, l).Passed != 1 {
			t.Errorf("%v: not remembered, or not counted: %+v", overflow, accountOf(p, l))
		}
		closePipeline(t, p)
	}
}

// TestAbandonedMessagesLeaveNothing: the headers of publishers that begin a large message and
// go are released by the chunks, too.
func TestAbandonedMessagesLeaveNothing(t *testing.T) {
	const publishers = 60
	p := testPipeline(t, Options{Split: true}, nil)
	topic, before := p.AddTopic("/bad", "/bad", time.Time{}), heapBesideBuffer(p)
	for n := range publishers {
		l, err := p.OpenLink(topic, testlink.DefinitionInfo("/bad", fmt.Sprintf("/bad%d", n), fmt.Sprint(n, strings.Repeat("x", 1_000_000))))
		if err != nil {
			t.Fatal(err)
		}
		f := testlink.BeginLarge(t, l, 200_000, 1000)
		f.Abort()
		l.Closed(nil)
		p.tick(time.Now().Add(time.Duration(n+1) * time.Minute))
	}
	if grown := heapBesideBuffer(p) - before; grown > 8<<20 {
		t.Errorf("%d headers of 1 MB left %d bytes", publishers, grown)
	}
	closePipeline(t, p)
}

// TestNamesAreBounded: publishers that say no name are told apart by their address, which
// may be long.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	topic := p.AddTopic("/bad", "/bad", time.Time{})
	for n := range 100 {
		info := testlink.Info("/bad", "")
		info.PublisherURI = fmt.Sprint("http://", n, strings.Repeat("x", 500_000))
		l, err := p.OpenLink(topic, info)
		if err != nil {
			t.Fatal(err)
		}
		l.Closed(nil)
	}
	if bytes := p.Usage().Headers; bytes > 1<<20 {
		t.Errorf("100 publishers count %d bytes", bytes)
	}
	closePipeline(t, p)
}
