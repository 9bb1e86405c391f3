package tcpros

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	batchFrames = 1024      // frames in one writev: the kernel's limit
	batchBytes  = 256 << 10 // a batch ends above this: what it holds can no longer be dropped
	ringFirst   = 16

	// Frames of a batch that are shorter than this on average are copied together: the
	// kernel's handling of a piece costs as much as copying some hundred bytes.
	shortFrame = 1 << 10
	joinBytes  = 64 << 10

	quickBytes = 32 << 10 // frames up to this are written at once: a longer copy would delay others
)

// outLink is the link to one subscriber: a ring of shared frames that Publish fills
// and the link's writer empties.
type outLink struct {
	callerID string
	conn     net.Conn
	id       int
	name     string // for getBusInfo
	limit    int    // frames in the ring; zero means unlimited
	room     *room  // of the publication
	first    [][]byte
	done     chan struct{} // closed when the link has ended
	wake     chan struct{}

	mu      sync.Mutex
	ring    [][]byte
	head, n int
	held    int    // bytes of memory that the ring keeps
	full    bool   // counted in room
	idle    bool   // the writer waits on wake, and has written all
	rest    []byte // of a frame whose first part was written at once
	ending  bool   // Drain: nothing is added, the writer ends when the ring is empty
	closed  bool
	inHand  int  // frames that the writer has taken and not written
	flushed bool // everything was written
	orderly bool // the subscriber closed its side without an error
	frames  uint64
	bytes   uint64
	dropped uint64

	quick *quickWriter // may be nil

	batch [][]byte    // the writer's
	bufs  net.Buffers // the writer's view of batch
	join  []byte      // the writer's; nil before it was needed
}

func newOutLink(conn net.Conn, callerID string, id, limit int, r *room) *outLink {
	if r.block {
		limit = 0
	}
	return &outLink{
		callerID: callerID, conn: conn, id: id, name: linkName(conn), limit: limit, room: r,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
		quick: newQuickWriter(conn),
	}
}

// push queues a frame, or writes it if that is to be now; a full ring drops its oldest.
// A subscriber that has left misses nothing.
func (l *outLink) push(frame []byte, now bool) {
	l.mu.Lock()
	if now && l.idle && len(frame) <= quickBytes && l.writeNow(frame) {
		l.mu.Unlock()
		return
	}
	switch {
	case l.closed:
		l.mu.Unlock()
		return
	case l.ending:
		l.dropped++
		l.mu.Unlock()
		return
	case l.limit > 0 && l.n == l.limit:
		l.shift()
		l.dropped++
	case l.n == len(l.ring):
		l.grow()
	}
	at := l.head + l.n
	if at >= len(l.ring) {
		at -= len(l.ring)
	}
	l.ring[at] = frame
	l.n++
	l.held += len(frame) + frameCost
	if !l.full && l.room.isFull(false, l.n, l.held) {
		l.full = true
		l.room.filled()
	}
	wake := l.idle
	l.idle = false
	l.mu.Unlock()
	if wake {
		l.poke()
	}
}

// writeNow writes a frame to the socket, while the writer has nothing to do. It reports
// false if the kernel takes nothing now; the writer completes what it took in part.
// Called with mu held, which keeps the writer and end off.
func (l *outLink) writeNow(frame []byte) bool {
	n := l.quick.write(frame)
	if n == 0 {
		return false
	}
	l.bytes += uint64(n)
	if n == len(frame) {
		l.frames++
		return true
	}
	l.rest = frame[n:]
	l.idle = false
	l.poke()
	return true
}

// shift takes the oldest frame out of the ring.
func (l *outLink) shift() []byte {
	f := l.ring[l.head]
	l.ring[l.head] = nil
	if l.head++; l.head == len(l.ring) {
		l.head = 0
	}
	l.n--
	l.held -= len(f) + frameCost
	return f
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
		if l.rest != nil {
			l.batch = append(l.batch, l.rest)
			l.rest = nil
		}
		for size := 0; l.n > 0 && len(l.batch) < batchFrames && size < batchBytes; {
			f := l.shift()
			l.batch = append(l.batch, f)
			size += len(f)
		}
		freed := l.full && !l.room.isFull(true, l.n, l.held)
		l.full = l.full && !freed
		over := l.closed || l.ending && len(l.batch) == 0
		l.idle = !over && len(l.batch) == 0
		l.inHand = len(l.batch)
		l.mu.Unlock()
		if freed {
			l.room.release()
		}
		if over || len(l.batch) > 0 {
			return !over
		}
		<-l.wake
	}
}

// write sends frames until the link ends. Writing has no deadline: a subscriber may be
// slow, its queue drops. Whether its machine is there at all watch looks after.
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
		n, err := l.writeBatch()
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

// writeBatch sends what take has taken.
func (l *outLink) writeBatch() (n int64, err error) {
	if len(l.batch) == 1 {
		m, err := l.conn.Write(l.batch[0])
		return int64(m), err
	}
	size := 0
	for _, f := range l.batch {
		size += len(f)
	}
	if size/len(l.batch) >= shortFrame {
		l.bufs = net.Buffers(l.batch)
		return l.bufs.WriteTo(l.conn)
	}
	for _, f := range l.batch {
		if len(l.join)+len(f) > joinBytes {
			m, err := l.flush()
			if n += m; err != nil {
				return n, err
			}
		}
		l.join = append(l.join, f...)
	}
	m, err := l.flush()
	return n + m, err
}

// flush sends what is joined.
func (l *outLink) flush() (int64, error) {
	n, err := l.conn.Write(l.join)
	l.join = l.join[:0]
	return int64(n), err
}

func (l *outLink) sent(frames int, n int64) {
	l.mu.Lock()
	l.frames += uint64(frames)
	l.bytes += uint64(n)
	l.inHand = 0
	l.mu.Unlock()
}

// watch reads until the subscriber closes, as it has nothing to say after its header, or
// is silent for too long.
func (l *outLink) watch() error {
	var b [256]byte
	var s silence
	for {
		if err := l.conn.SetReadDeadline(time.Now().Add(silentCheck)); err != nil {
			return err
		}
		_, err := l.conn.Read(b[:])
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		default:
			if s.over(time.Now(), debtOf(l.conn)) {
				return errSilent
			}
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
	if errors.Is(err, errSilent) {
		l.giveUp()
	}
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
	full := l.full
	l.full = false
	l.mu.Unlock()
	if full {
		l.room.release()
	}
	l.poke()
	_ = l.conn.Close() // wakes reader and writer
}

// giveUp ends a link that has no other end any more, or whose subscriber has another one.
// Who leaves, or does not read, misses nothing with it; who was cut off misses what did
// not arrive, and that counts as dropped.
func (l *outLink) giveUp() {
	d := debtOf(l.conn)
	l.mu.Lock()
	if !l.closed && d.owed && d.heard >= silentSign {
		l.dropped += uint64(l.n + l.inHand + 1) // at least one is on its way
	}
	l.mu.Unlock()
	l.close()
}

func (l *outLink) snapshot() SubscriberStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return SubscriberStats{
		CallerID: l.callerID, Peer: l.conn.RemoteAddr().String(), Queued: l.n,
		Frames: l.frames, Bytes: l.bytes, Dropped: l.dropped, Full: l.full,
	}
}
