package publink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// writes is a connection that records the bytes of each write. The write with the number fail
// accepts one byte less and returns an error; zero means that no write fails.
type writes struct {
	net.Conn
	all  [][]byte
	fail int
}

var errFull = errors.New("full")

func (w *writes) Write(p []byte) (int, error) {
	if len(w.all)+1 == w.fail {
		p = p[:len(p)-1]
	}
	w.all = append(w.all, bytes.Clone(p))
	if len(w.all) == w.fail {
		return len(p), errFull
	}
	return len(p), nil
}

func (w *writes) Close() error                     { return nil }
func (w *writes) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (w *writes) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (w *writes) SetWriteDeadline(time.Time) error { return nil }

func (w *writes) sizes() (n []int) {
	for _, b := range w.all {
		n = append(n, len(b))
	}
	return n
}

// link returns a Link without a writer.
func link(w net.Conn, limit int, r *room) *Link { return newOutLink(w, "/s", 1, limit, r) }

// The queue keeps the order of frames when it wraps and grows; a full queue drops its oldest frame.
func TestQueueAgainstModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, limit := range []int{0, 1, 2, ringFirst - 1, ringFirst, ringFirst + 1, 40, 64} {
		l := link(&writes{}, limit, &room{})
		var model [][]byte
		dropped, bytesHeld := uint64(0), 0
		for i := range 3000 {
			if rnd.IntN(5) < 3 {
				f := []byte(fmt.Sprint(i))
				l.push(f, false)
				if limit > 0 && len(model) == limit {
					bytesHeld -= len(model[0]) + frameCost
					model = model[1:]
					dropped++
				}
				model = append(model, f)
				bytesHeld += len(f) + frameCost
			} else if len(model) > 0 {
				if got := l.queue.shift(); !bytes.Equal(got, model[0]) {
					t.Fatalf("limit %d: step %d gave %q, want %q", limit, i, got, model[0])
				}
				bytesHeld -= len(model[0]) + frameCost
				model = model[1:]
			}
			if l.queue.n != len(model) || l.queue.bytes != bytesHeld || l.sum.dropped != dropped || limit > 0 && len(l.queue.ring) > limit {
				t.Fatalf("limit %d: step %d: %d queued of %d, %d bytes of %d, %d dropped of %d, ring of %d",
					limit, i, l.queue.n, len(model), l.queue.bytes, bytesHeld, l.sum.dropped, dropped, len(l.queue.ring))
			}
			used := 0
			for _, f := range l.queue.ring {
				if f != nil {
					used++
				}
			}
			if used != len(model) {
				t.Fatalf("limit %d: step %d: the ring keeps %d frames alive, %d are queued", limit, i, used, len(model))
			}
		}
	}
	for i, want := range map[int]int{1: 16, 16: 16, 17: 32, 33: 64} {
		l := link(&writes{}, 0, &room{})
		for l.queue.n < i {
			l.push([]byte("x"), false)
		}
		if len(l.queue.ring) != want {
			t.Errorf("%d frames in a ring of %d, want %d", i, len(l.queue.ring), want)
		}
	}
}

// A batch ends at 1024 frames or above 256 KiB: its frames can no longer be dropped.
func TestBatches(t *testing.T) {
	for name, tt := range map[string]struct {
		size, frames int
		want         []int
	}{
		"many":         {1, 2 * batchFrames, []int{batchFrames, batchFrames}},
		"one more":     {1, batchFrames + 1, []int{batchFrames, 1}},
		"large":        {100 << 10, 7, []int{3, 3, 1}},
		"exactly full": {batchBytes / 2, 4, []int{2, 2}},
		"very large":   {1 << 20, 2, []int{1, 1}},
	} {
		l := link(&writes{}, 0, &room{})
		for range tt.frames {
			l.push(make([]byte, tt.size), false)
		}
		for i, want := range tt.want {
			if !l.nextBatch() || len(l.writer.batch) != want || l.writing != want || l.idle {
				t.Errorf("%s: batch %d of %d frames, %d in hand, want %d", name, i, len(l.writer.batch), l.writing, want)
			}
		}
		if l.queue.n != 0 || l.queue.bytes != 0 {
			t.Errorf("%s: %d frames and %d bytes are left", name, l.queue.n, l.queue.bytes)
		}
	}
}

// Short frames are joined in writes of up to 64 KiB, longer frames are written without a copy.
func TestBatchIsWritten(t *testing.T) {
	frames := func(n, size int) (b [][]byte) {
		for i := range n {
			b = append(b, bytes.Repeat([]byte{byte(i)}, size))
		}
		return b
	}
	for name, tt := range map[string]struct {
		batch [][]byte
		fail  int
		want  []int
		bytes int64
	}{
		"one":              {frames(1, 10), 0, []int{10}, 10},
		"one fails":        {frames(1, 10), 1, []int{9}, 9},
		"short":            {frames(5, 10), 0, []int{50}, 50},
		"just short":       {frames(4, shortFrame-1), 0, []int{4*shortFrame - 4}, 4*shortFrame - 4},
		"long":             {frames(3, shortFrame), 0, []int{shortFrame, shortFrame, shortFrame}, 3 * shortFrame},
		"long, fails":      {frames(3, shortFrame), 2, []int{shortFrame, shortFrame - 1}, 2*shortFrame - 1},
		"exactly a join":   {frames(128, 512), 0, []int{joinBytes}, joinBytes},
		"a byte more":      {append(frames(128, 512), []byte("x")), 0, []int{joinBytes, 1}, joinBytes + 1},
		"two joins, fails": {frames(200, 512), 1, []int{joinBytes - 1}, joinBytes - 1},
		"the second fails": {frames(200, 512), 2, []int{joinBytes, 72*512 - 1}, 200*512 - 1},
	} {
		w := &writes{fail: tt.fail}
		l := link(w, 0, &room{})
		for range 2 { // the second time with the buffer of the first
			w.all = nil
			l.writer.batch = append(l.writer.batch[:0], tt.batch...)
			n, err := l.writer.send()
			if n != tt.bytes || errors.Is(err, errFull) != (tt.fail > 0) || fmt.Sprint(w.sizes()) != fmt.Sprint(tt.want) {
				t.Errorf("%s: %d bytes, %v, in writes of %v", name, n, err, w.sizes())
			}
			if all := bytes.Join(tt.batch, nil); !bytes.HasPrefix(all, bytes.Join(w.all, nil)) {
				t.Errorf("%s: other bytes", name)
			}
			if tt.fail > 0 {
				break
			}
		}
	}
}

// A frame up to 32 KiB is written at once while the writer is idle, and only then.
func TestWrittenAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		size      int
		now, idle bool
		want      bool
	}{
		"short":            {10, true, true, true},
		"the longest":      {quickBytes, true, true, true},
		"longer":           {quickBytes + 1, true, true, false},
		"not now":          {10, false, true, false},
		"the writer works": {10, true, false, false},
	} {
		here, there := tcpPair(t)
		l := link(here, 0, &room{})
		l.idle = tt.idle
		l.push(make([]byte, tt.size), tt.now)
		s := l.snapshot()
		if once := s.Frames == 1; once != tt.want || once != (s.Bytes == uint64(tt.size)) || once == (s.Queued == 1) {
			t.Errorf("%s: %+v", name, s)
		}
		if woken := len(l.wake) == 1; woken != (tt.idle && !tt.want) || l.idle != (tt.idle && tt.want) {
			t.Errorf("%s: woken %v, idle %v", name, woken, l.idle)
		}
		if tt.want && s.Frames == 1 {
			if _, err := io.ReadFull(there, make([]byte, tt.size)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The writer completes a frame that the kernel accepted only in part, before any other frame.
func TestRestIsWrittenFirst(t *testing.T) {
	here, there := tcpPair(t)
	l := link(here, 0, &room{})
	f := bytes.Repeat([]byte("0123456789abcdef"), quickBytes/16)
	sent := uint64(0)
	for l.writer.partial == nil {
		l.idle = true
		l.push(f, true)
		if l.queue.n > 0 { // the kernel accepted nothing: as good
			l.queue.shift()
			break
		}
		sent++
	}
	s := l.snapshot()
	part := uint64(len(l.writer.partial))
	if part > 0 {
		sent--
		if want := sent*quickBytes + quickBytes - part; s.Bytes != want || s.Frames != sent {
			t.Errorf("%d bytes and %d frames written, want %d and %d", s.Bytes, s.Frames, want, sent)
		}
		if l.idle || len(l.wake) != 1 {
			t.Errorf("idle %v, woken %d", l.idle, len(l.wake))
		}
	}
	l.push([]byte("next"), false)
	want := append(bytes.Clone(l.writer.partial), "next"...)
	if !l.nextBatch() || !bytes.Equal(bytes.Join(l.writer.batch, nil), want) || l.writer.partial != nil {
		t.Errorf("batch of %d pieces", len(l.writer.batch))
	}
	_ = there.Close()
}

// A subscriber that reads gets the reply, the latched frames and the rest, in that order, all
// counted but the reply; at the end the link is closed for writing.
func TestLinkWritesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		freed := 0
		r := &room{block: true, freed: func() { freed++ }}
		l := link(here, 5, r) // the limit has no effect: nothing is dropped
		l.reply, l.latched = []byte("reply "), [][]byte{[]byte("a "), []byte("bb ")}
		for range 6 {
			l.push(make([]byte, 1<<20), false)
		}
		if r.full.Load() != 1 || l.queue.n != 6 {
			t.Errorf("%d full, %d queued", r.full.Load(), l.queue.n)
		}
		if err := here.SetDeadline(time.Now().Add(wire.HandshakeTimeout)); err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- l.Serve() }()
		got := make([]byte, 6+5+6<<20)
		if _, err := io.ReadFull(there, got); err != nil || string(got[:11]) != "reply a bb " {
			t.Errorf("%q, %v", got[:11], err)
		}
		synctest.Wait()
		if s := l.snapshot(); s.Frames != 8 || s.Bytes != 5+6<<20 || s.Queued != 0 || s.Full || s.Dropped != 0 {
			t.Errorf("%+v", s)
		}
		if r.full.Load() != 0 || freed != 1 || !l.idle {
			t.Errorf("%d full, freed %d times, idle %v", r.full.Load(), freed, l.idle)
		}
		time.Sleep(2 * wire.HandshakeTimeout) // a deadline for the reply only
		l.push([]byte("last"), false)
		l.end()
		if _, err := io.ReadFull(there, got[:4]); err != nil || string(got[:4]) != "last" {
			t.Errorf("%q, %v", got[:4], err)
		}
		// A silent subscriber stays. The half interval separates the close from the moment at which
		// watch sets its deadline again: on a closed pipe, setting a deadline returns another error
		// than on a socket.
		time.Sleep(3*silentCheck + silentCheck/2)
		synctest.Wait()
		l.mu.Lock()
		if !l.state.flushed || l.state.cleanClose || l.state.closed {
			t.Errorf("flushed %v, orderly %v, closed %v", l.state.flushed, l.state.cleanClose, l.state.closed)
		}
		l.mu.Unlock()
		_ = there.Close()
		if err := <-served; !errors.Is(err, io.EOF) || !l.state.cleanClose || !l.state.closed {
			t.Errorf("%v, orderly %v", err, l.state.cleanClose)
		}
		<-l.done
	})
}

// A link that ends with a full queue blocks nobody, and was not flushed.
func TestFullLinkIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		freed := 0
		r := &room{block: true, freed: func() { freed++ }}
		l := link(here, 0, r)
		for range 4 {
			l.push(make([]byte, 1<<20), false)
		}
		served := make(chan error, 1)
		go func() { served <- l.Serve() }()
		synctest.Wait()
		l.end()
		l.close()
		l.close() // once is enough
		<-served
		if r.full.Load() != 0 || freed != 1 || l.state.flushed || l.state.cleanClose {
			t.Errorf("%d full, freed %d times, flushed %v, orderly %v", r.full.Load(), freed, l.state.flushed, l.state.cleanClose)
		}
	})
}

// A queue is full with 2 MiB in at least two frames, and has room again at 1 MiB.
func TestFull(t *testing.T) {
	r := &room{block: true}
	for _, tt := range []struct {
		before        bool
		frames, bytes int
		want          bool
	}{
		{false, 1, 5 << 20, false},
		{false, 2, 2<<20 - 1, false},
		{false, 2, 2 << 20, true},
		{true, 1, 5 << 20, false},
		{true, 2, 1 << 20, false},
		{true, 2, 1<<20 + 1, true},
	} {
		if got := r.isFull(tt.before, tt.frames, tt.bytes); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if (&room{}).isFull(false, 100, 5<<20) {
		t.Error("full although it drops")
	}
}

// The caller is told when the last full queue has room. It may ask instead of being told.
func TestFreed(t *testing.T) {
	freed := 0
	p := New(Options{Overflow: OverflowBlock, Freed: func() { freed++ }}, "/t", "/n")
	for _, want := range []struct {
		step  func()
		room  bool
		freed int
	}{{p.room.filled, false, 0}, {p.room.filled, false, 0}, {p.room.release, false, 0}, {p.room.release, true, 1}} {
		if want.step(); p.Room() != want.room || freed != want.freed {
			t.Errorf("room %v, freed %d times, want %v and %d", p.Room(), freed, want.room, want.freed)
		}
	}
	p = New(Options{Overflow: OverflowBlock}, "/t", "/n")
	p.room.filled()
	if p.room.release(); !p.Room() {
		t.Error("no room")
	}
}

// A subscriber that is cut off misses the frames in the queue, in the batch of the writer and in
// flight.
func TestGivenUpMisses(t *testing.T) {
	for name, tt := range map[string]struct {
		state  ackState
		closed bool
		want   uint64
	}{
		"cut off":         {ackState{pending: true, sinceAck: cutOffAfter}, false, 3 + 2 + 1},
		"heard just now":  {ackState{pending: true, sinceAck: cutOffAfter - 1}, false, 0},
		"owes nothing":    {ackState{sinceAck: time.Hour}, false, 0},
		"has left before": {ackState{pending: true, sinceAck: time.Hour}, true, 0},
	} {
		l := link(&writes{}, 0, &room{})
		for range 2 {
			l.push([]byte("x"), false)
		}
		l.nextBatch()
		for range 3 {
			l.push([]byte("x"), false)
		}
		l.state.closed = tt.closed
		l.abandon(tt.state)
		if got := l.snapshot().Dropped; got != tt.want || !l.state.closed {
			t.Errorf("%s: %d dropped, want %d; closed %v", name, got, tt.want, l.state.closed)
		}
	}
}

// The link of a subscriber that reads no reply ends at the timeout of the handshake.
func TestReplyHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		l := link(here, 0, &room{})
		l.reply = []byte("reply")
		l.push([]byte("frame"), false)
		start := time.Now()
		if err := here.SetDeadline(start.Add(wire.HandshakeTimeout)); err != nil {
			t.Fatal(err)
		}
		if err := l.Serve(); err == nil || !l.state.closed || l.state.flushed {
			t.Errorf("%v, closed %v, flushed %v", err, l.state.closed, l.state.flushed)
		}
		if took := time.Since(start); took != wire.HandshakeTimeout {
			t.Errorf("took %v", took)
		}
		if s := l.snapshot(); s.Frames != 0 || s.Dropped != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// brokenWrites is a connection whose writes fail after a number of good ones, and whose reads wait.
type brokenWrites struct {
	net.Conn
	good int
}

func (c *brokenWrites) Write(p []byte) (int, error) {
	if c.good--; c.good < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A link whose connection cannot be written ends, with any pending data, and counts the written
// frames.
func TestFailedWriteEndsLink(t *testing.T) {
	for good, frames := range map[int]uint64{0: 0, 1: 0, 2: 1, 3: 2} { // the reply, a latched frame, a queued frame
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			defer there.Close()
			l := link(&brokenWrites{Conn: here, good: good}, 0, &room{})
			l.reply, l.latched = []byte("reply"), [][]byte{[]byte("latched")}
			l.push([]byte("frame"), false)
			served := make(chan error, 1)
			go func() { served <- l.Serve() }()
			synctest.Wait()
			if good == 3 {
				l.push([]byte("frame"), false)
				synctest.Wait()
			}
			if s := l.snapshot(); !l.state.closed || s.Frames != frames || len(l.writer.batch) > 0 && l.writer.batch[0] != nil {
				t.Errorf("write %d fails: closed %v, %d frames, want %d", good+1, l.state.closed, s.Frames, frames)
			}
			if !l.state.closed {
				_ = here.Close()
			}
			<-served
		})
	}
}

// stuckWrites is a connection with a write that nobody can interrupt.
type stuckWrites struct {
	net.Conn
	goOn chan struct{}
}

func (c *stuckWrites) Write([]byte) (int, error) {
	<-c.goOn
	return 0, errFull
}

// A link has ended when its writer has.
func TestLinkWaitsForItsWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := &stuckWrites{here, make(chan struct{})}
		l := link(c, 0, &room{})
		l.reply = []byte("reply")
		served := make(chan error, 1)
		go func() { served <- l.Serve() }()
		synctest.Wait()
		_ = there.Close()
		synctest.Wait()
		l.mu.Lock()
		closed := l.state.closed
		l.mu.Unlock()
		if len(served) > 0 || !closed {
			t.Errorf("served %d, closed %v, while the writer is at work", len(served), closed)
		}
		close(c.goOn)
		<-served
	})
}

// The drops of an ended link still count for its topic, once.
func TestDroppedOnLinksThatEnded(t *testing.T) {
	p := &Publication{}
	for range 3 {
		l := link(&writes{}, 1, &room{})
		l.push([]byte("a"), false)
		l.push([]byte("b"), false)
		p.links = append(p.links, l)
	}
	for _, l := range slices.Clone(p.links) {
		if n := p.Dropped(); n != 3 {
			t.Errorf("%d dropped with %d links, want 3", n, len(p.links))
		}
		p.Remove(l)
		p.Remove(l)
	}
	if n := p.Dropped(); n != 3 || len(p.links) != 0 {
		t.Errorf("%d dropped with %d links, want 3 and none", n, len(p.links))
	}
	p.closed = true
	p.Source(false).Publish([]byte("late"))
	if n := p.Dropped(); n != 4 {
		t.Errorf("%d dropped with a frame that came after the end, want 4", n)
	}
}

// A link is flushed if Link.end was called and the link was not closed before everything was
// written.
func TestFlushed(t *testing.T) {
	for _, ending := range []bool{false, true} {
		for _, closed := range []bool{false, true} {
			if !ending && !closed {
				continue // the link continues
			}
			w := &writes{}
			l := link(w, 0, &room{})
			l.push([]byte("frame"), false)
			l.state.ending, l.state.closed = ending, closed
			l.write()
			if l.state.flushed != !closed || closed != (l.snapshot().Frames == 0) {
				t.Errorf("ending %v, closed %v: flushed %v, writes of %v", ending, closed, l.state.flushed, w.sizes())
			}
		}
	}
}
