package endpoint

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// Serving is where a master serves.
type Serving struct {
	Host   string   // in the URI of the master
	Listen []string // IP addresses, or the one name or address that the user gave; empty if Host has no address of this machine

	LoopbackDefault bool // on loopback because of the machine's name, not by the user's choice
}

// ForMaster determines where a master serves. Without an address to listen on these are the
// addresses of the host that is advertised, and loopback: roscore listens on all interfaces, but
// then a laptop's master is open to every network that it visits.
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
	s := Serving{Host: host, LoopbackDefault: !explicit && !slices.ContainsFunc(ips, func(ip string) bool { return !IsLoopback(ip) })}
	if lo := masterLoopback(ipv6); !slices.Contains(ips, lo) {
		ips = append(ips, lo)
	}
	s.Listen = ips
	return s
}

// thisHost returns the name of this machine if that stands for an address of it, otherwise an
// address, with the addresses to listen on.
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
	return "localhost", []string{masterLoopback(ipv6)} // also where no file of hosts says so
}

// localAddrs returns those addresses of host that this machine has.
func (l *Locator) localAddrs(ctx context.Context, host string, ipv6 bool) []string {
	found, _ := l.lookup(ctx, host) // none, if it fails
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
