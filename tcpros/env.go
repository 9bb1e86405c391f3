package tcpros

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

const defaultMasterURI = "http://localhost:11311"

// masterURI picks the master's URI and returns it with its host:port.
func masterURI(o NodeOptions, getenv func(string) string) (uri, hostport string, err error) {
	uri = defaultMasterURI
	for _, u := range []string{o.MasterURI, o.Args.MasterURI, getenv("ROS_MASTER_URI")} {
		if u != "" {
			uri = u
			break
		}
	}
	hostport, err = splitURI(uri)
	if err != nil {
		return "", "", fmt.Errorf("tcpros: master URI %q: %w", uri, err)
	}
	return uri, hostport, nil
}

// splitURI returns host:port of an http URI.
func splitURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	if u.Scheme != "http" || u.Hostname() == "" || u.Port() == "" {
		return "", fmt.Errorf("not of the form http://host:port")
	}
	return u.Host, nil
}

// splitServiceURI returns the host and port of rosrpc://host:port.
func splitServiceURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	if u.Scheme != "rosrpc" || u.Hostname() == "" || u.Port() == "" {
		return "", fmt.Errorf("registered as %q, not as rosrpc://host:port", clip(uri))
	}
	return u.Host, nil
}

// place is where a node listens and under which host others find it.
type place struct {
	host string // advertised
	bind string // address to listen on; empty means all
	why  string // reason for bind, for the log

	hidden bool // on loopback by default, not by the user's choice
}

// locator finds a node's place. Its functions are the machine's, or a test's.
type locator struct {
	getenv   func(string) string
	hostname func() (string, error)
	local    func() []netip.Addr // addresses of this machine's interfaces
	lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	toward   func(ctx context.Context, hostport string) netip.Addr // source address; zero if unknown
}

func newLocator(d *dialer, getenv func(string) string) *locator {
	return &locator{getenv: getenv, hostname: os.Hostname, local: interfaceAddrs, lookup: d.resolve, toward: d.sourceAddr}
}

// find applies roscpp's order for the advertised host, and listens on no more than
// that host: whoever reaches the node must reach it under the advertised name.
func (l *locator) find(ctx context.Context, o NodeOptions, master string) place {
	host, explicit := l.advertised(o.Args)
	masterHost, _, _ := net.SplitHostPort(master)
	switch ip, err := netip.ParseAddr(host); {
	case o.Bind != "":
		if b, err := netip.ParseAddr(o.Bind); err == nil && !b.IsUnspecified() && !explicit {
			host = o.Bind
		}
		return place{host, o.Bind, "as asked", false}
	case !explicit && isLoopback(masterHost):
		// roscore listens on every address, so that nodes of other machines may know such
		// a master too. But it is mostly used alone, and an open port is to be asked for.
		lo := loopbackOf(masterHost)
		return place{lo, lo, "the master is on loopback; ROS_IP, ROS_HOSTNAME or a bind address open it", true}
	case host == "localhost":
		return place{host, "127.0.0.1", "the advertised host is localhost", false}
	case err == nil && (ip.IsLoopback() || slices.Contains(l.local(), ip.Unmap())):
		return place{host, host, "it is the advertised address", false}
	case err == nil:
		return place{host, "", "the advertised address is not of this machine", false}
	}
	return l.byName(ctx, host, explicit, master, isLoopback(masterHost))
}

// byName listens on the address of an advertised host name, but only if peers
// cannot have another idea of that name.
func (l *locator) byName(ctx context.Context, host string, explicit bool, master string, onLoopback bool) place {
	addrs, err := l.lookup(ctx, host)
	if err != nil || len(addrs) != 1 {
		return place{host, "", "the advertised host name does not stand for one address here", false}
	}
	a := addrs[0]
	switch {
	case a.IsLoopback() && !onLoopback:
		// Debian lets a machine's own name be 127.0.1.1; others see the real address.
		return place{host, "", "the advertised host name is on loopback here only", false}
	case a.IsLoopback():
	case !slices.Contains(l.local(), a):
		return place{host, "", "the advertised host name is no address of this machine", false}
	case !explicit && l.toward(ctx, master) != a:
		return place{host, "", "the advertised host name is not the address toward the master", false}
	}
	return place{host, a.String(), "the advertised host name stands for it", false}
}

// advertised returns the host that others are told. explicit says that the user
// chose it. Empty variables count as unset; roscpp warns and advertises nothing.
func (l *locator) advertised(a Args) (host string, explicit bool) {
	for _, h := range []string{a.Hostname, a.IP, l.getenv("ROS_HOSTNAME"), l.getenv("ROS_IP")} {
		if h != "" {
			return h, true
		}
	}
	if h, err := l.hostname(); err == nil && h != "" && h != "localhost" {
		return h, false
	}
	var private string
	for _, ip := range l.local() {
		switch {
		case ip.IsLoopback() || ip.IsLinkLocalUnicast():
		case ip.Is4() && !ip.IsPrivate():
			return ip.String(), false
		case private == "":
			private = ip.String()
		}
	}
	if private != "" {
		return private, false
	}
	return "127.0.0.1", false
}

// checkHost refuses what cannot stand in a URI. The host goes to the master and to
// every peer, partly through encoders that escape nothing.
func checkHost(host string) error {
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>&"'/\?#@[]%`, r) }) {
		return fmt.Errorf("tcpros: advertised host %q: not a host name or address", host)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// loopbackOf returns the loopback address that a node beside such a master uses.
// Never "localhost": some resolvers give ::1 first, and roscpp knows IPv4 only.
func loopbackOf(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() && !ip.Is4In6() {
		return host
	}
	return "127.0.0.1"
}

func interfaceAddrs() []netip.Addr {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, ip.Unmap())
			}
		}
	}
	return out
}

// sourceAddr returns the address that packets to hostport come from. Connecting a
// UDP socket sends nothing.
func (d *dialer) sourceAddr(ctx context.Context, hostport string) netip.Addr {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return netip.Addr{}
	}
	addrs, err := d.resolve(ctx, host)
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
