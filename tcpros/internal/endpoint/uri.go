package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

const defaultMasterURI = "http://localhost:11311"

// MasterURI returns the master's URI and its host:port. The URI is the first that is set of
// explicit, the one in the arguments, and the one in the environment.
func MasterURI(explicit string, a names.Args, getenv func(string) string) (uri, hostport string, err error) {
	uri, from := defaultMasterURI, ""
	for _, u := range []struct{ from, uri string }{
		{"the master URI", explicit},
		{"__master:=", a.MasterURI},
		{"ROS_MASTER_URI", getenv("ROS_MASTER_URI")},
	} {
		if u.uri != "" {
			uri, from = u.uri, u.from
			break
		}
	}
	hostport, err = SplitURI(uri)
	if err != nil {
		return "", "", fmt.Errorf("%s %q: %s", from, uri, masterURIHint(uri))
	}
	return uri, hostport, nil
}

// CheckMasterURI returns why the URI of a master cannot be used, and what to write instead, without
// the URI itself.
func CheckMasterURI(uri string) error {
	if _, err := SplitURI(uri); err != nil {
		return errors.New(masterURIHint(uri))
	}
	return nil
}

// masterURIHint describes the mistake in a master's URI and, where a guess is likely right, the
// intended URI.
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
		if _, err := SplitURI(fixed); err == nil {
			return form + ": write " + fixed
		}
	case err == nil && host != "" && !plain:
		if _, err := SplitURI("http://" + rest); err == nil {
			return form + ": http:// is missing: write http://" + rest
		}
	}
	return form + ", such as http://localhost" + port
}

// SplitURI returns host:port of an http URI.
func SplitURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); u.Scheme != "http" || u.Hostname() == "" || err != nil {
		return "", fmt.Errorf("not of the form http://host:port")
	}
	return u.Host, nil
}

// SplitServiceURI returns the host and port of rosrpc://host:port.
func SplitServiceURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	if u.Scheme != "rosrpc" || u.Hostname() == "" || u.Port() == "" {
		return "", fmt.Errorf("registered as %q, not as rosrpc://host:port", names.Clip(uri))
	}
	return u.Host, nil
}
