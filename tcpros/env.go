package tcpros

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

const defaultMasterURI = "http://localhost:11311"

// masterURI returns the master's URI and its host:port: explicit, if that is set, or else what
// the arguments and then the environment say.
func masterURI(explicit string, a names.Args, getenv func(string) string) (uri, hostport string, err error) {
	uri, from := defaultMasterURI, ""
	for _, u := range []struct{ from, uri string }{
		{"the master URI", explicit}, {"__master:=", a.MasterURI}, {"ROS_MASTER_URI", getenv("ROS_MASTER_URI")},
	} {
		if u.uri != "" {
			uri, from = u.uri, u.from
			break
		}
	}
	hostport, err = splitURI(uri)
	if err != nil {
		return "", "", fmt.Errorf("%s %q: %s", from, uri, masterURIHint(uri))
	}
	return uri, hostport, nil
}

// CheckMasterURI returns why the URI of a master cannot be used, and what to write instead, without
// the URI itself.
func CheckMasterURI(uri string) error {
	if _, err := splitURI(uri); err != nil {
		return errors.New(masterURIHint(uri))
	}
	return nil
}

// masterURIHint says what is wrong with a master's URI, and what is meant, if that is likely.
func masterURIHint(uri string) string {
	const form, port = "want http://HOST:PORT", ":11311"
	rest, plain := strings.CutPrefix(uri, "http://")
	for _, scheme := range []string{"https://", "rosrpc://"} {
		if host, ok := strings.CutPrefix(uri, scheme); ok {
			return form + ", not " + scheme + ": write http://" + host
		}
	}
	host, _, err := net.SplitHostPort(strings.TrimSuffix(rest, "/"))
	switch {
	case err != nil && strings.Contains(err.Error(), "missing port"):
		fixed := "http://" + strings.TrimSuffix(rest, "/") + port
		if _, err := splitURI(fixed); err == nil {
			return form + ": write " + fixed
		}
	case err == nil && host != "" && !plain:
		if _, err := splitURI("http://" + rest); err == nil {
			return form + ": http:// is missing: write http://" + rest
		}
	}
	return form + ", such as http://localhost" + port
}

// splitURI returns host:port of an http URI.
func splitURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); u.Scheme != "http" || u.Hostname() == "" || err != nil {
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
		return "", fmt.Errorf("registered as %q, not as rosrpc://host:port", names.Clip(uri))
	}
	return u.Host, nil
}

// endpoint is the address that a node listens on and the host that it advertises.
type endpoint struct {
	host   string // advertised
	bind   string // address to listen on; empty means all
	reason string // reason for bind, for the log

	loopbackDefault bool // on loopback because of the master, not by the user's choice
	unresolved      bool // the user chose a name that this machine cannot resolve
	foreign         bool // the user chose an address, or a name of one, that this machine does not have
}

// locator determines a node's endpoint. Tests replace its functions.
type locator struct {
	getenv     func(string) string
	hostname   func() (string, error)
	local      func() []netip.Addr // addresses of this machine's interfaces
	lookup     func(ctx context.Context, host string) ([]netip.Addr, error)
	sourceAddr func(ctx context.Context, hostport string) netip.Addr // source address; zero if unknown
}

func newLocator(d *dialer, getenv func(string) string) *locator {
	return &locator{getenv: getenv, hostname: os.Hostname, local: interfaceAddrs, lookup: d.resolve, sourceAddr: d.sourceAddr}
}

// find determines the advertised host in roscpp's order. The node listens on the address of
// that host only, because peers connect to the advertised host; bind, if it is not empty, is
// the address that the user wants to listen on. master is host:port.
func (l *locator) find(ctx context.Context, bind string, a names.Args, master string) endpoint {
	host, explicit := l.advertised(a)
	e := l.choose(ctx, bind, master, host, explicit)
	if ip, err := netip.ParseAddr(host); err == nil && explicit {
		e.foreign = !l.has(ip)
	}
	return e
}

// has reports whether ip is an address of this machine.
func (l *locator) has(ip netip.Addr) bool {
	return ip.IsLoopback() || slices.Contains(l.local(), ip.Unmap())
}

// choose is find for a host to advertise.
func (l *locator) choose(ctx context.Context, bind, master, host string, explicit bool) endpoint {
	masterHost, _, _ := net.SplitHostPort(master)
	switch ip, err := netip.ParseAddr(host); {
	case bind != "":
		if b, err := netip.ParseAddr(bind); err == nil && !b.IsUnspecified() && !explicit {
			host = bind
		}
		return endpoint{host: host, bind: bind, reason: "as asked"}
	case !explicit && isLoopback(masterHost):
		// roscore listens on every address, so nodes on other machines may use such a master,
		// too. But mostly there are none, and a port that is open to others must be requested.
		lo := loopbackOf(masterHost)
		return endpoint{host: lo, bind: lo, reason: "the master is on loopback; ROS_IP, ROS_HOSTNAME or a bind address open it", loopbackDefault: true}
	case host == "localhost":
		return endpoint{host: host, bind: "127.0.0.1", reason: "the advertised host is localhost"}
	case err == nil && l.has(ip):
		return endpoint{host: host, bind: host, reason: "it is the advertised address"}
	case err == nil:
		return endpoint{host: host, reason: "the advertised address is not of this machine"}
	}
	return l.byName(ctx, host, explicit, master, isLoopback(masterHost))
}

// byName returns the endpoint for an advertised host name. It binds to the address of that
// name only if peers must resolve the name to the same address.
func (l *locator) byName(ctx context.Context, host string, explicit bool, master string, onLoopback bool) endpoint {
	addrs, err := l.lookup(ctx, host)
	if err != nil || len(addrs) != 1 {
		return endpoint{host: host, reason: "the advertised host name does not stand for one address here", unresolved: err != nil && explicit}
	}
	a := addrs[0]
	switch {
	case a.IsLoopback() && !onLoopback:
		// Debian lets a machine's own name be 127.0.1.1; others see the real address.
		return endpoint{host: host, reason: "the advertised host name is on loopback here only"}
	case a.IsLoopback():
	case !l.has(a):
		return endpoint{host: host, reason: "the advertised host name is no address of this machine", foreign: explicit}
	case !explicit && l.sourceAddr(ctx, master) != a:
		return endpoint{host: host, reason: "the advertised host name is not the address toward the master"}
	}
	return endpoint{host: host, bind: a.String(), reason: "the advertised host name stands for it"}
}

// advertised returns the host to advertise. explicit reports that the user chose it. Empty
// variables count as unset; roscpp warns and advertises an empty host.
func (l *locator) advertised(a names.Args) (host string, explicit bool) {
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

// checkHost refuses a host that is invalid in a URI. The host is sent to the master and to
// every peer, partly through encoders that do not escape.
func checkHost(host string) error {
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>&"'/\?#@[]%`, r) }) {
		return fmt.Errorf("advertised host %q: not a host name or address: correct ROS_HOSTNAME or ROS_IP", host)
	}
	return nil
}

// CheckHost returns why a host cannot be advertised to other nodes, without the host itself. Whether
// its name can be resolved is not asked.
func CheckHost(host string) error {
	const want = "want the name of this machine, such as robot7, or its address, such as 10.0.0.5"
	_, err := netip.ParseAddr(host)
	name, port, colon := strings.Cut(host, ":")
	switch {
	case err == nil:
		return nil
	case strings.Contains(host, "://"):
		return errors.New("it is a URI: " + want)
	case colon && name != "" && strings.Trim(port, "0123456789") == "":
		return errors.New(want + ", without a port: write " + name)
	case colon || checkHost(host) != nil:
		return errors.New("not a host name or address: " + want)
	case strings.Trim(host, "0123456789.") == "":
		return errors.New("not an IPv4 address: " + want)
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

// loopbackOf returns the loopback address for a node whose master is on loopback. It is never
// "localhost": some resolvers return ::1 first, and roscpp supports IPv4 only.
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

// sourceAddr returns the source address of packets to hostport. Connecting a UDP socket sends
// nothing.
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
