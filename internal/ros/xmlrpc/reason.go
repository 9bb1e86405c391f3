package xmlrpc

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
)

// transportError is a call without a reply. It matches ErrTransport and its cause.
type transportError struct{ err error }

func (e *transportError) Error() string { return ErrTransport.Error() + ": " + Reason(e.err) }

func (e *transportError) Unwrap() []error { return []error{ErrTransport, e.err} }

// Reason returns why a peer could not be reached, without the address of the peer, which the caller
// logs anyway, and without the address of the name server, which helps nobody.
func Reason(err error) string {
	var dns *net.DNSError
	var call *url.Error
	var op *net.OpError
	var system *os.SyscallError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("host %q is not known here: neither DNS nor /etc/hosts has it", dns.Name)
	case errors.As(err, &dns) && dns.IsTimeout:
		return fmt.Sprintf("host %q is not found in time: the name server does not answer", dns.Name)
	case errors.As(err, &dns):
		return fmt.Sprintf("host %q is not found: %s", dns.Name, dns.Err)
	case errors.As(err, &op) && op.Op == "dial" && errors.As(op.Err, &system):
		return system.Err.Error()
	case errors.As(err, &call):
		return call.Err.Error()
	}
	return err.Error()
}
