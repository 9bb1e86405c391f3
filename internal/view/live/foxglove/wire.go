package foxglove

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// writePiece is the number of bytes of one write. A viewer that reads a piece within timing.stalled
	// is alive.
	writePiece = 64 << 10

	// heldBytes is the number of bytes that Write collects before it writes them to the socket: messages are
	// often small, and a write to a socket costs more than copying a message.
	heldBytes = 64 << 10

	// A viewer is read from at a limited rate, so that a flood of tiny frames takes only a small part of a
	// processor: a frame costs more than its bytes.
	readRate  = 128 << 10 // bytes in a second
	readBurst = maxRequestBytes
)

// wire is the connection of a viewer. It bounds how long a write makes no progress, and how fast
// the viewer may send.
//
// Write collects small writes, and flush writes them, so that a pong does not wait for a slow viewer:
// the library closes a connection whose pong waits for 5 s.
type wire struct {
	net.Conn

	stalled  time.Duration
	reading  *rate.Limiter
	life     context.Context //nolint:containedctx // ends the waiting of Read, which has none
	end      context.CancelFunc
	lastRead atomic.Int64  // when bytes of the viewer last arrived, in nanoseconds since 1970
	dirty    chan struct{} // holds a token while something may wait for flush

	writing sync.Mutex // held while the socket is written to
	spare   []byte     // memory for held

	mu   sync.Mutex // guards held; locked while bytes are copied, never during I/O
	held []byte     // not written yet

	ending atomic.Bool // Write collects no more bytes, and the deadline is final
}

// upgrade hands a connection to the WebSocket library as a wire.
type upgrade struct {
	http.ResponseWriter

	stalled time.Duration
	wire    *wire
}

// Hijack implements http.Hijacker.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.wire = newWire(conn, u.stalled)
	rw.Writer.Reset(u.wire)
	return u.wire, rw, nil
}

func newWire(conn net.Conn, stalled time.Duration) *wire {
	life, end := context.WithCancel(context.Background())
	w := &wire{
		Conn: conn, stalled: stalled, reading: rate.NewLimiter(readRate, readBurst), life: life,
		end: end, dirty: make(chan struct{}, 1),
	}
	w.lastRead.Store(time.Now().UnixNano())
	return w
}

// Read implements net.Conn.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b[:min(len(b), readBurst)])
	if n > 0 {
		w.lastRead.Store(time.Now().UnixNano())
		if wait := w.reading.WaitN(w.life, n); wait != nil {
			return 0, net.ErrClosed
		}
	}
	return n, err
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	if w.hold(b) {
		if w.ending.Load() {
			return len(b), w.flush()
		}
		select {
		case w.dirty <- struct{}{}:
		default:
		}
		return len(b), nil
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if err := w.writeHeld(); err != nil {
		return 0, err
	}
	return w.write(b)
}

// hold collects b, if there is room.
func (w *wire) hold(b []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held)+len(b) > heldBytes {
		return false
	}
	w.held = append(w.held, b...)
	return true
}

// flush writes the collected bytes.
func (w *wire) flush() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	return w.writeHeld()
}

// writeHeld is flush, called with the lock for writing.
func (w *wire) writeHeld() error {
	w.mu.Lock()
	b := w.held
	w.held = w.spare[:0]
	w.spare = b
	w.mu.Unlock()
	_, err := w.write(b)
	return err
}

// write writes to the socket. Called with the lock for writing.
func (w *wire) write(b []byte) (written int, err error) {
	for len(b) > 0 {
		if !w.ending.Load() {
			if err := w.SetWriteDeadline(time.Now().Add(w.stalled)); err != nil {
				return written, err
			}
			if w.ending.Load() { // finish has set its deadline in between
				return written, errEnding
			}
		}
		n, err := w.Conn.Write(b[:min(len(b), writePiece)])
		written += n
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}

var errEnding = errors.New("the connection ends")

// ping sends an empty ping. The caller is not within a message, and flushes.
func (w *wire) ping() error {
	_, err := w.Write([]byte{0x89, 0})
	return err
}

// silence returns the time since bytes of the viewer last arrived.
func (w *wire) silence() time.Duration { return time.Since(time.Unix(0, w.lastRead.Load())) }

// finish says that all writing must end within d.
func (w *wire) finish(d time.Duration) {
	w.ending.Store(true)
	w.SetWriteDeadline(time.Now().Add(d)) //nolint:errcheck,gosec // a connection that is closed needs none
}

// closeTime bounds the last write of collected bytes, such as the reply to a close frame.
const closeTime = 100 * time.Millisecond

// Close implements net.Conn.
func (w *wire) Close() error {
	w.finish(closeTime)
	w.flush() //nolint:errcheck,gosec // the viewer may be gone
	w.end()
	return w.Conn.Close()
}
