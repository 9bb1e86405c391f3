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
	maxPublishers = 1024   // of one topic; a link each
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
		return o, fmt.Errorf("message limit of %d bytes: not in 1..%d", o.MaxMessageBytes, hardMaxMessage)
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
	Peer         string // host:port of the publisher; over UDPROS as the publisher reports it
	Header       Header // the publisher's reply, every field, in wire order
	Transport    string // TCPROS or UDPROS
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
	log   *zap.Logger

	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
	wake   chan struct{}
	up     atomic.Int32

	mu    sync.Mutex
	list  *publishers        // not processed by run yet
	ended []*inLink          // links whose goroutines have ended
	links map[string]*inLink // by slave URI; written by run only
}

func newSubscription(n *Node, topic string, o SubscribeOptions) *Subscription {
	return &Subscription{
		node: n, opts: o, topic: topic, log: n.log.With(zap.String("topic", topic)),
		done: make(chan struct{}), wake: make(chan struct{}, 1), links: map[string]*inLink{},
	}
}

// Close closes every link. When it returns, the goroutines have ended and Closed was called
// on each sink. The node unregisters the topic. A sink must not call Close.
func (s *Subscription) Close() {
	s.node.dropSubscription(s)
	s.cancel()
	<-s.done
}

// Topic returns the resolved name.
func (s *Subscription) Topic() string { return s.topic }

// Publishers returns the number of links that are up.
func (s *Subscription) Publishers() int { return int(s.up.Load()) }

// Registered reports whether the master has confirmed the subscription, and if so, how many
// publishers it has listed last.
func (s *Subscription) Registered() (publishers int, ok bool) {
	return s.node.reg.registered(regKey{name: s.topic})
}

func (s *Subscription) allLinks() []*inLink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.links))
}

// allUp reports whether every link is up, including links that the master no longer lists.
// It ignores publishers that have no link because of an unusable URI.
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

// setPublishers passes a new list to run. It replaces a list that run has not processed yet.
func (s *Subscription) setPublishers(p publishers) {
	s.mu.Lock()
	if s.list != nil && s.list.retryNow {
		p.retryNow = true
	}
	s.list = &p
	s.mu.Unlock()
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake already
	}
}

// run starts and closes links according to the master's lists.
func (s *Subscription) run(ctx context.Context) {
	defer close(s.done)
	var wg sync.WaitGroup
	defer wg.Wait()
	var last publishers
	check := time.NewTicker(s.node.timing.lingerCheck)
	defer check.Stop()
	for {
		var tick <-chan time.Time
		if s.anyUnlisted(last.epoch) {
			tick = check.C
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
			s.dropUnlisted(last.epoch)
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
		started := s.updateLinks(ctx, last)
		s.mu.Unlock()
		last.retryNow = false
		for _, l := range started {
			// owner: run; ends when its publisher is no longer listed, or with ctx.
			wg.Go(func() {
				l.run()
				s.mu.Lock()
				s.ended = append(s.ended, l)
				s.mu.Unlock()
				s.signal()
			})
		}
	}
}

// updateLinks updates the links from a list and returns the new ones. Called with s.mu held.
func (s *Subscription) updateLinks(ctx context.Context, p publishers) (started []*inLink) {
	for _, uri := range p.uris {
		if l := s.links[uri]; l != nil {
			l.listed.Store(true)
			l.orphan.Store(false)
			l.epoch, l.idleChecks = p.epoch, 0
			if p.retryNow {
				l.triggerRetry()
			}
			continue
		}
		if len(s.links) >= maxPublishers {
			s.log.Warn("too many publishers: not all are connected to", zap.Int("limit", maxPublishers))
			break
		}
		hostport, err := splitURI(uri)
		if err != nil {
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
		// A publisher that the same master has listed before is gone. Its link is read to the
		// end; stock closes it and loses the messages in transit. A restarted master does not
		// know a publisher until that registers again, which most never do: such links stay.
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

// anyUnlisted reports whether there are links to publishers that the master does not list.
func (s *Subscription) anyUnlisted(epoch int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		if l.unlisted(epoch) {
			return true
		}
	}
	return false
}

// dropUnlisted closes unlisted links that have been idle for long enough.
func (s *Subscription) dropUnlisted(epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		if !l.unlisted(epoch) {
			continue
		}
		most := orphanChecks
		moved := l.isUp.Load()
		if !l.listed.Load() {
			most = lingerChecks
			// A link that waits for its sink is not idle: data may wait in the socket, and
			// closing the link would lose it.
			b := l.stats.bytes.Load()
			moved = b != l.lastBytes || l.isUp.Load() && !l.stats.reading.Load()
			l.lastBytes = b
		}
		if moved {
			l.idleChecks = 0
		} else if l.idleChecks++; l.idleChecks >= most {
			l.listed.Store(false)
			l.cancel()
		}
	}
}
