package publink

import (
	"math"
	"math/rand/v2"
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
	slow.leave([]byte("rest"))
	wants("written in part", 1)
}

// Whatever is pushed, dropped and written: all frames that a link still has are among the latest ones that Held
// tells of.
func TestHeldCoversAllFrames(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		p := New(Options{}, "/t", "/p")
		s := p.Source(false)
		l := link(&writes{}, 1+rnd.IntN(3), &room{})
		p.Add(l)
		l.idle = true
		published := 0
		for step := range 40 {
			switch do := rnd.IntN(8); {
			case do == 0 && l.queue.n+l.writing == 0 && l.writer.partial == nil: // PublishNow, when the socket is nearly full
				l.leave([]byte{byte(published)})
				published++
			case do <= 4:
				s.Publish([]byte{byte(published)})
				published++
			case l.writing > 0:
				l.sent(l.writing, 1)
			case l.queue.n > 0 || l.writer.partial != nil:
				l.nextBatch()
			}
			var has [][]byte
			if l.writing > 0 {
				has = append(has, l.writer.batch...)
			}
			if l.writer.partial != nil {
				has = append(has, l.writer.partial)
			}
			for i := range l.queue.n {
				has = append(has, l.queue.ring[(l.queue.head+i)%len(l.queue.ring)])
			}
			held := p.Held()
			if len(has) == 0 && held > 0 {
				t.Fatalf("step %d: %d held, of no frames", step, held)
			}
			for _, frame := range has {
				if n := int(frame[len(frame)-1]); n < published-held {
					t.Fatalf("step %d: %d of %d frames are held, but the link has frame %d", step, held, published, n)
				}
			}
		}
	}
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

// What is published after the end reaches no link, so that the frames of links need not be the latest ones.
func TestHeldAfterTheEnd(t *testing.T) {
	p := New(Options{}, "/t", "/p")
	s := p.Source(false)
	p.Add(link(&writes{}, 0, &room{}))
	s.Publish([]byte("a"))
	p.stopPublishing()
	s.Publish([]byte("b"))
	if n := p.Held(); n != math.MaxInt {
		t.Errorf("%d held", n)
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
