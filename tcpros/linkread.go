package tcpros

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// The read buffer of a link and the limits of a message.
const (
	minReadBuffer = 16 << 10
	maxReadBuffer = 256 << 10
	largeFrame    = 128 << 10 // longer frames are read straight into their place
	afterLarge    = 4 << 10   // read this much behind a large frame: the next one is likely large too

	defaultMaxMessage = 256 << 20
	hardMaxMessage    = 1_000_000_000 // roscpp drops the link above it

	// A message must end, or move 1 kB/s, within each stallAfter; between messages
	// there is no limit: rare and latched topics are legal.
	stallAfter = 60 * time.Second
	stallBytes = 60_000
	stallGrace = 2 * time.Second
)

// frameConn is what the reader needs of a connection.
type frameConn interface {
	Read(p []byte) (int, error)
	SetReadDeadline(t time.Time) error
}

// linkCounters are read by others while the link runs.
type linkCounters struct {
	bytes   atomic.Uint64
	frames  atomic.Uint64
	reading atomic.Bool // waits for the socket, not for the sink
}

// frameReader cuts a connection into frames and hands them to a sink. This is the
// hot path: one read call, one look at the clock and one call of the sink for as
// many frames as the socket had, and no allocation once the buffer has its size.
//
//	buf:  [ done | r: begun frame ... w: | free ]
type frameReader struct {
	conn  frameConn
	sink  LinkSink
	max   int64
	stats *linkCounters

	buf        []byte
	r, w       int
	wary       bool      // a large frame came last
	received   time.Time // when the last read returned
	inFrame    bool      // a frame has begun and not ended
	begun      time.Time // when it did, or when its progress was last found good
	moved      int       // bytes since begun
	armed      bool      // a read deadline is set; it may belong to a frame long gone
	graceUntil time.Time // of the frame that is late; zero if none is
}

func newFrameReader(c frameConn, s LinkSink, maxMessage int64, stats *linkCounters) *frameReader {
	return &frameReader{conn: c, sink: s, max: maxMessage, stats: stats, buf: make([]byte, minReadBuffer)}
}

// run reads until the connection ends and returns why.
func (f *frameReader) run() error {
	for {
		space := f.buf[f.w:]
		if f.wary && len(space) > afterLarge {
			space = space[:afterLarge]
		}
		n, err := f.read(space)
		if err != nil {
			return err
		}
		f.w += n
		full := f.w == len(f.buf)
		if err := f.cut(); err != nil {
			return err
		}
		f.makeRoom(full)
	}
}

// cut hands all whole frames in the buffer to the sink, and a large frame that has
// begun behind them.
func (f *frameReader) cut() error {
	b := f.buf[f.r:f.w]
	end, count := 0, 0
	need := int64(0) // of the frame behind them; zero if its length is not here yet
	for len(b)-end >= 4 {
		need = 4 + int64(binary.LittleEndian.Uint32(b[end:]))
		if need > int64(len(b)-end) || need-4 > f.max {
			break
		}
		end += int(need)
		count++
		need = 0
	}
	if count > 0 {
		f.stats.frames.Add(uint64(count))
		f.sink.Frames(b[:end:end], count, f.received)
		f.r += end
	}
	f.wary = false
	switch {
	case need-4 > f.max:
		return &TooLargeError{Bytes: need - 4, Limit: f.max}
	case need > largeFrame:
		f.begin(count)
		return f.large(int(need))
	case f.r == f.w:
		f.r, f.w, f.inFrame = 0, 0, false
	default:
		f.begin(count)
	}
	return nil
}

// begin notes that a frame has begun, if it is not the one that had already.
func (f *frameReader) begin(ended int) {
	if ended > 0 || !f.inFrame {
		f.inFrame, f.begun, f.moved = true, f.received, f.w-f.r
		f.graceUntil = time.Time{}
	}
}

// makeRoom moves the frame that has begun to the front when little room is left
// behind it, and doubles a buffer that a read has filled: only what arrived makes
// it grow.
func (f *frameReader) makeRoom(full bool) {
	switch {
	case full && len(f.buf) < maxReadBuffer:
		b := make([]byte, 2*len(f.buf))
		f.w = copy(b, f.buf[f.r:f.w])
		f.buf, f.r = b, 0
	case f.r > 0 && len(f.buf)-f.w < len(f.buf)/2:
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	}
}

// large reads a frame of n bytes, length included, straight into its place.
func (f *frameReader) large(n int) error {
	have := f.buf[f.r:f.w]
	f.r, f.w, f.wary = 0, 0, true
	frame := f.sink.Large(n)
	if frame == nil {
		return f.discard(n - len(have))
	}
	for left := n; left > 0; {
		room := frame.Room(left)
		if room == nil {
			return f.discard(left - len(have))
		}
		if len(room) == 0 || len(room) > left {
			panic(fmt.Sprintf("tcpros: LargeFrame.Room(%d) gave %d bytes", left, len(room)))
		}
		at := copy(room, have)
		have = have[at:]
		for at < len(room) {
			m, err := f.read(room[at:])
			if err != nil {
				frame.Abort()
				return err
			}
			at += m
		}
		left -= len(room)
	}
	f.inFrame = false
	f.stats.frames.Add(1)
	frame.Commit(f.received)
	return nil
}

// discard reads the last n bytes of a frame that nobody wants.
func (f *frameReader) discard(n int) error {
	for n > 0 {
		m, err := f.read(f.buf[:min(n, len(f.buf))])
		if err != nil {
			return err
		}
		n -= m
	}
	f.inFrame = false
	return nil
}

// read reads once. The deadline is set only when a frame has begun and none is
// set; it is not moved for later frames but judged when it fires, so that it costs
// at most two timer changes each stallAfter, and none on a link of whole frames.
func (f *frameReader) read(p []byte) (int, error) {
	for {
		if f.inFrame && !f.armed {
			if err := f.conn.SetReadDeadline(f.begun.Add(stallAfter)); err != nil {
				return 0, err
			}
			f.armed = true
		}
		f.stats.reading.Store(true)
		n, err := f.conn.Read(p)
		f.stats.reading.Store(false)
		if n > 0 {
			f.received = time.Now()
			f.moved += n
			f.stats.bytes.Add(uint64(n))
			return n, nil // an error beside data comes again
		}
		if err == nil {
			continue
		}
		if !f.armed || !errors.Is(err, os.ErrDeadlineExceeded) {
			if f.inFrame && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		if err := f.late(time.Now()); err != nil {
			return 0, err
		}
	}
}

// late judges a deadline that fired. A frame that is due gets a little longer
// first: the time may have gone to a sink that held us up while the rest of the
// frame waits in the socket.
func (f *frameReader) late(now time.Time) error {
	switch due := f.begun.Add(stallAfter); {
	case !f.inFrame:
		f.armed = false
		return f.conn.SetReadDeadline(time.Time{})
	case now.Before(due):
		return f.conn.SetReadDeadline(due)
	case f.moved >= stallBytes:
		f.begun, f.moved, f.graceUntil = f.received, 0, time.Time{}
		return f.conn.SetReadDeadline(f.begun.Add(stallAfter))
	case f.graceUntil.IsZero():
		f.graceUntil = now.Add(stallGrace)
		return f.conn.SetReadDeadline(f.graceUntil)
	case now.Before(f.graceUntil):
		return f.conn.SetReadDeadline(f.graceUntil)
	}
	return ErrStalled
}
