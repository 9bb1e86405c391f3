package tcpros

import (
	"io"
	"net"
	"sync"
)

const (
	batchFrames = 128       // frames in one writev
	batchBytes  = 256 << 10 // a batch ends above this: what it holds can no longer be dropped
	ringFirst   = 16
)

// outLink is the link to one subscriber: a ring of shared frames that Publish fills
// and the link's writer empties.
type outLink struct {
	callerID string
	conn     net.Conn
	id       int
	name     string // for getBusInfo
	limit    int    // frames in the ring; zero means unlimited
	first    [][]byte
	done     chan struct{} // closed when the link has ended
	wake     chan struct{}

	mu      sync.Mutex
	ring    [][]byte
	head, n int
	idle    bool // the writer waits on wake
	ending  bool // Drain: nothing is added, the writer ends when the ring is empty
	closed  bool
	flushed bool // everything was written
	orderly bool // the subscriber closed its side without an error
	frames  uint64
	bytes   uint64
	dropped uint64

	batch [][]byte    // the writer's
	bufs  net.Buffers // the writer's view of batch
}

func newOutLink(conn net.Conn, callerID string, id, limit int) *outLink {
	return &outLink{
		callerID: callerID, conn: conn, id: id, name: linkName(conn), limit: limit,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
		batch: make([][]byte, 0, batchFrames),
	}
}

// push queues a frame; a full ring drops its oldest. A subscriber that has left
// misses nothing.
func (l *outLink) push(frame []byte) {
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return
	case l.ending:
		l.dropped++
		l.mu.Unlock()
		return
	case l.limit > 0 && l.n == l.limit:
		l.ring[l.head] = nil
		l.head = (l.head + 1) % len(l.ring)
		l.n--
		l.dropped++
	case l.n == len(l.ring):
		l.grow()
	}
	l.ring[(l.head+l.n)%len(l.ring)] = frame
	l.n++
	wake := l.idle
	l.idle = false
	l.mu.Unlock()
	if wake {
		l.poke()
	}
}

func (l *outLink) grow() {
	size := max(ringFirst, 2*len(l.ring))
	if l.limit > 0 {
		size = min(size, l.limit)
	}
	ring := make([][]byte, size)
	k := copy(ring, l.ring[l.head:])
	copy(ring[k:], l.ring[:l.head])
	l.ring, l.head = ring, 0
}

func (l *outLink) poke() {
	select {
	case l.wake <- struct{}{}:
	default: // it is awake already
	}
}

// take fills the writer's batch. more is false when nothing will come any more.
func (l *outLink) take() (more bool) {
	l.batch = l.batch[:0]
	for {
		l.mu.Lock()
		for size := 0; l.n > 0 && len(l.batch) < batchFrames && size < batchBytes; l.n-- {
			f := l.ring[l.head]
			l.ring[l.head] = nil
			l.head = (l.head + 1) % len(l.ring)
			l.batch = append(l.batch, f)
			size += len(f)
		}
		over := l.closed || l.ending && len(l.batch) == 0
		l.idle = !over && len(l.batch) == 0
		l.mu.Unlock()
		if over || len(l.batch) > 0 {
			return !over
		}
		<-l.wake
	}
}

// write sends frames until the link ends. Writing has no deadline: a subscriber
// may be slow, its queue drops. Keepalive finds a dead one only while nothing is
// under way to it: Linux probes no connection that has unacknowledged data, and
// gives such a one up after some 15 minutes of sending it again (tcp_retries2).
func (l *outLink) write() {
	for _, f := range l.first { // never dropped, never behind a later frame
		if _, err := l.conn.Write(f); err != nil {
			l.close()
			return
		}
		l.sent(1, int64(len(f)))
	}
	l.first = nil
	for l.take() {
		var n int64
		var err error
		if len(l.batch) == 1 {
			var m int
			m, err = l.conn.Write(l.batch[0])
			n = int64(m)
		} else {
			l.bufs = net.Buffers(l.batch)
			n, err = l.bufs.WriteTo(l.conn)
		}
		count := len(l.batch)
		clear(l.batch) // the frames belong to others
		if err != nil {
			l.close()
			return
		}
		l.sent(count, n)
	}
	l.mu.Lock()
	l.flushed = l.ending && !l.closed
	flushed := l.flushed
	l.mu.Unlock()
	if tc, ok := l.conn.(*net.TCPConn); ok && flushed {
		_ = tc.CloseWrite() // the reader sees the peer's answer to it
	}
}

func (l *outLink) sent(frames int, n int64) {
	l.mu.Lock()
	l.frames += uint64(frames)
	l.bytes += uint64(n)
	l.mu.Unlock()
}

// watch reads until the subscriber closes: it has nothing to say after its header.
func (l *outLink) watch() error {
	var b [256]byte
	for {
		if _, err := l.conn.Read(b[:]); err != nil {
			return err
		}
	}
}

// serve runs the link until the subscriber leaves or close is called. It returns
// the reader's error: io.EOF for an orderly end.
func (l *outLink) serve() error {
	defer close(l.done)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.close()
	// owner: serve; ends when the link is closed.
	wg.Go(l.write)
	err := l.watch()
	l.mu.Lock()
	l.orderly = err == io.EOF //nolint:errorlint // net returns it bare
	l.mu.Unlock()
	return err
}

// end tells the writer to finish with what is queued.
func (l *outLink) end() {
	l.mu.Lock()
	l.ending = true
	l.idle = false
	l.mu.Unlock()
	l.poke()
}

// close ends the link at once.
func (l *outLink) close() {
	l.mu.Lock()
	l.closed = true
	l.idle = false
	l.mu.Unlock()
	l.poke()
	_ = l.conn.Close() // wakes reader and writer
}

func (l *outLink) snapshot() SubscriberStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return SubscriberStats{
		CallerID: l.callerID, Peer: l.conn.RemoteAddr().String(), Queued: l.n,
		Frames: l.frames, Bytes: l.bytes, Dropped: l.dropped,
	}
}
