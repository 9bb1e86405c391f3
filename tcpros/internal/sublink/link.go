package sublink

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

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// errOpen marks an error of SubscribeOptions.Open: the cause is local, not the publisher.
var errOpen = errors.New("link not taken")

// errNoFile is the reason to refuse a link for which no descriptor is left.
var errNoFile = fmt.Errorf("no file descriptor is left for it: %w", syscall.EMFILE)

// Attempts to reach a publisher; their intervals are RetryTiming.
const (
	retryJitter       = 0.2
	warnAfterFailures = 3 // failed attempts in a row before the first warning

	// a link for which no descriptor was left, but that is up this soon, was not refused.
	shortWhile = 5 * time.Second
)

// backoff doubles the wait between attempts, with jitter, so that many nodes do not
// reconnect at the same moment.
type backoff struct {
	timing *RetryTiming
	next   time.Duration
	failed int // attempts in a row
}

func (b *backoff) reset() { b.next, b.failed = 0, 0 }

func (b *backoff) wait(most time.Duration) time.Duration {
	b.failed++
	b.next = min(max(b.next, b.timing.First), most)
	d := b.next
	b.next = min(2*d, b.timing.Most)
	return time.Duration(float64(d) * (1 + retryJitter*(2*rand.Float64()-1))) //nolint:gosec // jitter
}

// link is the link to one publisher. While the publisher is listed, the link tries again whenever
// the connector starts an attempt.
type link struct {
	sub      *Subscription
	uri      string // the publisher's slave API
	hostport string // host:port of uri
	id       int

	listed atomic.Bool // by the master
	orphan atomic.Bool // listed by an earlier master, not by the present one
	isUp   atomic.Bool
	title  atomic.Pointer[linkTitle] // text for getBusInfo, while the link is up
	stats  linkCounters

	sched linkSchedule

	// Owned by the goroutine of an attempt, and between attempts by the connector.
	backoff  backoff
	address  string    // TCPROS address in the last reply to RequestTopic
	failures int       // attempts in a row without a link
	refused  bool      // Options.Refused was called
	noFileAt time.Time // when it was called because no descriptor was left; zero if that was not so
}

// linkTitle describes a link in getBusInfo.
type linkTitle struct{ transport, text string }

// failed records and logs the end of an attempt, or of a link that was up for the time of lived. It
// returns how long to wait before the next attempt.
func (l *link) failed(err error, lived time.Duration) (wait time.Duration) {
	if lived >= l.backoff.timing.Healthy {
		l.backoff.reset()
	}
	most := l.backoff.timing.Most
	if noReply(err) {
		most = l.backoff.timing.Silent
	}
	wait = l.backoff.wait(most)
	if l.listed.Load() {
		l.logFailure(err, lived > 0, wait)
		if f := l.sub.opts.Refused; f != nil && !l.refused && isRefusal(err) {
			l.refused = true
			if noFile(err) {
				l.noFileAt = time.Now()
			}
			f(l.uri, err)
		}
	}
	return wait
}

// takeBack tells the owner of the subscription, when the link is up, that descriptors were short for a
// moment only.
func (l *link) takeBack() {
	if !l.noFileAt.IsZero() && time.Since(l.noFileAt) < shortWhile {
		l.sub.opts.Refused(l.uri, nil)
	}
	l.refused, l.noFileAt = false, time.Time{}
}

// noFile reports whether err means that this process, or this machine, has no descriptor left.
func noFile(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// isRefusal reports whether err is a reason of this node, and none of the publisher.
func isRefusal(err error) bool {
	return noFile(err) || errors.Is(err, errOpen) || errors.Is(err, wire.ErrHeaderTooLong)
}

// session runs one connection, from the request for the address to its end. lived is how
// long the link was up.
func (l *link) session(ctx context.Context) (lived time.Duration, err error) {
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
		_ = udp.Close() // the publisher does not use UDPROS
	}
	return l.receiveTCP(ctx, address)
}

// receiveTCP runs one TCPROS session, from connecting to its end.
func (l *link) receiveTCP(ctx context.Context, address string) (lived time.Duration, err error) {
	n := l.sub.connector.env
	conn, err := n.Dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // nothing is written after the header
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	endpoint.SetKeepAlive(conn, n.KeepAlive())
	header, err := l.handshake(conn)
	if err != nil {
		return 0, err
	}
	l.sub.connector.reached(l)
	peer := conn.RemoteAddr().String()
	sink, err := l.open(peer, "TCPROS", header)
	if err != nil {
		return 0, err
	}
	r := newFrameReader(quickReads(conn), sink, int64(l.sub.opts.MaxMessageBytes), &l.stats, n.Links)
	return l.receive(ctx, linkTitle{"TCPROS", wire.LinkName(conn)}, peer, sink, r.run)
}

// open asks the subscription's owner for a sink.
func (l *link) open(peer, transport string, h wire.Header) (linksink.LinkSink, error) {
	sink, err := l.sub.opts.Open(linksink.LinkInfo{
		Topic: l.sub.topic, PublisherURI: l.uri, Peer: peer,
		Header: h, Transport: transport,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOpen, err)
	}
	return sink, nil
}

// handshake exchanges headers and checks the publisher's header.
func (l *link) handshake(conn net.Conn) (wire.Header, error) {
	// One absolute deadline: a peer that sends single bytes cannot extend it.
	if err := conn.SetDeadline(time.Now().Add(wire.HandshakeTimeout)); err != nil {
		return nil, err
	}
	o := l.sub.opts
	noDelay := "0"
	if o.TCPNoDelay {
		noDelay = "1"
	}
	// Send the requested type to each publisher. roscpp, in contrast, replaces its wildcard by the
	// type of the first publisher, and so refuses a second type on the topic.
	hello := wire.AppendHeader(nil, wire.Header{
		{Key: "callerid", Value: l.sub.connector.env.CallerID},
		{Key: "md5sum", Value: o.MD5Sum},
		{Key: "tcp_nodelay", Value: noDelay},
		{Key: "topic", Value: l.sub.topic},
		{Key: "type", Value: o.Type},
	})
	if _, err := conn.Write(hello); err != nil {
		return nil, err
	}
	read := l.sub.connector.env.Pending.Begin(conn, "publisher of "+l.sub.topic+" at "+l.uri)
	defer read.End() // afterwards the sink accounts for the header
	h, err := read.Header()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = &wire.HeaderError{Reason: "the publisher closed the link instead", Err: err}
		}
		return nil, err
	}
	if err := h.CheckPublisher(); err != nil {
		return nil, err
	}
	return h, conn.SetDeadline(time.Time{})
}

// receive marks the link as up and reads messages until the link ends.
func (l *link) receive(ctx context.Context, title linkTitle, peer string, sink linksink.LinkSink,
	read func() error,
) (time.Duration, error) {
	l.title.Store(&title)
	l.isUp.Store(true)
	l.sub.up.Add(1)
	l.failures = 0
	l.takeBack()
	l.sub.logger().Debug("link up", zap.String("publisher", l.uri), zap.String("peer", peer),
		zap.String("transport", title.transport))
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

// noReply reports whether err means that no reply came, or that none could come. Such an error
// says nothing about the publisher. Nothing signals that a network is up again, so these attempts
// are repeated sooner, which costs little: most of them wait for a timeout.
func noReply(err error) bool {
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	if network := net.Error(nil); errors.As(err, &network) && network.Timeout() {
		return true
	}
	for _, down := range []error{
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN,
		syscall.EADDRNOTAVAIL,
	} {
		if errors.Is(err, down) {
			return true
		}
	}
	return false
}

// logFailure logs why an attempt ended; the log counts what repeats. A link that ends is logged at
// debug level only: its node may be shutting down, and the link is retried.
func (l *link) logFailure(err error, wasUp bool, wait time.Duration) {
	var text string
	host, all := zap.Skip(), zap.Skip()
	resolve := (*endpoint.ResolveError)(nil)
	switch {
	case errors.As(err, &resolve):
		text = "cannot resolve the host of a publisher: set ROS_HOSTNAME or ROS_IP on its machine to a name or address that is known here"
		host = zap.String("host", resolve.Host)
	case noFile(err):
		text = "no file descriptor is left for a publisher: allow more open files (ulimit -n, or LimitNOFILE= of systemd)"
	case errors.Is(err, wire.ErrPeer):
		text = "publisher refuses the link"
	case errors.Is(err, wire.ErrHeader) && !errors.Is(err, io.EOF):
		text = "publisher answers no proper connection header"
	case errors.Is(err, wire.ErrTooLarge):
		text = "message too large: link closed"
	case errors.Is(err, wire.ErrStalled):
		text = "publisher stopped in the middle of a message: link closed"
	case wasUp && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET)):
		l.sub.logger().Debug("link ended", zap.String("publisher", l.uri), zap.Duration("retry", wait),
			zap.Error(err))
		return
	case wasUp:
		text = "link lost"
	default:
		// A killed node keeps its registration: warn only after repeated failures. The same
		// holds for links that Open refuses while we shut down.
		if l.failures++; l.failures < warnAfterFailures {
			l.sub.logger().Debug("no link yet", zap.String("publisher", l.uri), zap.Duration("retry", wait),
				zap.Error(err))
			return
		}
		text, host = l.explainFailure(err)
		if n := l.sub.connector.unreached(l.sub); n > 1 {
			all = zap.Int("unreached", n)
		}
	}
	l.sub.logger().Warn(text, zap.String("publisher", l.uri), host, all,
		zap.Duration("retry", wait.Round(100*time.Millisecond)), zap.Error(err))
}

// explainFailure returns the log text of a failure to connect, and the unusable host that the
// publisher advertises, if there is one. The most common reason is a loopback address: it leads to
// this machine, where another node may answer. If this node advertises loopback itself, the whole
// graph is on this machine, and the address is right.
func (l *link) explainFailure(err error) (text string, host zap.Field) {
	call := (*rosapi.CallError)(nil)
	switch {
	case errors.Is(err, errOpen):
		return "link to a publisher not taken by this node", zap.Skip()
	case errors.Is(err, rosapi.ErrStatus):
		text = "publisher is listed but says that it does not offer the topic"
	case errors.As(err, &call) && call.Answered:
		text = "publisher answers no usable TCPROS address"
	case l.orphan.Load():
		text = "publisher of an earlier master is not reached: it may be gone, or must register again"
	default:
		text = unreached
	}
	for _, at := range []string{l.hostport, l.address} {
		if host, _, err := net.SplitHostPort(at); err == nil && endpoint.IsLoopback(host) &&
			!endpoint.IsLoopback(l.sub.connector.env.Host) {
			return text + "; it advertises a loopback address: if it runs on another machine, set ROS_HOSTNAME or ROS_IP there", zap.String("host", host)
		}
	}
	if text == unreached {
		text += ": its node may have died, rosnode cleanup removes the nodes that have"
	}
	return text, zap.Skip()
}

// unreached is the text about a publisher that does not answer.
const unreached = "publisher is listed but not reached"
