package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"go.uber.org/zap"
)

// Options are the options of Serve.
type Options struct {
	Listen string // host:port; port 0 takes a free one
	Token  string // authorizes requests; empty authorizes every client on this machine
	// ViewToken authorizes requests that only look; empty authorizes nobody. It needs a Token.
	ViewToken string
	Hosts     []string // allowed host names, besides localhost and IP addresses

	// Origins are the origins of pages that may open the live view, such as https://viewer.example.org,
	// besides the pages of this server.
	Origins []string
	Live    LiveView // nil: there is none

	// our name on the graph
	Node    string
	Version string
	// whether the master answers; nil for a program without a master
	MasterUp func() bool
	// the parts of the master's replies that cannot be read, see tcpros.Node.Unread; nil without a master
	Unread func() (now, ever string)
	Log    *zap.Logger
}

// check refuses options that would expose the server without a token.
func (o *Options) check(ctx context.Context) error {
	if err := CheckToken(o.Token); err != nil {
		return fmt.Errorf("--http-token: %w", err)
	}
	if err := CheckViewToken(o.ViewToken, o.Token); err != nil {
		return fmt.Errorf("--http-view-token: %w", err)
	}
	if err := CheckListen(ctx, o.Listen, o.Token != ""); err != nil {
		return fmt.Errorf("--http %q: %w", o.Listen, err)
	}
	return nil
}

// CheckToken returns why a token cannot be used, without the token itself. Empty means no token.
func CheckToken(token string) error {
	if token != "" && len(token) < minTokenBytes {
		return fmt.Errorf("the token has %d characters: give it at least %d, such as from openssl rand -hex 16", len(token), minTokenBytes)
	}
	return nil
}

// CheckViewToken returns why a token cannot be used for looking beside the token that controls, without
// the tokens themselves. Empty means no token.
func CheckViewToken(viewToken, token string) error {
	switch {
	case viewToken == "":
		return nil
	case token == "":
		return errors.New("without --http-token everybody on this machine controls: give that one, too")
	case viewToken == token:
		return errors.New("it is the token that controls: give another one")
	}
	return CheckToken(viewToken)
}

// CheckListen returns why a server may not listen on host:port, without the address itself. A host
// name is looked up if there is no token.
func CheckListen(ctx context.Context, listen string, hasToken bool) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return errors.New("want HOST:PORT, such as 127.0.0.1:8765")
	}
	if hasToken {
		return nil
	}
	local, err := onLoopback(ctx, host)
	if err == nil && !local {
		err = errors.New("it could be reached by others: set --http-token, --http-token-file or the variable for it, or listen on 127.0.0.1")
	}
	return err
}

// onLoopback reports whether all addresses of a host are on loopback. No host stands for
// all addresses.
func onLoopback(ctx context.Context, host string) (bool, error) {
	if host == "" {
		return false, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, headerTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return false, fmt.Errorf("the address of %q is not found (%s): want a name that this machine knows, or an address such as 127.0.0.1", host, dns.Err)
	} else if err != nil {
		return false, err
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() {
			return false, nil
		}
	}
	return true, nil
}
