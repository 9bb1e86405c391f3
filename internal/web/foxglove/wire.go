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
	// writePiece is how much is written at once. A viewer that takes a piece in the time of
	// timing.stalled is alive.
	writePiece = 16 << 10

	// What a viewer sends is limited: a flood of tiny frames, each of which costs more than its
	// bytes, takes a small part of a processor.
	readRate  = 128 << 10 // bytes in a second
	readBurst = maxRequestBytes
)

// wire is the connection of a viewer. It bounds how long a write makes no progress, and how fast
// the viewer may send.
type wire struct {
	net.Conn

	stalled  time.Duration
	reading  *rate.Limiter
	life     context.Context //nolint:containedctx // ends the waiting of Read, which has none
	end      context.CancelFunc
	lastRead atomic.Int64 // when something arrived, in nanoseconds since 1970

	writing sync.Mutex
	ending  atomic.Bool // the deadline is final
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
	w := &wire{Conn: conn, stalled: stalled, reading: rate.NewLimiter(readRate, readBurst), life: life, end: end}
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
func (w *wire) Write(b []byte) (written int, err error) {
	w.writing.Lock()
	defer w.writing.Unlock()
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

// ping sends an empty ping. The caller is not within a message.
func (w *wire) ping() error {
	_, err := w.Write([]byte{0x89, 0})
	return err
}

// silence returns how long nothing has arrived.
func (w *wire) silence() time.Duration { return time.Since(time.Unix(0, w.lastRead.Load())) }

// finish says that all writing must end within d.
func (w *wire) finish(d time.Duration) {
	w.ending.Store(true)
	w.SetWriteDeadline(time.Now().Add(d)) //nolint:errcheck,gosec // a connection that is closed needs none
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.end()
	return w.Conn.Close()
}
