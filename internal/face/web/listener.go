package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Limits on connections. A held connection cannot be evicted. The limits of held connections are together
// far below addressConnections, so that there is always a connection to evict, whichever client fills the
// server.
const (
	maxConnections     = 512                             // an idle one takes 9 kB
	addressConnections = 448                             // from one address
	heldForClients     = maxWatchers + maxDownloads + 12 // authorized requests being answered
	heldForProbes      = 16                              // probes being answered

	// heldForViewers is a few more than the number of viewers that a live view accepts: a viewer too many
	// is told so, and then disconnected.
	heldForViewers = 24

	// Unfinished requests of all clients. A header of many short fields takes 20 times its
	// bytes in memory.
	maxPendingBytes = 1 << 20

	// Every connection has this time to begin its request, counted from when the server first
	// waits for it, and again to complete it. It bounds the rate of evictions, too: clients that
	// reconnect at once get addressConnections in this time, which takes a fifth of a processor.
	evictableAfter = 250 * time.Millisecond

	behindTime = 10 * time.Millisecond // to read what has arrived, before Accept looks again

	evictionLogInterval = time.Minute // between two log lines about evictions
)

// listener owns the connections that it has accepted. At a limit it evicts one for each new
// one, so that idle and slow clients cannot keep others out: the oldest connection of the address
// that is at its limit or, when all places are taken, of the address that has most. Held
// connections are spared.
//
// Age counts from accepting, and requests do not renew it: otherwise clients that repeat cheap
// requests would never be evicted, and new ones would be evicted before they have sent theirs.
// A keep-alive connection that is evicted costs its client a new one.
//
// When unfinished requests take too much memory, the connection with the largest is evicted.
type listener struct {
	net.Listener
	log     *zap.Logger
	changed chan struct{} // holds a token after a connection was closed or released
	closed  chan struct{}
	close   sync.Once

	mu       sync.Mutex
	conns    []*conn // oldest first
	held     [len(heldLimits)]int
	pending  int       // bytes of all conns
	admitAt  time.Time // of the next connection: evictions for memory are as rare as others
	evicted  int       // since the last log line
	loggedAt time.Time // of that line
}

// conn is a connection that a listener has accepted.
type conn struct {
	net.Conn
	owner   *listener
	address netip.Addr
	reading phase // of the goroutine that reads

	// Guarded by owner.mu.
	phase       phase
	evictableAt time.Time // zero before waiting
	holder      holder
	pending     int // bytes that were read, of a request that is neither held nor answered
}

// phase is how far a connection has come.
type phase int

const (
	accepted phase = iota // its goroutine has not run yet
	waiting               // for the first byte
	begun
)

// holder says why a connection must not be evicted.
type holder int

const (
	nobody holder = iota
	authorized
	prober
	viewing
)

// heldLimits says how many connections may be held by whom. Requests beyond the limit are
// served as well, and their connections remain evictable.
var heldLimits = [...]int{authorized: heldForClients, prober: heldForProbes, viewing: heldForViewers}

func newListener(ln net.Listener, log *zap.Logger) *listener {
	return &listener{Listener: ln, log: log, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Accept accepts the next connection, and makes room for it. It waits for that no longer than
// evictableAfter, unless the server is behind with reading what has arrived.
func (l *listener) Accept() (net.Conn, error) {
	next, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: next, owner: l, address: addressOf(next)}
	for {
		victim, wait := l.admit(c, time.Now())
		if victim != nil {
			_ = victim.Conn.Close() // which ends its goroutine
		}
		if wait == 0 {
			return c, nil
		}
		rest(context.Background(), wait, l.closed, l.changed)
		select {
		case <-l.closed:
			_ = next.Close()
			return nil, net.ErrClosed
		default:
		}
	}
}

// Close stops accepting. Connections remain open.
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// addressOf returns the peer's address, and of IPv6 the network: a machine has 2^64 addresses there.
func addressOf(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if address.Is6() {
		address = netip.PrefixFrom(address, 64).Masked().Addr()
	}
	return address
}

// admit adds c. It returns the connection that was evicted for it, if any, or how long to wait
// before the next attempt.
func (l *listener) admit(c *conn, now time.Time) (victim *conn, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait = l.admitAt.Sub(now); wait > 0 {
		return nil, wait
	}
	if crowd, full := l.crowd(c.address); full {
		if victim, wait = l.oldest(crowd, now); victim == nil {
			return nil, wait
		}
		l.evict(victim, now)
	}
	l.conns = append(l.conns, c)
	return victim, 0
}

// crowd returns the address that must lose a connection before one of the given address is
// admitted. If there is room for both, full is false. Called with the lock.
func (l *listener) crowd(address netip.Addr) (crowd netip.Addr, full bool) {
	ofAddress, evictable := 0, map[netip.Addr]int{}
	for _, c := range l.conns {
		if c.address == address {
			ofAddress++
		}
		if c.holder == nobody {
			evictable[c.address]++
		}
	}
	crowd = address
	if ofAddress >= addressConnections {
		return crowd, true
	}
	if len(l.conns) < maxConnections {
		return crowd, false
	}
	for _, c := range l.conns {
		if evictable[c.address] > evictable[crowd] {
			crowd = c.address
		}
	}
	return crowd, true
}

// oldest returns the oldest connection of an address that may be evicted, or how long to wait
// for one. Called with the lock.
func (l *listener) oldest(address netip.Addr, now time.Time) (victim *conn, wait time.Duration) {
	for _, c := range l.conns {
		if c.holder != nobody || c.address != address {
			continue
		}
		if c.phase == accepted {
			break // the connections behind c are younger, and not read from either
		}
		if wait = c.evictableAt.Sub(now); wait > 0 {
			return nil, wait
		}
		// When the processor is busy, the server may be late, not the client.
		if c.phase == begun || !unread(c.Conn) {
			return c, 0
		}
	}
	return nil, behindTime
}

// evict removes a connection, which the caller closes. The log says so once a minute. Called
// with the lock.
// See ADR 0053.
func (l *listener) evict(victim *conn, now time.Time) {
	l.remove(victim)
	l.evicted++
	if now.Sub(l.loggedAt) < evictionLogInterval {
		return
	}
	l.log.Warn("too many web connections: some are closed", zap.Stringer("peer", victim.RemoteAddr()),
		zap.Int("closed", l.evicted))
	l.evicted, l.loggedAt = 0, now
}

// charge accounts for bytes of an unfinished request. It returns the connection that was evicted if all
// unfinished requests together are too large: the connection with the most bytes, and of several such the
// oldest.
func (l *listener) charge(c *conn, n int) (victim *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.holder != nobody || !slices.Contains(l.conns, c) {
		return nil
	}
	c.pending += n
	l.pending += n
	if l.pending <= maxPendingBytes {
		return nil
	}
	victim = c
	for _, other := range l.conns {
		if other.pending > victim.pending {
			victim = other
		}
	}
	now := time.Now()
	l.evict(victim, now)
	if l.admitAt.Before(now) {
		l.admitAt = now
	}
	l.admitAt = l.admitAt.Add(evictableAfter / addressConnections)
	return victim
}

// settle ends the charge of a connection. Called with the lock.
func (l *listener) settle(c *conn) {
	l.pending -= c.pending
	c.pending = 0
}

// hold keeps the connection of a request from eviction until the request is answered. The
// request must have been received completely, and nothing of it be left to read. hold reports
// whether the connection is held by h.
func (l *listener) hold(r *http.Request, h holder) bool {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.holder == nobody && l.held[h] < heldLimits[h] && slices.Contains(l.conns, c) {
		c.holder = h
		l.held[h]++
		l.settle(c)
	}
	return c.holder == h
}

// holding returns a handler that holds the connections of its requests. One with a body is held
// when the body is here, by perform: until then it may be slow.
func (l *listener) holding(h holder, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Body == http.NoBody {
			l.hold(r, h)
		}
		next(w, r)
	}
}

// connKey is the context key of a request's *conn.
type connKey struct{}

// connContext is the ConnContext of the server.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// track is the ConnState of the server: it releases a connection when its request is answered.
// The handler's return would be too early, as the answer may still be in a buffer.
func (l *listener) track(c net.Conn, state http.ConnState) {
	own, ok := c.(*conn)
	if !ok || state != http.StateIdle {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(own)
	l.settle(own)
}

// release makes a connection evictable. Called with the lock.
func (l *listener) release(c *conn) {
	if c.holder != nobody {
		l.held[c.holder]--
		c.holder = nobody
		l.wake()
	}
}

// remove forgets a connection that is closed or that the caller closes. Called with the lock.
func (l *listener) remove(c *conn) {
	if i := slices.Index(l.conns, c); i >= 0 {
		l.conns = slices.Delete(l.conns, i, i+1)
		l.release(c)
		l.settle(c)
		l.wake()
	}
}

// wake makes Accept try again.
func (l *listener) wake() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Read implements net.Conn. Calls come one at a time.
func (c *conn) Read(b []byte) (int, error) {
	if c.reading == accepted {
		c.enter(waiting)
	}
	n, err := c.Conn.Read(b)
	if c.reading == waiting && n > 0 {
		c.enter(begun)
	}
	if n > 0 {
		if victim := c.owner.charge(c, n); victim != nil {
			_ = victim.Conn.Close()
		}
	}
	return n, err
}

// enter begins a phase, and the time for it.
func (c *conn) enter(p phase) {
	c.reading = p
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.phase, c.evictableAt = p, time.Now().Add(evictableAfter)
}

// Close closes the connection, and frees its place.
func (c *conn) Close() error {
	c.owner.mu.Lock()
	c.owner.remove(c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}
