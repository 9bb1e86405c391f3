package publink

import (
	"math"
	"net"
	"testing"
	"testing/synctest"
)

// Held counts frames from when they are published until they are in the socket, on the link that has most of
// them.
func TestHeld(t *testing.T) {
	p := New(Options{}, "/t", "/p")
	s := p.Source(false)
	if n := p.Held(); n != 0 {
		t.Errorf("%d held without a subscriber", n)
	}
	slow, fast := link(&writes{}, 3, &room{}), link(&writes{}, 0, &room{})
	fast.callerID = "/other"
	p.Add(slow)
	p.Add(fast)
	for _, l := range []*Link{slow, fast} {
		l.idle = true
	}
	wants := func(when string, want int) {
		t.Helper()
		if n := p.Held(); n != want {
			t.Errorf("%s: %d held, want %d", when, n, want)
		}
	}
	s.Publish([]byte("a"))
	s.Publish([]byte("b"))
	wants("queued", 2)
	fast.nextBatch()
	wants("one has not begun to write", 2)
	slow.nextBatch()
	wants("being written", 2)
	s.Publish([]byte("c"))
	wants("one queued behind", 3)
	slow.sent(2, 2)
	wants("one has written two", 3)
	fast.sent(2, 2)
	wants("both have", 1)
	for range 5 {
		s.Publish([]byte("d"))
	}
	wants("one drops, the other has all", 6)
	fast.nextBatch()
	fast.sent(6, 6)
	wants("a full queue", 3)
	slow.nextBatch()
	slow.sent(3, 3)
	wants("all written", 0)
	slow.writer.partial = []byte("rest")
	wants("written in part", 1)
}

// A link that is ending gets no more frames, so that its frames need not be the latest ones.
func TestHeldByLinksThatEnd(t *testing.T) {
	for how, end := range map[string]func(*Link){"closed": (*Link).close, "drained": (*Link).end} {
		p := New(Options{}, "/t", "/p")
		s := p.Source(false)
		l := link(&writes{}, 0, &room{})
		p.Add(l)
		s.Publish([]byte("a"))
		end(l)
		s.Publish([]byte("b"))
		if n := p.Held(); n != math.MaxInt {
			t.Errorf("%s with a frame: %d held", how, n)
		}
		p.Remove(l)
		if n := p.Held(); n != 0 {
			t.Errorf("%s and removed: %d held", how, n)
		}
	}
}

// A link that was replaced holds its frames until its writer has returned.
func TestHeldByReplacedLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{}, "/t", "/p")
		s := p.Source(false)
		here, there := net.Pipe()
		c := &stuckWrites{here, make(chan struct{})}
		l := link(c, 0, &room{})
		p.Add(l)
		served := make(chan error, 1)
		go func() { served <- l.Serve() }()
		s.Publish([]byte("a"))
		synctest.Wait()
		p.Add(link(&writes{}, 0, &room{}))
		synctest.Wait()
		if n := p.Held(); n != math.MaxInt {
			t.Errorf("%d held while the writer is at work", n)
		}
		close(c.goOn)
		<-served
		if n := p.Held(); n != 0 {
			t.Errorf("%d held after its end", n)
		}
		_ = there.Close()
	})
}
