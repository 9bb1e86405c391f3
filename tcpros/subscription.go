package tcpros

import "time"

// SubscribeOptions say what to receive and where to.
type SubscribeOptions struct {
	Topic           string
	Type            string // empty means "*"
	MD5Sum          string // empty means "*"
	TCPNoDelay      bool   // ask the publishers for TCP_NODELAY
	MaxMessageBytes int    // zero means 256 MiB; at most 1 000 000 000

	// Open is called on the link's goroutine when a publisher has accepted the link.
	// An error refuses the link; it is tried again later.
	Open func(LinkInfo) (LinkSink, error)
}

// LinkInfo describes a link when it opens.
type LinkInfo struct {
	Topic        string // resolved
	PublisherURI string // the publisher's slave API
	Peer         string // host:port of the TCP connection
	Header       Header // the publisher's reply, every field, in wire order
}

// LinkSink takes the messages of one link. It is called from the link's goroutine
// only, one call at a time.
type LinkSink interface {
	// Frames takes count whole frames back to back, valid during the call only.
	// received is when the last byte of them was read from the socket. It may block:
	// the socket is not read meanwhile.
	Frames(run []byte, count int, received time.Time)
	// Large takes a frame too big for the read buffer. nil refuses it: the link reads
	// and discards the frame.
	Large(frameBytes int) LargeFrame
	// Closed is the last call. err is nil when this side closed the link.
	Closed(err error)
}

// LargeFrame is filled by the link: first the 4 bytes of the length, then the payload.
type LargeFrame interface {
	// Room returns 1 to n bytes to be filled wholly before the next call.
	Room(n int) []byte
	// Commit says that the frame is complete.
	Commit(received time.Time)
	// Abort says that the frame will not be completed.
	Abort()
}

// Subscription receives one topic from all its publishers.
type Subscription struct{}

// Close ends every link; the goroutines have ended and Closed was called on each
// sink when it returns. Unregistering is left to the node.
func (s *Subscription) Close() { panic("tcpros: not yet") }

// Topic returns the resolved name.
func (s *Subscription) Topic() string { panic("tcpros: not yet") }

// Publishers returns the number of links that are up.
func (s *Subscription) Publishers() int { panic("tcpros: not yet") }
