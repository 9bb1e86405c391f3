package config

import (
	"fmt"
	"net/netip"
)

// Network holds the network options of the node.
type Network struct {
	Bind IP `group:"ROS:" placeholder:"ADDR" help:"Listen on this address of this machine for the master, subscribers and service clients; 0.0.0.0 is all. Unless ROS_IP or ROS_HOSTNAME is set, it is advertised, too (default: the address that ROS_IP or ROS_HOSTNAME names, all if this machine does not have it; without them loopback where the master is on loopback, else the address of the host name)."`
}

// IP is an address of this machine, without a port; empty if none was given.
type IP string

// UnmarshalText implements encoding.TextUnmarshaler.
func (ip *IP) UnmarshalText(text []byte) error {
	a, err := netip.ParseAddr(string(text))
	if err != nil {
		return fmt.Errorf("%q is not an IP address such as 10.0.0.5 or 0.0.0.0", text)
	}
	*ip = IP(a.String())
	return nil
}
