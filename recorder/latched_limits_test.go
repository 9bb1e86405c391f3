package recorder

import (
	"bytes"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

func latchingConnection(p *intake, publisher string) *connection {
	c := &connection{source: source{conn: &bagfmt.Connection{ID: bagfmt.ConnID(len(p.connections.all)), Topic: "/map", Header: bagfmt.ConnectionHeader(testlink.Info("/map", publisher).Header)}, latching: true}, topic: &topic{name: "/map"}}
	if len(p.connections.all) > 0 {
		c.topic = p.connections.all[0].topic
	}
	p.connections.all = append(p.connections.all, c)
	return c
}

// TestMemoryForLatchedMessages: they may have half of what the shared chunks leave, counted
// with their copies, and give back all that is forgotten.
func TestMemoryForLatchedMessages(t *testing.T) {
	t.Parallel()
	const half = (10_000 - 100) / 2
	for n, want := range map[int]bool{half / 2: true, half/2 + 1: false} {
		p := bareIntake(10_000, 100)
		c := latchingConnection(p, "/a")
		p.latched.rememberLatched(&c.source, make([]byte, n))
		if (c.last != nil) != want {
			t.Errorf("a message of %d bytes is remembered: %v, want %v", n, c.last != nil, want)
		}
		if got, latched := bytesInUse(p); want && (got != int64(2*n) || latched != int64(2*n)) || !want && got+latched != 0 {
			t.Errorf("a message of %d bytes: %d in use, %d for latched ones", n, got, latched)
		}
		p.latched.forgetLatched(&c.source)
		if got, latched := bytesInUse(p); got+latched != 0 || c.last != nil {
			t.Errorf("forgotten: %d in use, %d for latched ones", got, latched)
		}
	}
	full := bareIntake(10_000, 100)
	full.pool.Held = 10_000 - 199
	c := latchingConnection(full, "/a")
	full.latched.rememberLatched(&c.source, make([]byte, 100))
	if c.last != nil || full.pool.Held != 10_000-199 {
		t.Errorf("remembered in a full buffer; %d held", full.pool.Held)
	}
	endless := bareIntake(-1, 100)
	c = latchingConnection(endless, "/a")
	endless.latched.rememberLatched(&c.source, make([]byte, 1<<20))
	if c.last == nil {
		t.Error("not remembered although there is no limit")
	}
}

// TestLatestLatchedMessage: a shorter one takes the place of the one before; while a file
// begins with that, it stays as it is until the last has read it.
func TestLatestLatchedMessage(t *testing.T) {
	t.Parallel()
	p := bareIntake(10_000, 100)
	c := latchingConnection(p, "/a")
	p.latched.rememberLatched(&c.source, []byte("first one"))
	p.latched.rememberLatched(&c.source, []byte("second"))
	if string(c.last.frame) != "second" || p.pool.Latched != 18 {
		t.Errorf("%q is remembered with %d bytes, want the second in the 18 of the first", c.last.frame, p.pool.Latched)
	}
	one, two := p.pinLatched(nil), p.pinLatched(nil)
	p.latched.rememberLatched(&c.source, []byte("third"))
	if string(one[0].frame) != "second" || string(c.last.frame) != "third" || p.pool.Latched != 18+10 {
		t.Errorf("the file begins with %q, the next with %q; %d bytes", one[0].frame, c.last.frame, p.pool.Latched)
	}
	p.unpin(one)
	if p.pool.Latched != 28 {
		t.Errorf("%d bytes while a writer still reads, want 28", p.pool.Latched)
	}
	p.unpin(two)
	if all, latched := bytesInUse(p); latched != 10 || all != 10 {
		t.Errorf("%d bytes, %d in all, after the last has read it; want 10", latched, all)
	}
	three := p.pinLatched(nil)
	p.unpin(three)
	if _, latched := bytesInUse(p); latched != 10 || c.last == nil {
		t.Errorf("%d bytes after a file has begun with the latest, want 10", latched)
	}
}

// TestWhichLatchedMessagesAreRepeated: of each publisher of a topic the latest connection
// that has one, and none at all where that is off.
func TestWhichLatchedMessagesAreRepeated(t *testing.T) {
	t.Parallel()
	p := bareIntake(10_000, 100)
	old, other, late, plain, silent := latchingConnection(p, "/a"), latchingConnection(p, "/b"), latchingConnection(p, "/a"), latchingConnection(p, "/c"), latchingConnection(p, "/d")
	for _, c := range []*connection{old, other, late, plain} {
		p.latched.rememberLatched(&c.source, []byte("x"))
	}
	plain.latching = false
	got := p.pinLatched(nil)
	if len(got) != 2 || got[0].conn != late.conn || got[1].conn != other.conn {
		t.Errorf("%d repeated; want that of /b, and of /a the later one", len(got))
	}
	p.unpin(got)
	got = p.pinLatched(func(c *source) bool { return c != &late.source })
	if len(got) != 1 || got[0].conn != other.conn || late.last.pins != 0 || silent.last != nil {
		t.Errorf("%d repeated of those that were asked for, want one: an older one of /a does not take its place", len(got))
	}
	p.unpin(got)
	p.latched.off = true
	if got := p.pinLatched(nil); got != nil {
		t.Errorf("%d repeated although that is off", len(got))
	}
}

// TestPublisherThatComesBack: of a node that has come back with an earlier header the latest message
// is repeated.
func TestPublisherThatComesBack(t *testing.T) {
	t.Parallel()
	p := bareIntake(10_000, 100)
	first, second := latchingConnection(p, "/a"), latchingConnection(p, "/a")
	now := time.Now()
	for i, c := range []*connection{first, second, first} {
		c.latest = now.Add(time.Duration(i) * time.Second)
		p.latched.rememberLatched(&c.source, []byte("x"))
	}
	if got := p.pinLatched(nil); len(got) != 1 || got[0].source != &first.source {
		t.Errorf("%d repeated, want the one of the connection that has the latest", len(got))
	}
}

// TestLatchedMessagesBeginAFileInOrder: that of the oldest connection first, with the time
// of the file, in chunks of the usual size.
func TestLatchedMessagesBeginAFileInOrder(t *testing.T) {
	t.Parallel()
	for chunkBytes, chunks := range map[int]int{1: 3, 3000: 1} {
		p := bareIntake(-1, chunkBytes)
		s := &sink{in: p, compression: bagfmt.CompressionNone}
		for i, publisher := range []string{"/a", "/b", "/c"} {
			p.latched.rememberLatched(&latchingConnection(p, publisher).source, testlink.Frame(uint32(i), 0, 8))
		}
		at := bagfmt.TimeOf(time.Now())
		var got []bagfmt.ConnID
		written := 0
		err := s.packLatched(p.pinLatched(nil), at, func(c *bagfmt.SealedChunk) error {
			written++
			for _, n := range c.Counts {
				got = append(got, n.Conn.ID)
			}
			if c.Start != at || c.End != at {
				t.Errorf("a chunk of the time %v to %v, want %v", c.Start, c.End, at)
			}
			p.countRepeated(c)
			return nil
		})
		if err != nil || written != chunks || len(got) != 3 || got[0] != 0 || got[1] != 1 || got[2] != 2 {
			t.Errorf("chunks of %d: %d with the messages of %v, %v; want %d in order", chunkBytes, written, got, err, chunks)
		}
		if n := p.connections.all[0].topic.repeated; n != 3 {
			t.Errorf("%d counted as repeated, want 3", n)
		}
	}
}

// TestLastFrame: of a run of messages the latest is repeated.
func TestLastFrame(t *testing.T) {
	t.Parallel()
	a, b := testlink.Frame(1, 1, 8), testlink.Frame(1, 2, 30)
	for _, run := range [][]byte{b, append(bytes.Clone(a), b...), append(append(bytes.Clone(b), a...), b...)} {
		if got := lastFrame(run); !bytes.Equal(got, b) {
			t.Errorf("of %d bytes the last message is %v", len(run), got)
		}
	}
}
