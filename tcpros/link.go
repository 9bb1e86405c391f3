package tcpros

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// AnyMD5 in a header matches every md5sum.
const AnyMD5 = "*"

const anyType = "*"

// errOpen marks an error of SubscribeOptions.Open: trouble here, not the publisher's.
var errOpen = errors.New("tcpros: link not taken")

// Waits between attempts to reach a publisher.
const (
	retryFirst   = 100 * time.Millisecond
	retryMost    = 20 * time.Second
	retrySilent  = time.Second // at most, while not even the publisher's machine answers
	retryJitter  = 0.2
	retryHealthy = 10 * time.Second // a link that lived this long starts over at retryFirst
	retryQuietly = 3                // refused connections in a row before it is worth a warning
)

// backoff doubles a wait and varies it, so that many nodes do not return in step.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

func (b *backoff) wait(most time.Duration) time.Duration {
	b.next = min(max(b.next, retryFirst), most)
	d := b.next
	b.next = min(2*d, retryMost)
	return time.Duration(float64(d) * (1 + retryJitter*(2*rand.Float64()-1))) //nolint:gosec // jitter
}

// inLink is the link to one publisher, kept up as long as the publisher is listed.
type inLink struct {
	sub      *Subscription
	uri      string // the publisher's slave API
	hostport string // of uri
	id       int
	run      func() // the link's goroutine
	cancel   context.CancelFunc
	kick     chan struct{} // ends a wait between attempts

	listed atomic.Bool // by the master
	orphan atomic.Bool // listed by an earlier master only
	isUp   atomic.Bool
	title  atomic.Pointer[linkTitle] // for getBusInfo, while up
	stats  linkCounters

	// Owned by Subscription.run.
	epoch int    // of the last list that named the publisher
	quiet int    // checks without progress
	seen  uint64 // bytes at the last check

	// Owned by the link's goroutine.
	said    said
	address string // of the last answer to requestTopic
	refused int    // attempts in a row without a link
}

// linkTitle is how getBusInfo calls a link.
type linkTitle struct{ transport, text string }

func newInLink(ctx context.Context, s *Subscription, uri, hostport string) *inLink {
	l := &inLink{
		sub: s, uri: uri, hostport: hostport, id: s.node.nextLink(),
		kick: make(chan struct{}, 1),
	}
	l.listed.Store(true)
	ctx, l.cancel = context.WithCancel(ctx)
	l.run = func() {
		defer l.cancel()
		l.keepUp(ctx)
	}
	return l
}

// left reports whether the current master does not list the publisher.
func (l *inLink) left(epoch int) bool { return !l.listed.Load() || l.epoch != epoch }

func (l *inLink) kickOff() {
	select {
	case l.kick <- struct{}{}:
	default: // one is pending
	}
}

// keepUp connects again and again until the publisher is no longer listed.
func (l *inLink) keepUp(ctx context.Context) {
	var b backoff
	for ctx.Err() == nil && l.listed.Load() {
		select {
		case <-l.kick: // older than this attempt
		default:
		}
		lived, err := l.session(ctx)
		if lived >= retryHealthy {
			b.reset()
		}
		if ctx.Err() != nil || !l.listed.Load() {
			return
		}
		most := retryMost
		if unanswered(err) {
			most = retrySilent
		}
		wait := b.wait(most)
		l.complain(err, lived > 0, wait)
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-l.kick:
			b.reset()
		}
		t.Stop()
	}
}

// session is one connection, from asking for the address to its end. lived is how
// long it carried messages.
func (l *inLink) session(ctx context.Context) (lived time.Duration, err error) {
	var udp *net.UDPConn
	if l.sub.opts.UDP {
		if udp, err = l.listenUDP(ctx); err != nil {
			return 0, err
		}
		defer udp.Close() //nolint:errcheck // nothing is written
		stop := context.AfterFunc(ctx, func() { _ = udp.Close() })
		defer stop()
	}
	src, address, err := l.request(ctx, udp)
	l.address = address
	if err != nil {
		return 0, err
	}
	if src != nil {
		return l.receiveUDP(ctx, udp, src)
	}
	if udp != nil {
		_ = udp.Close() // nobody sends to it
	}
	return l.receiveTCP(ctx, address)
}

// receiveTCP is one TCPROS session, from connecting to its end.
func (l *inLink) receiveTCP(ctx context.Context, address string) (lived time.Duration, err error) {
	n := l.sub.node
	conn, err := n.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // nothing is written after the header
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	setKeepAlive(conn, n.keepAlive.Load())
	header, err := l.handshake(conn)
	if err != nil {
		return 0, err
	}
	peer := conn.RemoteAddr().String()
	sink, err := l.open(peer, "TCPROS", header)
	if err != nil {
		return 0, err
	}
	r := newFrameReader(quickReads(conn), sink, int64(l.sub.opts.MaxMessageBytes), &l.stats)
	return l.carry(ctx, linkTitle{"TCPROS", linkName(conn)}, peer, sink, r.run)
}

// open asks the subscription's owner for a sink.
func (l *inLink) open(peer, transport string, h Header) (LinkSink, error) {
	sink, err := l.sub.opts.Open(LinkInfo{l.sub.topic, l.uri, peer, h, transport})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOpen, err)
	}
	return sink, nil
}

// handshake exchanges headers and checks the publisher's.
func (l *inLink) handshake(conn net.Conn) (Header, error) {
	// One absolute deadline: a peer that sends a byte now and then gains nothing.
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, err
	}
	o := l.sub.opts
	noDelay := "0"
	if o.TCPNoDelay {
		noDelay = "1"
	}
	// Always what was asked for: roscpp's wildcard decays after the first publisher,
	// and refuses a second type on the topic.
	hello := AppendHeader(nil, Header{
		{Key: "callerid", Value: l.sub.node.name},
		{Key: "md5sum", Value: o.MD5Sum},
		{Key: "tcp_nodelay", Value: noDelay},
		{Key: "topic", Value: l.sub.topic},
		{Key: "type", Value: o.Type},
	})
	if _, err := conn.Write(hello); err != nil {
		return nil, err
	}
	h, err := ReadHeader(conn)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = &HeaderError{Reason: "the publisher closed the link instead", Err: err}
		}
		return nil, err
	}
	if err := h.checkPublisher(); err != nil {
		return nil, err
	}
	return h, conn.SetDeadline(time.Time{})
}

// carry reads messages until the link ends.
func (l *inLink) carry(ctx context.Context, title linkTitle, peer string, sink LinkSink, read func() error) (time.Duration, error) {
	l.title.Store(&title)
	l.isUp.Store(true)
	l.sub.up.Add(1)
	l.refused = 0
	l.sub.log.Debug("link up", zap.String("publisher", l.uri), zap.String("peer", peer), zap.String("transport", title.transport))
	start := time.Now()
	err := read()
	lived := time.Since(start)
	l.sub.up.Add(-1)
	l.isUp.Store(false)
	if ctx.Err() != nil {
		err = nil // we closed it
	}
	sink.Closed(err)
	return max(lived, 1), err
}

// unanswered reports whether err says nothing of the publisher: no answer came, or none
// could. A network that is down comes back without a word, and nobody tells us that it
// is worth another attempt. Such attempts are few in any case: they wait to time out.
func unanswered(err error) bool {
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	if network := net.Error(nil); errors.As(err, &network) && network.Timeout() {
		return true
	}
	for _, down := range []error{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, down) {
			return true
		}
	}
	return false
}

// complain logs why an attempt ended, once a minute for each kind of trouble. A
// link that ends is no news: its node may be about to leave, and it is tried again.
func (l *inLink) complain(err error, wasUp bool, wait time.Duration) {
	var kind, text string
	resolve := (*ResolveError)(nil)
	switch {
	case errors.As(err, &resolve):
		kind = "resolve"
		text = fmt.Sprintf("cannot resolve host %q of a publisher: set ROS_HOSTNAME or ROS_IP on its machine to a name or address that is known here", resolve.Host)
	case errors.Is(err, ErrPeer):
		kind, text = "refused", "publisher refuses the link"
	case errors.Is(err, ErrHeader) && !errors.Is(err, io.EOF):
		kind, text = "header", "publisher answers no proper connection header"
	case errors.Is(err, ErrTooLarge):
		kind, text = "large", "message too large: link closed"
	case errors.Is(err, ErrStalled):
		kind, text = "stalled", "publisher stopped in the middle of a message: link closed"
	case wasUp && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)):
		l.sub.log.Debug("link ended", zap.String("publisher", l.uri), zap.Duration("retry", wait), zap.Error(err))
		return
	case wasUp:
		kind, text = "lost", "link lost"
	default:
		// A node that is killed keeps its registration: no news until it stays away.
		// Nor is it news that we take no link while we are about to end.
		if l.refused++; l.refused < retryQuietly {
			l.sub.log.Debug("no link yet", zap.String("publisher", l.uri), zap.Duration("retry", wait), zap.Error(err))
			return
		}
		kind, text = l.away(err)
	}
	if l.said.due(kind) {
		l.sub.log.Warn(text, zap.String("publisher", l.uri), zap.Duration("retry", wait), zap.Error(err))
	}
}

// away says why there is no link. A loopback address is the most common
// reason: it leads to this machine, where another node may even answer.
func (l *inLink) away(err error) (kind, text string) {
	call := (*CallError)(nil)
	switch {
	case errors.Is(err, errOpen):
		return "open", "link to a publisher not taken by this node"
	case errors.Is(err, ErrStatus):
		kind, text = "status", "publisher is listed but says that it does not offer the topic"
	case errors.As(err, &call) && call.answered:
		kind, text = "address", "publisher answers no usable TCPROS address"
	case l.orphan.Load():
		kind, text = "orphan", "publisher of an earlier master is not reached: it may be gone, or must register again"
	default:
		kind, text = "away", "publisher is listed but not reached"
	}
	for _, at := range []string{l.hostport, l.address} {
		if host, _, err := net.SplitHostPort(at); err == nil && isLoopback(host) {
			return kind, text + "; it advertises " + host + ": if it runs on another machine, set ROS_HOSTNAME or ROS_IP there"
		}
	}
	return kind, text
}
