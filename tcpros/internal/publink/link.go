package publink

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

const (
	batchFrames = 1024      // frames in one writev: the kernel's limit
	batchBytes  = 256 << 10 // a batch ends above this: frames in a batch can no longer be dropped
	ringFirst   = 16

	// If the frames of a batch are shorter than this on average, they are copied into one
	// buffer: a separate iovec costs the kernel as much as copying some hundred bytes.
	shortFrame = 1 << 10
	joinBytes  = 64 << 10

	quickBytes = 32 << 10 // longer frames are never written by PublishNow: the copy would delay others
)

// Link is the link to one subscriber: a ring of shared frames that Publish fills
// and the link's writer empties.
type Link struct {
	callerID string
	conn     net.Conn
	id       int
	name     string // for getBusInfo
	limit    int    // frames in the ring; zero means unlimited
	room     *room  // of the publication
	reply    []byte // our header
	latched  [][]byte
	done     chan struct{} // closed when the link has ended
	wake     chan struct{}

	mu          sync.Mutex
	ring        [][]byte
	head, n     int
	queuedBytes int    // memory of the frames in the ring
	full        bool   // counted in room
	idle        bool   // the writer has written everything and waits on wake
	partial     []byte // the rest of a frame that writeNow has written in part
	ending      bool   // by Drain: frames are no longer added, the writer ends when the ring is empty
	closed      bool
	writing     int  // frames that the writer has taken but not written yet
	flushed     bool // everything was written
	cleanClose  bool // the subscriber closed its side without a reset
	frames      uint64
	bytes       uint64
	dropped     uint64

	quick *quickWriter // may be nil

	batch  [][]byte    // the writer's
	bufs   net.Buffers // the writer's view of batch
	joined []byte      // the writer's buffer for short frames
}

func newOutLink(conn net.Conn, callerID string, id, limit int, r *room) *Link {
	if r.block {
		limit = 0
	}
	return &Link{
		callerID: callerID, conn: conn, id: id, name: wire.LinkName(conn), limit: limit, room: r,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
		quick: newQuickWriter(conn),
	}
}

// push queues a frame, or with now writes it at once if nothing is queued. A full ring drops
// its oldest frame. After the link is closed, frames are not counted as dropped.
func (l *Link) push(frame []byte, now bool) {
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
	l.queuedBytes += len(frame) + frameCost
	if !l.full && l.room.isFull(false, l.n, l.queuedBytes) {
		l.full = true
		l.room.filled()
	}
	wake := l.idle
	l.idle = false
	l.mu.Unlock()
	if wake {
		l.signal()
	}
}

// writeNow writes a frame to the socket while the writer is idle. It reports false if the
// kernel accepts no byte now; the writer completes a partial write. It is called with mu
// held, which excludes the writer and end.
func (l *Link) writeNow(frame []byte) bool {
	n := l.quick.write(frame)
	if n == 0 {
		return false
	}
	l.bytes += uint64(n)
	if n == len(frame) {
		l.frames++
		return true
	}
	l.partial = frame[n:]
	l.idle = false
	l.signal()
	return true
}

// shift removes the oldest frame from the ring and returns it.
func (l *Link) shift() []byte {
	f := l.ring[l.head]
	l.ring[l.head] = nil
	if l.head++; l.head == len(l.ring) {
		l.head = 0
	}
	l.n--
	l.queuedBytes -= len(f) + frameCost
	return f
}

func (l *Link) grow() {
	size := max(ringFirst, 2*len(l.ring))
	if l.limit > 0 {
		size = min(size, l.limit)
	}
	ring := make([][]byte, size)
	k := copy(ring, l.ring[l.head:])
	copy(ring[k:], l.ring[:l.head])
	l.ring, l.head = ring, 0
}

func (l *Link) signal() {
	select {
	case l.wake <- struct{}{}:
	default: // it is awake already
	}
}

// nextBatch waits for frames and fills the writer's batch. It reports false at the end.
func (l *Link) nextBatch() (more bool) {
	l.batch = l.batch[:0]
	for {
		l.mu.Lock()
		if l.partial != nil {
			l.batch = append(l.batch, l.partial)
			l.partial = nil
		}
		for size := 0; l.n > 0 && len(l.batch) < batchFrames && size < batchBytes; {
			f := l.shift()
			l.batch = append(l.batch, f)
			size += len(f)
		}
		freed := l.full && !l.room.isFull(true, l.n, l.queuedBytes)
		l.full = l.full && !freed
		over := l.closed || l.ending && len(l.batch) == 0
		l.idle = !over && len(l.batch) == 0
		l.writing = len(l.batch)
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

// write sends the reply, then frames until the link ends. Writing frames has no deadline: a
// subscriber may be slow, and then its queue drops frames. watch detects a peer whose machine
// is gone.
func (l *Link) write() {
	if err := l.sendReply(); err != nil {
		l.close()
		return
	}
	for _, f := range l.latched { // never dropped, and before all other frames
		if _, err := l.conn.Write(f); err != nil {
			l.close()
			return
		}
		l.sent(1, int64(len(f)))
	}
	l.latched = nil
	for l.nextBatch() {
		n, err := l.writeBatch()
		count := len(l.batch)
		clear(l.batch) // releases the frames
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
		_ = tc.CloseWrite() // watch sees the peer's answer to it
	}
}

// sendReply sends the reply, within the deadline of the handshake.
func (l *Link) sendReply() error {
	if _, err := l.conn.Write(l.reply); err != nil {
		return err
	}
	l.reply = nil
	return l.conn.SetWriteDeadline(time.Time{})
}

// writeBatch sends the batch.
func (l *Link) writeBatch() (n int64, err error) {
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
		if len(l.joined)+len(f) > joinBytes {
			m, err := l.flush()
			if n += m; err != nil {
				return n, err
			}
		}
		l.joined = append(l.joined, f...)
	}
	m, err := l.flush()
	return n + m, err
}

// flush sends the joined frames.
func (l *Link) flush() (int64, error) {
	n, err := l.conn.Write(l.joined)
	l.joined = l.joined[:0]
	return int64(n), err
}

func (l *Link) sent(frames int, n int64) {
	l.mu.Lock()
	l.frames += uint64(frames)
	l.bytes += uint64(n)
	l.writing = 0
	l.mu.Unlock()
}

// watch reads, to detect that the subscriber closes the link or that its machine is gone. A
// subscriber sends nothing after its header.
func (l *Link) watch() error {
	var b [256]byte
	var s silenceDetector
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
			if s.exceeded(time.Now(), ackStateOf(l.conn)) {
				return ErrSilent
			}
		}
	}
}

// Serve runs the link until the subscriber closes it or close is called. It returns the error
// of watch: io.EOF after a clean close.
func (l *Link) Serve() error {
	defer close(l.done)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.close()
	// owner: serve; ends when the link is closed.
	wg.Go(l.write)
	err := l.watch()
	l.mu.Lock()
	l.cleanClose = err == io.EOF //nolint:errorlint // net returns it bare
	l.mu.Unlock()
	if errors.Is(err, ErrSilent) {
		l.abandon(ackStateOf(l.conn))
	}
	return err
}

// end makes the writer send the queue and then end.
func (l *Link) end() {
	l.mu.Lock()
	l.ending = true
	l.idle = false
	l.mu.Unlock()
	l.signal()
}

// close closes the link at once.
func (l *Link) close() {
	l.mu.Lock()
	l.closed = true
	l.idle = false
	full := l.full
	l.full = false
	l.mu.Unlock()
	if full {
		l.room.release()
	}
	l.signal()
	_ = l.conn.Close() // wakes reader and writer
}

// abandon closes a link whose peer is gone or has opened another link. If the peer was cut off
// by the network, the frames that did not arrive count as dropped. If the peer only
// restarted, or does not read, they do not.
func (l *Link) abandon(s ackState) {
	l.mu.Lock()
	if !l.closed && s.pending && s.sinceAck >= cutOffAfter {
		l.dropped += uint64(l.n + l.writing + 1) // at least one frame is unacknowledged
	}
	l.mu.Unlock()
	l.close()
}

func (l *Link) snapshot() SubscriberStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return SubscriberStats{
		CallerID: l.callerID, Peer: l.conn.RemoteAddr().String(), Queued: l.n,
		Frames: l.frames, Bytes: l.bytes, Dropped: l.dropped, Full: l.full,
	}
}
