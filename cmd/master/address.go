package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/master"
)

// splitRemaps takes the name:=value arguments out of args.
func splitRemaps(args []string) (rest []string, remaps map[string]string) {
	remaps = map[string]string{}
	for _, a := range args {
		if name, value, ok := strings.Cut(a, ":="); ok {
			remaps[name] = value
		} else {
			rest = append(rest, a)
		}
	}
	return rest, remaps
}

// choosePort returns the port asked for, or that of ROS_MASTER_URI, or the usual one.
func choosePort(flag int, masterURI string) (string, error) {
	const highest = 65535
	switch {
	case flag > highest || flag < -1:
		return "", fmt.Errorf("port %d is out of range (0 to %d)", flag, highest)
	case flag >= 0:
		return strconv.Itoa(flag), nil
	case masterURI == "":
		return strconv.Itoa(master.DefaultPort), nil
	}
	u, err := url.Parse(masterURI)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return "", fmt.Errorf("ROS_MASTER_URI %q is not of the form http://host:port", masterURI)
	}
	if u.Port() == "" {
		return strconv.Itoa(master.DefaultPort), nil
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil || n < 1 || n > highest {
		return "", fmt.Errorf("ROS_MASTER_URI %q has a port out of range (1 to %d)", masterURI, highest)
	}
	return u.Port(), nil
}

// hostOverride returns the host that the user wants to be advertised, or "". The order
// is that of roscpp.
func hostOverride(remaps map[string]string, getenv func(string) string) string {
	for _, host := range []string{remaps["__hostname"], remaps["__ip"], getenv("ROS_HOSTNAME"), getenv("ROS_IP")} {
		if host != "" {
			return host
		}
	}
	return ""
}

// address is what to advertise and where to listen.
type address struct {
	uriHost string
	hosts   []string // IP addresses, or one name or address the user gave; never empty
	warning string   // one line for the log, or empty
}

// lookupTimeout bounds the one name lookup at start.
const lookupTimeout = 3 * time.Second

// chooseAddress decides where to serve. Without a listen address these are the
// addresses that the advertised host stands for, and loopback: roscore listens on
// all interfaces, but then a laptop's master is open to every network it visits.
func chooseAddress(ctx context.Context, listen, advertised string, ipv6 bool) (address, error) {
	if strings.Contains(advertised, "://") {
		return address{}, fmt.Errorf("host %q must be a name or an IP address (see ROS_HOSTNAME and ROS_IP)", advertised)
	}
	a := address{uriHost: advertised}
	var ips []string
	switch {
	case advertised != "":
		ips = localAddresses(ctx, advertised, ipv6)
	default:
		a.uriHost, ips = thisHost(ctx, ipv6)
	}
	if listen != "" {
		a.hosts = []string{strings.Trim(listen, "[]")}
		if ip := net.ParseIP(a.hosts[0]); advertised == "" && (ip == nil || !ip.IsUnspecified()) {
			a.uriHost = a.hosts[0]
		}
		return a, nil
	}
	if len(ips) == 0 {
		return a, fmt.Errorf("host %q has no address of this machine (correct ROS_HOSTNAME or ROS_IP, or use --listen)", advertised)
	}
	if !slices.ContainsFunc(ips, func(ip string) bool { return !net.ParseIP(ip).IsLoopback() }) {
		if advertised == "" {
			a.warning = "the host name stands for loopback: nodes on other machines cannot reach this master (set ROS_IP, or use --listen)"
		}
	}
	if at := loopback(ipv6); !slices.Contains(ips, at) {
		ips = append(ips, at)
	}
	a.hosts = ips
	return a, nil
}

// thisHost returns the name of this machine if it can be looked up, otherwise an
// address of it.
func thisHost(ctx context.Context, ipv6 bool) (host string, ips []string) {
	if name, err := os.Hostname(); err == nil && name != "localhost" {
		if ips := localAddresses(ctx, name, ipv6); len(ips) > 0 {
			return name, ips
		}
	}
	for _, ip := range interfaceAddresses() {
		if !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && (ip.To4() == nil) == ipv6 {
			return ip.String(), []string{ip.String()}
		}
	}
	return "localhost", []string{loopback(ipv6)} // also where no file of hosts says so
}

func loopback(ipv6 bool) string {
	if ipv6 {
		return "::1"
	}
	return "127.0.0.1"
}

// localAddresses returns those addresses of host that this machine has.
func localAddresses(ctx context.Context, host string, ipv6 bool) []string {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil
	}
	mine := interfaceAddresses()
	var ips []string
	for _, f := range found {
		own := f.IP.IsLoopback() || slices.ContainsFunc(mine, f.IP.Equal)
		if own && (f.IP.To4() == nil) == ipv6 && !slices.Contains(ips, f.String()) {
			ips = append(ips, f.String())
		}
	}
	return ips
}

func interfaceAddresses() []net.IP {
	var ips []net.IP
	addrs, _ := net.InterfaceAddrs() // none, if it fails
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			ips = append(ips, n.IP)
		}
	}
	return ips
}

// explainListenError turns the usual reasons for not starting into something to act on.
func explainListenError(err error, port string) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %s is taken, perhaps by another master (choose one with -p)", port)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("port %s needs more rights (choose one above 1023 with -p)", port)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("not an address of this machine: %w (choose one with --listen)", err)
	}
	return err
}
