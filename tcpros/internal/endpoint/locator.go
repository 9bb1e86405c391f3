// Package endpoint knows addresses: where the master is, which host a node or a master advertises and
// which addresses it listens on, and how a node connects to others within bounds. Its only state is the
// count of links. Package tcpros, the packages below it and its master call it; nothing else does.
package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// Endpoint is the address that a node listens on and the host that it advertises.
type Endpoint struct {
	Host   string // advertised
	Bind   string // address to listen on; empty means all
	Reason string // reason for bind, for the log

	LoopbackDefault bool // on loopback because of the master, not by the user's choice
	Unresolved      bool // the user chose a name that this machine cannot resolve
	Foreign         bool // the user chose an address, or a name of one, that this machine does not have
}

// Locator determines a node's endpoint. Tests replace its functions.
type Locator struct {
	getenv     func(string) string
	hostname   func() (string, error)
	local      func() []netip.Addr // addresses of this machine's interfaces
	lookup     func(ctx context.Context, host string) ([]netip.Addr, error)
	sourceAddr func(ctx context.Context, hostport string) netip.Addr // source address; zero if unknown
}

// NewLocator returns a locator for this machine, its environment and its network.
func NewLocator(d *Dialer, getenv func(string) string) *Locator {
	return &Locator{
		getenv: getenv, hostname: os.Hostname, local: interfaceAddrs, lookup: d.Resolve,
		sourceAddr: d.SourceAddr,
	}
}

// Find determines the advertised host in roscpp's order. The node listens on the address of
// that host only, because peers connect to the advertised host; bind, if it is not empty, is
// the address that the user wants to listen on. master is host:port.
func (l *Locator) Find(ctx context.Context, bind string, a names.Args, master string) Endpoint {
	host, explicit := l.advertised(a)
	e := l.choose(ctx, bind, master, host, explicit)
	if ip, err := netip.ParseAddr(host); err == nil && explicit {
		e.Foreign = !l.has(ip)
	}
	return e
}

// has reports whether ip is an address of this machine.
func (l *Locator) has(ip netip.Addr) bool {
	return ip.IsLoopback() || slices.Contains(l.local(), ip.Unmap())
}

// choose returns the endpoint of a node that advertises host.
func (l *Locator) choose(ctx context.Context, bind, master, host string, explicit bool) Endpoint {
	masterHost, _, _ := net.SplitHostPort(master)
	switch ip, err := netip.ParseAddr(host); {
	case bind != "":
		if b, err := netip.ParseAddr(bind); err == nil && !b.IsUnspecified() && !explicit {
			host = bind
		}
		return Endpoint{Host: host, Bind: bind, Reason: "as asked"}
	case !explicit && IsLoopback(masterHost):
		// roscore listens on every address, so nodes on other machines may use such a master, too.
		// But most graphs have no other machine, so the user has to request a port that is open to
		// others.
		lo := loopbackOf(masterHost)
		return Endpoint{
			Host: lo, Bind: lo,
			Reason:          "the master is on loopback; ROS_IP, ROS_HOSTNAME or a bind address open it",
			LoopbackDefault: true,
		}
	case host == "localhost":
		return Endpoint{Host: host, Bind: "127.0.0.1", Reason: "the advertised host is localhost"}
	case err == nil && l.has(ip):
		return Endpoint{Host: host, Bind: host, Reason: "it is the advertised address"}
	case err == nil:
		return Endpoint{Host: host, Reason: "the advertised address is not of this machine"}
	}
	return l.byName(ctx, host, explicit, master, IsLoopback(masterHost))
}

// byName returns the endpoint for an advertised host name. It binds to the address of that
// name only if peers must resolve the name to the same address.
func (l *Locator) byName(ctx context.Context, host string, explicit bool, master string,
	onLoopback bool,
) Endpoint {
	addrs, err := l.lookup(ctx, host)
	if err != nil || len(addrs) != 1 {
		return Endpoint{
			Host: host, Reason: "the advertised host name does not stand for one address here",
			Unresolved: err != nil && explicit,
		}
	}
	a := addrs[0]
	switch {
	case a.IsLoopback() && !onLoopback:
		// Debian lets a machine's own name be 127.0.1.1; others see the real address.
		return Endpoint{Host: host, Reason: "the advertised host name is on loopback here only"}
	case a.IsLoopback():
	case !l.has(a):
		return Endpoint{
			Host: host, Reason: "the advertised host name is no address of this machine",
			Foreign: explicit,
		}
	case !explicit && l.sourceAddr(ctx, master) != a:
		return Endpoint{Host: host, Reason: "the advertised host name is not the address toward the master"}
	}
	return Endpoint{Host: host, Bind: a.String(), Reason: "the advertised host name stands for it"}
}

// advertised returns the host to advertise. explicit reports that the user chose it. Empty
// variables count as unset; roscpp warns and advertises an empty host.
func (l *Locator) advertised(a names.Args) (host string, explicit bool) {
	if h := l.chosen(a); h != "" {
		return h, true
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

// chosen returns the host that the user wants to be advertised; empty if the user named none.
func (l *Locator) chosen(a names.Args) string {
	return cmp.Or(a.Hostname, a.IP, l.getenv("ROS_HOSTNAME"), l.getenv("ROS_IP"))
}

// CheckAdvertised refuses a host that is invalid in a URI. The host is sent to the master and to
// every peer, partly through encoders that do not escape.
func CheckAdvertised(host string) error {
	if strings.ContainsFunc(host,
		func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>&"'/\?#@[]%`, r) }) {
		return fmt.Errorf("advertised host %q: not a host name or address: correct ROS_HOSTNAME or ROS_IP", host)
	}
	return nil
}

// CheckHost returns why a host cannot be advertised to other nodes, without the host itself.
// CheckHost does not resolve the name.
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
	case colon || CheckAdvertised(host) != nil:
		return errors.New("not a host name or address: " + want)
	case strings.Trim(host, "0123456789.") == "":
		return errors.New("not an IPv4 address: " + want)
	}
	return nil
}

// IsLoopback reports whether host is localhost or a loopback address.
func IsLoopback(host string) bool {
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
