package tcpros

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Timeouts of one connection attempt.
const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 10 * time.Second // for both headers, from the connection on
)

// keepAlive finds a dead peer in 11 s; stock ROS needs 150 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}

// dialer connects to peers. It has no shared state, so a slow name lookup blocks no other.
type dialer struct {
	lookup  LookupHostFunc
	timeout time.Duration // of lookup
}

// newDialer returns a dialer that finds addresses by lookup, within timeout. nil means the
// system's resolver.
func newDialer(lookup LookupHostFunc, timeout time.Duration) *dialer {
	if lookup == nil {
		lookup = systemLookup
	}
	return &dialer{lookup: lookup, timeout: timeout}
}

func systemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// resolve returns the addresses of host, IPv4 first: roscpp listens on IPv4 only
// unless ROS_IPV6 is on. The error is a *ResolveError.
func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	addrs, err := d.lookup(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("no addresses")
	}
	if err != nil {
		return nil, &ResolveError{Host: host, Err: err}
	}
	addrs = slices.Clone(addrs)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return cmp.Compare(a.BitLen(), b.BitLen()) })
	return addrs, nil
}

// DialContext resolves and connects, trying each address in turn. It has the shape
// that http.Transport asks for.
func (d *dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	var errs error
	for i, a := range addrs {
		// Share what is left of the time among the addresses that are left.
		nd := net.Dialer{KeepAlive: -1, Timeout: time.Until(deadline) / time.Duration(len(addrs)-i)}
		c, err := nd.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), port))
		if err == nil {
			return c, nil
		}
		errs = cmp.Or(errs, err) // the first error is the most useful one
	}
	return nil, errs
}

// setKeepAlive switches keepalive probes of c on or off.
func setKeepAlive(c net.Conn, on bool) {
	k := keepAlive
	k.Enable = on
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetKeepAliveConfig(k) // optional: the link works without
	}
}

// linkName describes c in the form that rosnode parses.
func linkName(c net.Conn) string {
	port, fd := "0", uintptr(0)
	if a, ok := c.LocalAddr().(*net.TCPAddr); ok {
		port = strconv.Itoa(a.Port)
	}
	if tc, ok := c.(*net.TCPConn); ok {
		if raw, err := tc.SyscallConn(); err == nil {
			_ = raw.Control(func(f uintptr) { fd = f }) // closed already: socket 0
		}
	}
	return "TCPROS connection on port " + port + " to [" + c.RemoteAddr().String() +
		" on socket " + strconv.FormatUint(uint64(fd), 10) + "]"
}
