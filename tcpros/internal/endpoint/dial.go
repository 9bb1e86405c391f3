package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// DialTimeout bounds one attempt to connect, over all addresses of a host.
const DialTimeout = 5 * time.Second

// keepAlive finds a dead peer in 11 s; stock ROS needs 150 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}

// Dialer connects to peers. It has no shared state, so a slow name lookup blocks no other.
type Dialer struct {
	lookup  LookupHostFunc
	timeout time.Duration // bounds lookup
}

// NewDialer returns a dialer that finds addresses by lookup, within timeout. A nil lookup means the
// system's resolver.
func NewDialer(lookup LookupHostFunc, timeout time.Duration) *Dialer {
	if lookup == nil {
		lookup = systemLookup
	}
	return &Dialer{lookup: lookup, timeout: timeout}
}

func systemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// Resolve returns the addresses of host, IPv4 first: roscpp listens on IPv4 only
// unless ROS_IPV6 is on. The error is a *ResolveError.
func (d *Dialer) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
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

// DialContext resolves and connects, trying each address in turn. http.Transport can call it.
func (d *Dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.Resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	var errs error
	for i, a := range addrs {
		// Divide the remaining time among the remaining addresses.
		nd := net.Dialer{KeepAlive: -1, Timeout: time.Until(deadline) / time.Duration(len(addrs)-i)}
		c, err := nd.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), port))
		if err == nil {
			return c, nil
		}
		errs = cmp.Or(errs, err) // the first error is the most useful one
	}
	return nil, errs
}

// SetKeepAlive switches keepalive probes of c on or off.
func SetKeepAlive(c net.Conn, on bool) {
	k := keepAlive
	k.Enable = on
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetKeepAliveConfig(k) // optional: the link works without keepalive probes
	}
}

// LookupHostFunc finds the addresses of a host name.
type LookupHostFunc func(ctx context.Context, host string) ([]netip.Addr, error)

// ErrUnresolved matches every *ResolveError.
var ErrUnresolved = errors.New("host name not resolved")

// ResolveError says that a host name that a peer advertises has no address here.
type ResolveError struct {
	Host string
	Err  error
}

// Error implements error.
func (e *ResolveError) Error() string {
	if dns := (*net.DNSError)(nil); errors.As(e.Err, &dns) {
		return xmlrpc.Reason(dns)
	}
	return fmt.Sprintf("host %q has no address here: %v", e.Host, e.Err)
}

// Is reports whether target is ErrUnresolved.
func (e *ResolveError) Is(target error) bool { return target == ErrUnresolved }

// Unwrap returns the resolver's error.
func (e *ResolveError) Unwrap() error { return e.Err }

// SourceAddr returns the source address of packets to hostport. Connecting a UDP socket sends
// nothing.
func (d *Dialer) SourceAddr(ctx context.Context, hostport string) netip.Addr {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return netip.Addr{}
	}
	addrs, err := d.Resolve(ctx, host)
	if err != nil {
		return netip.Addr{}
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(addrs[0].String(), port))
	if err != nil {
		return netip.Addr{}
	}
	defer c.Close() //nolint:errcheck // nothing was sent
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
}
