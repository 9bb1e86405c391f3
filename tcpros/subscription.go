package tcpros

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	maxPublishers = 1024        // of one topic; a link each
	lingerCheck   = time.Second // how often links that the master no longer lists are looked at
	lingerQuiet   = 2           // checks without data until such a link is closed
	orphanChecks  = 5 * 60      // checks without a link until a publisher of an earlier master is given up
)

// SubscribeOptions say what to receive and where to.
type SubscribeOptions struct {
	Topic           string
	Type            string // empty means "*"
	MD5Sum          string // empty means "*"
	TCPNoDelay      bool   // ask the publishers for TCP_NODELAY
	UDP             bool   // ask for UDPROS first; publishers that have none are received over TCPROS
	MaxMessageBytes int    // zero means 256 MiB; at most 1 000 000 000

	// Open is called on the link's goroutine when a publisher has accepted the link.
	// An error refuses the link; it is tried again later.
	Open func(LinkInfo) (LinkSink, error)
}

func (o SubscribeOptions) withDefaults() (SubscribeOptions, error) {
	if o.Type == "" {
		o.Type = anyType
	}
	if o.MD5Sum == "" {
		o.MD5Sum = AnyMD5
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = defaultMaxMessage
	}
	if err := checkType(o.Type); err != nil {
		return o, err
	}
	if o.MaxMessageBytes < 0 || o.MaxMessageBytes > hardMaxMessage {
		return o, fmt.Errorf("tcpros: message limit of %d bytes: not in 1..%d", o.MaxMessageBytes, hardMaxMessage)
	}
	if o.Open == nil {
		panic("tcpros: SubscribeOptions without Open")
	}
	return o, nil
}

// LinkInfo describes a link when it opens.
type LinkInfo struct {
	Topic        string // resolved
	PublisherURI string // the publisher's slave API
	Peer         string // host:port that the publisher sends from; over UDPROS the one that it names
	Header       Header // the publisher's reply, every field, in wire order
	Transport    string // TCPROS or UDPROS
}

// LinkSink takes the messages of one link. It is called from the link's goroutine
// only, one call at a time.
type LinkSink interface {
	// Frames takes count whole frames back to back, valid during the call only.
	// received is when the last byte of them was read from the socket. It may block:
	// the socket is not read meanwhile. Subscription.Close waits for it.
	Frames(run []byte, count int, received time.Time)
	// Large takes a frame that is better read straight into its place than through
	// the read buffer. nil refuses it: the link reads and discards the frame.
	Large(frameBytes int) LargeFrame
	// Closed is the last call. err is nil when this side closed the link, io.EOF when
	// the publisher closed it between two messages.
	Closed(err error)
}

// LargeFrame is filled by the link: first the 4 bytes of the length, then the payload.
type LargeFrame interface {
	// Room returns 1 to n bytes to be filled wholly before the next call, or nil to
	// give the frame up: the rest is read and discarded, and no other call follows.
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
	log   *zap.Logger

	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
	wake   chan struct{}
	up     atomic.Int32

	said said

	mu    sync.Mutex
	list  *publishers        // not yet taken by run
	ended []*inLink          // goroutines that have ended
	links map[string]*inLink // by slave URI; written by run only
}

func newSubscription(n *Node, topic string, o SubscribeOptions) *Subscription {
	return &Subscription{
		node: n, opts: o, topic: topic, log: n.log.With(zap.String("topic", topic)),
		done: make(chan struct{}), wake: make(chan struct{}, 1), links: map[string]*inLink{},
	}
}

// Close ends every link; the goroutines have ended and Closed was called on each
// sink when it returns. Unregistering is left to the node. A sink must not call it.
func (s *Subscription) Close() {
	s.node.dropSubscription(s)
	s.cancel()
	<-s.done
}

// Topic returns the resolved name.
func (s *Subscription) Topic() string { return s.topic }

// Publishers returns the number of links that are up.
func (s *Subscription) Publishers() int { return int(s.up.Load()) }

func (s *Subscription) allLinks() []*inLink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.links))
}

// allUp reports whether every link is up, those included that the master does not
// list any more. A publisher without a link, its URI being unusable, does not count.
func (s *Subscription) allUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		if !l.isUp.Load() {
			return false
		}
	}
	return true
}

// setPublishers gives run a new list, in place of one that it has not taken yet.
func (s *Subscription) setPublishers(p publishers) {
	s.mu.Lock()
	if s.list != nil && s.list.fresh {
		p.fresh = true
	}
	s.list = &p
	s.mu.Unlock()
	s.poke()
}

func (s *Subscription) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake already
	}
}

// run starts and ends the links as the master's lists say.
func (s *Subscription) run(ctx context.Context) {
	defer close(s.done)
	var wg sync.WaitGroup
	defer wg.Wait()
	var last publishers
	check := time.NewTicker(lingerCheck)
	defer check.Stop()
	for {
		var tick <-chan time.Time
		if s.anyLeft(last.epoch) {
			tick = check.C
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
			s.dropLeft(last.epoch)
			continue
		case <-s.wake:
		}
		s.mu.Lock()
		if s.list != nil {
			last, s.list = *s.list, nil
		}
		for _, l := range s.ended {
			if s.links[l.uri] == l {
				delete(s.links, l.uri)
			}
		}
		s.ended = nil
		started := s.adopt(ctx, last)
		s.mu.Unlock()
		last.fresh = false
		for _, l := range started {
			// owner: run; ends when its publisher is no longer wanted.
			wg.Go(func() {
				l.run()
				s.mu.Lock()
				s.ended = append(s.ended, l)
				s.mu.Unlock()
				s.poke()
			})
		}
	}
}

// adopt compares the links with a list and returns the new ones. Called with s.mu held.
func (s *Subscription) adopt(ctx context.Context, p publishers) (started []*inLink) {
	for _, uri := range p.uris {
		if l := s.links[uri]; l != nil {
			l.listed.Store(true)
			l.orphan.Store(false)
			l.epoch, l.quiet = p.epoch, 0
			if p.fresh {
				l.kickOff()
			}
			continue
		}
		if len(s.links) >= maxPublishers {
			if s.said.due("many") {
				s.log.Warn("too many publishers: not all are connected to", zap.Int("limit", maxPublishers))
			}
			break
		}
		hostport, err := splitURI(uri)
		if err != nil {
			if !s.said.due("uri " + uri) {
				continue
			}
			s.log.Warn("publisher advertises an unusable URI: set ROS_HOSTNAME or ROS_IP on its machine to a name or address that is known here", zap.String("uri", uri), zap.Error(err))
			continue
		}
		l := newInLink(ctx, s, uri, hostport)
		l.epoch = p.epoch
		s.links[uri] = l
		started = append(started, l)
	}
	for uri, l := range s.links {
		if slices.Contains(p.uris, uri) {
			continue
		}
		// A publisher that this very master has listed and lists no more is gone. Its
		// link is read to the end: stock drops it, and with it what is still under way.
		// A master that restarted knows no publisher until it registers again, which
		// most never do: their links live on.
		if l.epoch == p.epoch {
			l.listed.Store(false)
			if !l.isUp.Load() {
				l.cancel()
			}
		} else if l.listed.Load() {
			l.orphan.Store(true)
		}
	}
	return started
}

// anyLeft reports whether there are links to publishers that the master does not list.
func (s *Subscription) anyLeft(epoch int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		if l.left(epoch) {
			return true
		}
	}
	return false
}

// dropLeft ends those links that have been quiet for long enough.
func (s *Subscription) dropLeft(epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		if !l.left(epoch) {
			continue
		}
		most := orphanChecks
		moved := l.isUp.Load()
		if !l.listed.Load() {
			most = lingerQuiet
			// A link whose sink holds it up says nothing about the publisher: only an empty
			// socket counts as quiet, or what waits in it would be lost.
			b := l.stats.bytes.Load()
			moved = b != l.seen || l.isUp.Load() && !l.stats.reading.Load()
			l.seen = b
		}
		if moved {
			l.quiet = 0
		} else if l.quiet++; l.quiet >= most {
			l.listed.Store(false)
			l.cancel()
		}
	}
}
