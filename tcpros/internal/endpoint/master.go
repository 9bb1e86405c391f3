package endpoint

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// Serving is the host that a master advertises, and the addresses that it listens on.
type Serving struct {
	// in the URI of the master
	Host string
	// IP addresses, or the one name or address that the user gave; empty if Host has no address of this
	// machine
	Listen []string

	LoopbackDefault bool // on loopback because of the machine's name, not by the user's choice
}

// ForMaster determines the host that a master advertises and the addresses that it listens on. With
// an empty listen, the master listens on the addresses of the advertised host and on loopback.
// roscore listens on all interfaces, which opens a laptop's master to every network that the laptop
// visits.
func (l *Locator) ForMaster(ctx context.Context, listen string, a names.Args, ipv6 bool) Serving {
	host := l.chosen(a)
	explicit := host != ""
	var ips []string
	if explicit {
		ips = l.localAddrs(ctx, host, ipv6)
	} else {
		host, ips = l.thisHost(ctx, ipv6)
	}
	if listen != "" {
		listen = strings.Trim(listen, "[]")
		if ip, err := netip.ParseAddr(listen); !explicit && (err != nil || !ip.IsUnspecified()) {
			host = listen
		}
		return Serving{Host: host, Listen: []string{listen}}
	}
	if len(ips) == 0 {
		return Serving{Host: host}
	}
	s := Serving{Host: host, LoopbackDefault: !explicit &&
		!slices.ContainsFunc(ips, func(ip string) bool { return !IsLoopback(ip) })}
	if lo := masterLoopback(ipv6); !slices.Contains(ips, lo) {
		ips = append(ips, lo)
	}
	s.Listen = ips
	return s
}

// thisHost returns the machine's name if the name resolves to an address of this machine, and
// otherwise one of its addresses. ips are the addresses to listen on.
func (l *Locator) thisHost(ctx context.Context, ipv6 bool) (host string, ips []string) {
	if name, err := l.hostname(); err == nil && name != "localhost" {
		if ips := l.localAddrs(ctx, name, ipv6); len(ips) > 0 {
			return name, ips
		}
	}
	for _, ip := range l.local() {
		if !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && ip.Is6() == ipv6 {
			return ip.String(), []string{ip.String()}
		}
	}
	// localhost is loopback even where no hosts file says so
	return "localhost", []string{masterLoopback(ipv6)}
}

// localAddrs returns those addresses of host that this machine has.
func (l *Locator) localAddrs(ctx context.Context, host string, ipv6 bool) []string {
	found, _ := l.lookup(ctx, host) // none, if the lookup fails
	var ips []string
	for _, ip := range found {
		if l.has(ip) && ip.Is6() == ipv6 && !slices.Contains(ips, ip.String()) {
			ips = append(ips, ip.String())
		}
	}
	return ips
}

func masterLoopback(ipv6 bool) string {
	if ipv6 {
		return "::1"
	}
	return "127.0.0.1"
}
