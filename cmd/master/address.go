package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/gorosbag/gorosbag/tcpros"
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

// choosePort returns the port of the flag, or that of ROS_MASTER_URI, or the default.
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

// locate decides where to serve.
func locate(ctx context.Context, listen string, remaps map[string]string,
	getenv func(string) string,
) (master.Location, error) {
	a := tcpros.Args{Hostname: remaps["__hostname"], IP: remaps["__ip"]}
	at := master.Locate(ctx, listen, a, getenv)
	switch {
	case strings.Contains(at.Host, "://"):
		return at, fmt.Errorf("host %q must be a name or an IP address (see ROS_HOSTNAME and ROS_IP)",
			at.Host)
	case len(at.Listen) == 0:
		return at, fmt.Errorf("host %q has no address of this machine (correct ROS_HOSTNAME or ROS_IP, or use --listen)", at.Host)
	}
	return at, nil
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
