// Package linksink says what receives the messages of a link, and how frames are passed to it.
//
// It knows neither connections nor the graph. Package sublink calls sinks; those who pass messages on
// from one sink to another call LargeOf and Deliver.
package linksink

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// LargeFrameBytes is the length of the longest frame that goes through the read buffer of a link. Longer
// ones are read directly into the memory of the sink, ADR 0010: a hole in a shared chunk would hold up
// all topics.
const LargeFrameBytes = 128 << 10

// LinkInfo describes a link when it opens.
type LinkInfo struct {
	Topic        string      // resolved
	PublisherURI string      // the publisher's slave API
	Peer         string      // host:port of the publisher; over UDPROS as the publisher reports it
	Header       wire.Header // the publisher's reply, every field, in wire order
	Transport    string      // TCPROS or UDPROS
}

// LinkSink receives the messages of one link. Only the link's goroutine calls it.
type LinkSink interface {
	// Frames receives count complete frames back to back, valid during the call only. received is
	// the time at which their last byte was read from the socket. Frames may block: the socket is
	// not read in the meantime. Subscription.Close waits for Frames.
	Frames(run []byte, count int, received time.Time)
	// Closed is the last call. err is nil when this side closed the link, io.EOF when
	// the publisher closed it between two messages.
	Closed(err error)
}

// LargeSink is a LinkSink that has memory for large frames. For another one the link gathers them.
type LargeSink interface {
	LinkSink
	// Large returns the destination of a large frame. The link reads the frame directly into the
	// destination instead of through the read buffer. nil makes the link discard the frame.
	Large(frameBytes int) LargeFrame
}

// LargeFrame is filled by the link: first the 4 bytes of the length, then the payload.
type LargeFrame interface {
	// Room returns a buffer of 1 to n bytes, which the link fills before the next call, or
	// nil to discard the rest of the frame; then no other call follows.
	Room(n int) []byte
	// Commit says that the frame is complete.
	Commit(received time.Time)
	// Abort says that the frame will not be completed.
	Abort()
}

// LargeOf returns the destination of a large frame for a sink: its own or, if it is no LargeSink, memory
// that grows with what arrives, and that Frames gets when it is complete. nil discards the frame.
func LargeOf(sink LinkSink, frameBytes int) LargeFrame {
	if s, ok := sink.(LargeSink); ok {
		return s.Large(frameBytes)
	}
	return &gathered{sink: sink}
}

// gathered is a large frame of a sink that has no memory for it.
type gathered struct {
	sink  LinkSink
	frame []byte
}

// Room returns as much memory as was filled before: a length that a peer announces costs nothing.
func (g *gathered) Room(n int) []byte {
	have := len(g.frame)
	n = min(n, max(have, LargeFrameBytes))
	g.frame = slices.Grow(g.frame, n)[:have+n]
	return g.frame[have:]
}

func (g *gathered) Commit(received time.Time) { g.sink.Frames(g.frame, 1, received) }
func (g *gathered) Abort()                    {}

// Deliver passes one frame to a sink as a TCPROS link does: by Frames or, if it is long, by Large.
func Deliver(sink LinkSink, frame []byte, received time.Time) {
	to, ok := sink.(LargeSink)
	if !ok || len(frame) <= LargeFrameBytes {
		sink.Frames(frame, 1, received)
		return
	}
	large := to.Large(len(frame))
	if large == nil {
		return
	}
	for len(frame) > 0 {
		room := large.Room(len(frame))
		if room == nil {
			return
		}
		frame = frame[copy(room, frame):]
	}
	large.Commit(received)
}

// LostSink is a LinkSink that counts messages lost by UDPROS. The link's goroutine calls Lost;
// -1 corrects the count for a message that arrived late.
type LostSink interface {
	LinkSink
	Lost(messages int)
}
