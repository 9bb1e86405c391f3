package tcpros

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

const (
	maxPublishers = 1024   // links of one topic that are up at the same time
	lingerChecks  = 2      // checks without data before a link that the master no longer lists is closed
	orphanChecks  = 5 * 60 // checks without a link before a publisher of an earlier master is given up
)

// SubscribeOptions describe a subscription.
type SubscribeOptions struct {
	Topic           string
	Type            string // empty means "*"
	MD5Sum          string // empty means "*"
	TCPNoDelay      bool   // ask the publishers for TCP_NODELAY
	UDP             bool   // prefer UDPROS; publishers without it are received over TCPROS
	MaxMessageBytes int    // zero means 256 MiB; at most 1 000 000 000
	Priority        int    // at the master: a lower one registers first, equal ones in the order of Subscribe

	// Open is called on the link's goroutine when a publisher has accepted the link.
	// An error refuses the link; it is tried again later.
	Open func(LinkInfo) (LinkSink, error)
}

func (o SubscribeOptions) withDefaults() (SubscribeOptions, error) {
	if o.Type == "" {
		o.Type = names.AnyType
	}
	if o.MD5Sum == "" {
		o.MD5Sum = wire.AnyMD5
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = wire.DefaultMaxMessage
	}
	if err := names.CheckType(o.Type); err != nil {
		return o, err
	}
	if o.MaxMessageBytes < 0 || o.MaxMessageBytes > wire.HardMaxMessage {
		return o, fmt.Errorf("message limit of %d bytes: not in 1..%d", o.MaxMessageBytes, wire.HardMaxMessage)
	}
	if o.Open == nil {
		panic("tcpros: SubscribeOptions without Open")
	}
	return o, nil
}

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
	// Frames receives count complete frames back to back, valid during the call only.
	// received is the time at which their last byte was read from the socket. Frames may
	// block: the socket is not read in the meantime. Subscription.Close waits for it.
	Frames(run []byte, count int, received time.Time)
	// Large returns the destination of a large frame, which is read directly into it
	// instead of through the read buffer. nil refuses it: the link discards the frame.
	Large(frameBytes int) LargeFrame
	// Closed is the last call. err is nil when this side closed the link, io.EOF when
	// the publisher closed it between two messages.
	Closed(err error)
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

// Subscription receives one topic from all its publishers.
type Subscription struct {
	node  *Node
	opts  SubscribeOptions
	topic string

	attempts sync.WaitGroup // goroutines of links
	sessions atomic.Int32   // links that are up, or whose publisher is asked
	up       atomic.Int32

	// Guarded by connector.mu.
	links  []*inLink
	closed bool // no attempt starts
}

func newSubscription(n *Node, topic string, o SubscribeOptions) *Subscription {
	return &Subscription{node: n, opts: o, topic: topic}
}

// Close closes every link. When it returns, the goroutines have ended and Closed was called
// on each sink. The node unregisters the topic. A sink must not call Close.
func (s *Subscription) Close() {
	s.node.dropSubscription(s)
	s.stop()
	s.wait()
}

// stop ends all links; wait waits for their goroutines.
func (s *Subscription) stop() { s.node.connector.close(s) }

func (s *Subscription) wait() { s.attempts.Wait() }

// Topic returns the resolved name.
func (s *Subscription) Topic() string { return s.topic }

// Publishers returns the number of links that are up.
func (s *Subscription) Publishers() int { return int(s.up.Load()) }

// Registered reports whether the master has confirmed the subscription, and if so, how many
// publishers it has listed last.
func (s *Subscription) Registered() (publishers int, ok bool) {
	return s.node.reg.Registered(rosapi.Key{Name: s.topic})
}

// logger returns the node's log with the topic. It is made when it is needed: a node may have
// thousands of subscriptions that have nothing to log.
func (s *Subscription) logger() *zap.Logger { return s.node.log.With(zap.String("topic", s.topic)) }

func (s *Subscription) allLinks() []*inLink {
	s.node.connector.mu.Lock()
	defer s.node.connector.mu.Unlock()
	return slices.Clone(s.links)
}

// allUp reports whether every link is up, including links that the master no longer lists.
// It ignores publishers that have no link because of an unusable URI.
func (s *Subscription) AllUp() bool {
	s.node.connector.mu.Lock()
	defer s.node.connector.mu.Unlock()
	for _, l := range s.links {
		if !l.isUp.Load() {
			return false
		}
	}
	return true
}

// setPublishers updates the links from a list of the master.
func (s *Subscription) SetPublishers(p rosapi.Publishers) { s.node.connector.update(s, p) }

// removeLink removes a link. Called with connector.mu held.
func (s *Subscription) removeLink(l *inLink) {
	last := len(s.links) - 1
	s.links[l.place] = s.links[last]
	s.links[l.place].place = l.place
	s.links[last] = nil
	s.links = s.links[:last]
}

// NewLink returns a link to a publisher, or nil if its URI is not usable.
func (s *Subscription) newLink(uri string) *inLink {
	hostport, err := endpoint.SplitURI(uri)
	if err != nil {
		s.logger().Warn("publisher advertises an unusable URI: set ROS_HOSTNAME or ROS_IP on its machine to a name or address that is known here", zap.String("uri", uri), zap.Error(err))
		return nil
	}
	l := &inLink{sub: s, uri: uri, hostport: hostport, id: s.node.nextLink(), backoff: backoff{timing: &s.node.timing.retry}}
	l.listed.Store(true)
	return l
}
