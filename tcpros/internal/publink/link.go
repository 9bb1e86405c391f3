package publink

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// quickBytes is the most bytes of a frame that PublishNow writes at once. Copying a longer frame
// would delay the frames of other links.
const quickBytes = 32 << 10

// Link is the link to one subscriber: a queue of shared frames that Publish fills and the link's
// writer empties.
type Link struct {
	callerID string
	conn     net.Conn
	id       int
	name     string   // for getBusInfo
	reply    []byte   // our header
	adapted  *Adapted // what the subscriber gets instead of published frames; nil for these
	variant  *variant // of adapted, guarded by the lock of the publication
	latched  [][]byte
	done     chan struct{} // closed when the link has ended
	wake     chan struct{}
	writer   writer // owned by the goroutine of write; by push while the link is idle

	mu      sync.Mutex
	queue   queue
	idle    bool // the writer has written everything and waits on wake
	writing int  // frames that the writer has taken but not written yet
	since   int  // frames pushed since the first one that is being written, and that one
	state   linkState
	sum     counts
}

// linkState has the steps by which a link ends.
type linkState struct {
	ending     bool // set by Drain: no frame is added, and the writer ends when the queue is empty
	closed     bool
	flushed    bool // everything was written
	cleanClose bool // the subscriber closed its side without a reset
}

// counts are the totals of a link since it opened.
type counts struct {
	frames  uint64 // written to the socket
	bytes   uint64
	dropped uint64 // frames
}

func newOutLink(conn net.Conn, callerID string, id, limit int, r *room) *Link {
	return &Link{
		callerID: callerID, conn: conn, id: id, name: wire.LinkName(conn),
		done: make(chan struct{}), wake: make(chan struct{}, 1),
		writer: writer{conn: conn, quick: newQuickWriter(conn)}, queue: newQueue(limit, r),
	}
}

// push queues a frame. With now, push writes the frame at once if the queue is empty. A full queue
// drops its oldest frame. After the link is closed, frames are not counted as dropped.
func (l *Link) push(frame []byte, now bool) {
	l.mu.Lock()
	if now && l.idle && len(frame) <= quickBytes && l.writeNow(frame) {
		l.mu.Unlock()
		return
	}
	switch {
	case l.state.closed:
		l.mu.Unlock()
		return
	case l.state.ending:
		l.sum.dropped++
		l.mu.Unlock()
		return
	}
	if l.queue.push(frame) {
		l.sum.dropped++
	}
	l.since++
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
	n := l.writer.quick.write(frame)
	if n == 0 {
		return false
	}
	l.sum.bytes += uint64(n)
	if n == len(frame) {
		l.sum.frames++
		return true
	}
	l.leave(frame[n:])
	return true
}

// leave leaves the rest of a frame to the writer.
func (l *Link) leave(rest []byte) {
	l.writer.partial, l.since = rest, 1
	l.idle = false
	l.signal()
}

func (l *Link) signal() {
	select {
	case l.wake <- struct{}{}:
	default: // the writer is awake already
	}
}

// nextBatch waits for frames and fills the writer's batch. It reports false at the end.
func (l *Link) nextBatch() (more bool) {
	l.writer.batch = l.writer.batch[:0]
	for {
		l.mu.Lock()
		if l.writer.partial != nil {
			l.writer.batch = append(l.writer.batch, l.writer.partial)
			l.writer.partial = nil
		} else {
			l.since = l.queue.n
		}
		l.writer.batch = l.queue.take(l.writer.batch)
		freed := l.queue.leaveFull()
		over := l.state.closed || l.state.ending && len(l.writer.batch) == 0
		l.idle = !over && len(l.writer.batch) == 0
		l.writing = len(l.writer.batch)
		l.mu.Unlock()
		if freed {
			l.queue.room.release()
		}
		if over || len(l.writer.batch) > 0 {
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
		n, err := l.writer.send()
		count := len(l.writer.batch)
		clear(l.writer.batch) // releases the frames
		if err != nil {
			l.close()
			return
		}
		l.sent(count, n)
	}
	l.mu.Lock()
	l.state.flushed = l.state.ending && !l.state.closed
	flushed := l.state.flushed
	l.mu.Unlock()
	if tc, ok := l.conn.(*net.TCPConn); ok && flushed {
		_ = tc.CloseWrite() // the peer then closes its side, which watch detects
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

func (l *Link) sent(frames int, n int64) {
	l.mu.Lock()
	l.sum.frames += uint64(frames)
	l.sum.bytes += uint64(n)
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

// Serve runs the link until the subscriber closes the link or close is called. It returns the error
// of watch: io.EOF after a clean close.
func (l *Link) Serve() error {
	defer close(l.done)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.close()
	// owner: Serve; ends when the link is closed.
	wg.Go(l.write)
	err := l.watch()
	l.mu.Lock()
	l.state.cleanClose = err == io.EOF //nolint:errorlint // net returns it bare
	l.mu.Unlock()
	if errors.Is(err, ErrSilent) {
		l.abandon(ackStateOf(l.conn))
	}
	return err
}

// end makes the writer send the queue and then return.
func (l *Link) end() {
	l.mu.Lock()
	l.state.ending = true
	l.idle = false
	l.mu.Unlock()
	l.signal()
}

// close closes the link at once.
func (l *Link) close() {
	l.mu.Lock()
	l.state.closed = true
	l.idle = false
	full := l.queue.end()
	l.mu.Unlock()
	if full {
		l.queue.room.release()
	}
	l.signal()
	_ = l.conn.Close() // wakes reader and writer
}

// abandon closes a link whose peer is gone or has opened another link. If the peer was cut off by
// the network, the frames that did not arrive count as dropped. If the peer only restarted, or does
// not read, the frames do not count.
func (l *Link) abandon(s ackState) {
	l.mu.Lock()
	if !l.state.closed && s.pending && s.sinceAck >= cutOffAfter {
		l.sum.dropped += uint64(l.queue.n + l.writing + 1) // at least one frame is unacknowledged
	}
	l.mu.Unlock()
	l.close()
}

// held returns how many of the latest frames that were pushed the link may not have written yet. Those
// between the frames that are being written and the queue may have been dropped.
func (l *Link) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.queue.n
	if l.writing > 0 || l.writer.partial != nil {
		n = l.since
	}
	if n > 0 && (l.state.ending || l.state.closed) {
		return math.MaxInt // frames that are published now are not pushed any more
	}
	return n
}

// hasEnded reports whether Serve has returned.
func (l *Link) hasEnded() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

func (l *Link) snapshot() SubscriberStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return SubscriberStats{
		CallerID: l.callerID, Peer: l.conn.RemoteAddr().String(), Queued: l.queue.n,
		Frames: l.sum.frames, Bytes: l.sum.bytes, Dropped: l.sum.dropped, Full: l.queue.full,
	}
}
