package intake

import (
	"bytes"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

func latchingConnection(p *Intake, publisher string) *account.Connection {
	c := &account.Connection{Source: latch.Source{Conn: &rosbag.Connection{ID: rosbag.ConnID(len(p.Account.Connections.All)), Topic: "/map", Header: rosbag.Header(testlink.Info("/map", publisher).Header)}, Latching: true}, Topic: &account.Topic{Name: "/map"}}
	if len(p.Account.Connections.All) > 0 {
		c.Topic = p.Account.Connections.All[0].Topic
	}
	p.Account.Connections.All = append(p.Account.Connections.All, c)
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
		p.Latched.Remember(&c.Source, make([]byte, n))
		if (c.Last != nil) != want {
			t.Errorf("a message of %d bytes is remembered: %v, want %v", n, c.Last != nil, want)
		}
		if got, latched := bytesInUse(p); want && (got != int64(2*n) || latched != int64(2*n)) || !want && got+latched != 0 {
			t.Errorf("a message of %d bytes: %d in use, %d for latched ones", n, got, latched)
		}
		p.Latched.Forget(&c.Source)
		if got, latched := bytesInUse(p); got+latched != 0 || c.Last != nil {
			t.Errorf("forgotten: %d in use, %d for latched ones", got, latched)
		}
	}
	full := bareIntake(10_000, 100)
	full.Pool.Held = 10_000 - 199
	c := latchingConnection(full, "/a")
	full.Latched.Remember(&c.Source, make([]byte, 100))
	if c.Last != nil || full.Pool.Held != 10_000-199 {
		t.Errorf("remembered in a full buffer; %d held", full.Pool.Held)
	}
	endless := bareIntake(-1, 100)
	c = latchingConnection(endless, "/a")
	endless.Latched.Remember(&c.Source, make([]byte, 1<<20))
	if c.Last == nil {
		t.Error("not remembered although there is no limit")
	}
}

// TestLatestLatchedMessage: a shorter one takes the place of the one before; while a file
// begins with that, it stays as it is until the last has read it.
func TestLatestLatchedMessage(t *testing.T) {
	t.Parallel()
	p := bareIntake(10_000, 100)
	c := latchingConnection(p, "/a")
	p.Latched.Remember(&c.Source, []byte("first one"))
	p.Latched.Remember(&c.Source, []byte("second"))
	if string(c.Last.Frame) != "second" || p.Pool.Latched != 18 {
		t.Errorf("%q is remembered with %d bytes, want the second in the 18 of the first", c.Last.Frame, p.Pool.Latched)
	}
	one, two := p.PinLatched(nil), p.PinLatched(nil)
	p.Latched.Remember(&c.Source, []byte("third"))
	if string(one[0].Frame) != "second" || string(c.Last.Frame) != "third" || p.Pool.Latched != 18+10 {
		t.Errorf("the file begins with %q, the next with %q; %d bytes", one[0].Frame, c.Last.Frame, p.Pool.Latched)
	}
	p.Files().Unpin(one)
	if p.Pool.Latched != 28 {
		t.Errorf("%d bytes while a writer still reads, want 28", p.Pool.Latched)
	}
	p.Files().Unpin(two)
	if all, latched := bytesInUse(p); latched != 10 || all != 10 {
		t.Errorf("%d bytes, %d in all, after the last has read it; want 10", latched, all)
	}
	three := p.PinLatched(nil)
	p.Files().Unpin(three)
	if _, latched := bytesInUse(p); latched != 10 || c.Last == nil {
		t.Errorf("%d bytes after a file has begun with the latest, want 10", latched)
	}
}

// TestWhichLatchedMessagesAreRepeated: of each publisher of a topic the latest connection
// that has one, and none at all where that is off.
func TestWhichLatchedMessagesAreRepeated(t *testing.T) {
	t.Parallel()
	p := bareIntake(10_000, 100)
	old, other, late, plain, silent := latchingConnection(p, "/a"), latchingConnection(p, "/b"), latchingConnection(p, "/a"), latchingConnection(p, "/c"), latchingConnection(p, "/d")
	for _, c := range []*account.Connection{old, other, late, plain} {
		p.Latched.Remember(&c.Source, []byte("x"))
	}
	plain.Latching = false
	got := p.PinLatched(nil)
	if len(got) != 2 || got[0].Conn != late.Conn || got[1].Conn != other.Conn {
		t.Errorf("%d repeated; want that of /b, and of /a the later one", len(got))
	}
	p.Files().Unpin(got)
	got = p.PinLatched(func(c *latch.Source) bool { return c != &late.Source })
	if len(got) != 1 || got[0].Conn != other.Conn || late.Last.Pins != 0 || silent.Last != nil {
		t.Errorf("%d repeated of those that were asked for, want one: an older one of /a does not take its place", len(got))
	}
	p.Files().Unpin(got)
	p.Latched.Off = true
	if got := p.PinLatched(nil); got != nil {
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
	for i, c := range []*account.Connection{first, second, first} {
		c.Latest = now.Add(time.Duration(i) * time.Second)
		p.Latched.Remember(&c.Source, []byte("x"))
	}
	if got := p.PinLatched(nil); len(got) != 1 || got[0].Source != &first.Source {
		t.Errorf("%d repeated, want the one of the connection that has the latest", len(got))
	}
}

// TestLastFrame: of a run of messages the latest is repeated.
func TestLastFrame(t *testing.T) {
	t.Parallel()
	a, b := testlink.Frame(1, 1, 8), testlink.Frame(1, 2, 30)
	for _, run := range [][]byte{b, append(bytes.Clone(a), b...), append(append(bytes.Clone(b), a...), b...)} {
		if got := latch.LastFrame(run); !bytes.Equal(got, b) {
			t.Errorf("of %d bytes the last message is %v", len(run), got)
		}
	}
}
