package sublink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// The read buffer of a link and the limits of a message.
const (
	// until data come: most links of a large graph are quiet.
	firstReadBuffer = 512
	minReadBuffer   = 16 << 10
	maxReadBuffer   = 256 << 10
	// of many links, the buffer of each has a part of this: together at most twice as much while more
	// links come.
	readMemory = 16 << 20
	// the least part, in which parts are divided, too.
	leastReadBuffer = 4 << 10
	// read at most this much after a large frame: the next one is likely large, too.
	readAfterLarge = 4 << 10

	stallGrace = 2 * time.Second
)

// frameConn is the part of a connection that the reader uses.
type frameConn interface {
	Read(p []byte) (int, error)
	SetReadDeadline(t time.Time) error
}

// linkCounters are read by other goroutines while the link runs.
type linkCounters struct {
	bytes   atomic.Uint64
	frames  atomic.Uint64
	reading atomic.Bool // the link waits for the socket, not for the sink
}

// frameReader splits the byte stream of a connection into frames and passes them to a sink.
// This is the hot path: one read call, one time stamp and one call of the sink for all
// frames that the socket had, and no allocation once the buffer has grown.
//
//	buf:  [ done | r: incomplete frame ... w: | free ]
type frameReader struct {
	conn  frameConn
	sink  linksink.LinkSink
	max   int64
	stats *linkCounters
	links *endpoint.Links // share readMemory

	buf         []byte
	part        int // the largest part of readMemory since the buffer last shrank
	r, w        int
	expectLarge bool      // the last frame was large
	received    time.Time // when the last read returned
	inFrame     bool      // a frame is incomplete
	begun       time.Time // when the frame began, or when its progress was last sufficient
	progress    int       // bytes received since begun
	deadlineSet bool      // a read deadline is set; it may belong to an earlier frame
	graceUntil  time.Time // end of the grace period of a late frame; zero if there is none
}

func newFrameReader(c frameConn, s linksink.LinkSink, maxMessage int64, stats *linkCounters,
	links *endpoint.Links,
) *frameReader {
	return &frameReader{
		conn: c, sink: s, max: maxMessage, stats: stats, links: links,
		buf: make([]byte, firstReadBuffer), part: maxReadBuffer,
	}
}

// run reads until the connection ends and returns the reason.
func (f *frameReader) run() error {
	for {
		space := f.buf[f.w:]
		if f.expectLarge && len(space) > readAfterLarge {
			space = space[:readAfterLarge]
		}
		n, err := f.read(space)
		if err != nil {
			return err
		}
		f.w += n
		full := f.w == len(f.buf)
		if err := f.splitFrames(); err != nil {
			return err
		}
		f.makeRoom(full)
	}
}

// splitFrames passes all complete frames in the buffer to the sink. If the frame after them is
// large, splitFrames reads that frame, too.
func (f *frameReader) splitFrames() error {
	b := f.buf[f.r:f.w]
	end, count := 0, 0
	need := int64(0) // bytes of the incomplete frame; zero if its length is incomplete, too
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
	f.expectLarge = false
	switch {
	case need-4 > f.max:
		return &wire.TooLargeError{Bytes: need - 4, Limit: f.max}
	case need > linksink.LargeFrameBytes:
		f.markFrameBegun(count)
		return f.large(int(need))
	case f.r == f.w:
		f.r, f.w, f.inFrame = 0, 0, false
	default:
		f.markFrameBegun(count)
	}
	return nil
}

// markFrameBegun records that a frame has begun, unless it had begun before this read. ended
// is the number of frames that this read completed.
func (f *frameReader) markFrameBegun(ended int) {
	if ended > 0 || !f.inFrame {
		f.inFrame, f.begun, f.progress = true, f.received, f.w-f.r
		f.graceUntil = time.Time{}
	}
}

// makeRoom moves an incomplete frame to the front when less than half of the buffer is free
// after it, and doubles a buffer that a read has filled, or the first one. The buffer grows with
// data that has arrived, never with an announced length.
func (f *frameReader) makeRoom(full bool) {
	size, shrinks := f.bufferFor(full)
	switch {
	case size > len(f.buf) || shrinks:
		b := make([]byte, size)
		f.w = copy(b, f.buf[f.r:f.w])
		f.buf, f.r = b, 0
	case f.r > 0 && len(f.buf)-f.w < len(f.buf)/2:
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	}
}

// bufferFor returns how long the buffer may be now. Of many links, each has a part of readMemory; then a
// longer buffer is for a frame that has filled the buffer. shrinks says that the buffer is to become
// shorter: so many links have come that its part is at most half of what it was. So a buffer does not
// shrink after each long frame.
func (f *frameReader) bufferFor(full bool) (size int, shrinks bool) {
	most := min(max(readMemory/max(f.links.Now(), 1)&^(leastReadBuffer-1), leastReadBuffer), maxReadBuffer)
	switch {
	case most > f.part:
		f.part = most
	case most <= f.part/2 && f.w-f.r < most:
		if f.part = most; len(f.buf) > most {
			return most, true
		}
	}
	switch size = 2 * len(f.buf); {
	case f.w-f.r == len(f.buf):
		return max(size, min(most, minReadBuffer)), false
	case full:
		return min(max(size, minReadBuffer), most), false
	}
	return min(minReadBuffer, most), false
}

// large reads a frame of n bytes, length included, directly into the memory of the sink.
func (f *frameReader) large(n int) error {
	have := f.buf[f.r:f.w]
	f.r, f.w, f.expectLarge = 0, 0, true
	frame := linksink.LargeOf(f.sink, n)
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

// discard reads and discards the last n bytes of a frame.
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

// read reads once. It sets a deadline only while a frame is incomplete and no deadline is set. The
// deadline is not moved for later frames; checkDeadline decides when it fires. So deadlines cost at
// most two timer changes in each StallAfter, and none while each read returns complete frames.
func (f *frameReader) read(p []byte) (int, error) {
	for {
		if f.inFrame && !f.deadlineSet {
			if err := f.conn.SetReadDeadline(f.begun.Add(wire.StallAfter)); err != nil {
				return 0, err
			}
			f.deadlineSet = true
		}
		f.stats.reading.Store(true)
		n, err := f.conn.Read(p)
		f.stats.reading.Store(false)
		if n > 0 {
			f.received = time.Now()
			f.progress += n
			f.stats.bytes.Add(uint64(n))
			return n, nil // an error that comes with data is returned by the next read again
		}
		if err == nil {
			continue
		}
		if !f.deadlineSet || !errors.Is(err, os.ErrDeadlineExceeded) {
			if f.inFrame && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		if err := f.checkDeadline(time.Now()); err != nil {
			return 0, err
		}
	}
}

// checkDeadline decides what to do when a deadline fires. A late frame first gets stallGrace:
// the sink may have blocked while the rest of the frame waits in the socket.
func (f *frameReader) checkDeadline(now time.Time) error {
	switch due := f.begun.Add(wire.StallAfter); {
	case !f.inFrame:
		f.deadlineSet = false
		return f.conn.SetReadDeadline(time.Time{})
	case now.Before(due):
		return f.conn.SetReadDeadline(due)
	case f.progress >= wire.StallBytes:
		f.begun, f.progress, f.graceUntil = f.received, 0, time.Time{}
		return f.conn.SetReadDeadline(f.begun.Add(wire.StallAfter))
	case f.graceUntil.IsZero():
		f.graceUntil = now.Add(stallGrace)
		return f.conn.SetReadDeadline(f.graceUntil)
	case now.Before(f.graceUntil):
		return f.conn.SetReadDeadline(f.graceUntil)
	}
	return wire.ErrStalled
}
