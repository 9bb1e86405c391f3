package place

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// StallTimeout is how long a read waits for the next byte of a response.
const StallTimeout = 15 * time.Second

// Errors of requests that this program ended, or a server did.
var (
	// of an upload.
	ErrIdle    = errors.New("no progress for two minutes")
	ErrStalled = fmt.Errorf("nothing came for %v", StallTimeout)
	// io.ErrUnexpectedEOF would mean that the object is truncated.
	ErrBrokenOff = errors.New("the connection broke off")
)

// explainNetwork explains why a server sent no response, or none that is HTTP. It leaves other errors as
// they are.
func (p Place) explainNetwork(e *Error) {
	var dns *net.DNSError
	var op *net.OpError
	var record tls.RecordHeaderError
	switch {
	case errors.As(e.Err, &dns):
		p.noResponse(e, hostReason(dns))
	case errors.As(e.Err, &op):
		p.noResponse(e, connectionReason(op))
		if op.Op == "proxyconnect" {
			e.Advice = "check the network, and the variables HTTPS_PROXY and HTTP_PROXY"
		}
	case errors.Is(e.Err, ErrIdle):
		p.noResponse(e, e.Reason)
	case errors.Is(e.Err, ErrStalled), errors.Is(e.Err, ErrBrokenOff):
		// the store is there, and may be unable to read this object
		e.Advice = p.networkAdvice()
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		e.Reason, e.Advice = "the server breaks off in the middle of a response", p.networkAdvice()
	case timedOut(e.Err):
		p.noResponse(e, "the server does not respond in time")
	case endsWithoutResponse(e.Err):
		p.noResponse(e, "the server closes the connection without a response")
	case errors.Is(e.Err, http.ErrSchemeMismatch):
		e.kind, e.Reason, e.Advice = ErrBadResponse, "the server speaks HTTP without TLS",
			"write http:// in place of https://, or check the port"
	case errors.As(e.Err, &record):
		e.kind, e.Reason, e.Advice = ErrBadResponse, "the server does not speak TLS",
			"check the host and the port"
	case strings.Contains(e.Err.Error(), `malformed HTTP response "\x15\x03`): // an alert of TLS
		e.kind, e.Reason, e.Advice = ErrBadResponse, "the server wants TLS",
			"write https:// in place of http://, or check the port"
	case strings.Contains(e.Err.Error(), "malformed HTTP"):
		e.kind, e.Reason, e.Advice = ErrBadResponse, "the server does not speak HTTP",
			"check the host and the port"
	}
}

// noResponse makes e the error of a server that sent no response.
func (p Place) noResponse(e *Error, reason string) {
	e.kind, e.Reason, e.Advice = ErrUnreachable, reason, p.networkAdvice()
}

// hostReason returns why a host has no address here, without the address of the name server, which
// helps nobody.
func hostReason(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return fmt.Sprintf("host %q is not known here: neither DNS nor /etc/hosts has it", err.Name)
	case err.IsTimeout:
		return fmt.Sprintf("host %q is not found in time: the name server does not respond", err.Name)
	}
	return fmt.Sprintf("host %q is not found: %s", err.Name, err.Err)
}

// connectionReason returns why a connection was not made, or broke off.
func connectionReason(err *net.OpError) string {
	cause := err.Err.Error()
	var errno syscall.Errno
	switch {
	case err.Timeout():
		cause = "timed out"
	case errors.As(err, &errno):
		cause = errno.Error()
	}
	to := err.Addr
	peer := "the server"
	if via := (*net.OpError)(nil); err.Op == "proxyconnect" && errors.As(err.Err, &via) {
		peer, to = "the proxy", via.Addr
	}
	if to != nil {
		peer = to.String()
	}
	if err.Op == "dial" || err.Op == "proxyconnect" {
		return "cannot connect to " + peer + ": " + cause
	}
	return "the connection to " + peer + " broke off: " + cause
}

// timedOut reports whether a time limit has passed: of a request, of a response or of a handshake.
func timedOut(err error) bool {
	var limit net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &limit) && limit.Timeout()
}

// endsWithoutResponse reports whether the server has closed a connection in place of a response. An
// io.EOF that is not of a request is the end of something else.
func endsWithoutResponse(err error) bool {
	var request *url.Error
	return errors.As(err, &request) && errors.Is(request.Err, io.EOF)
}

// networkAdvice says which settings select the server of a store.
func (p Place) networkAdvice() string {
	switch p.URL.Scheme {
	case SchemeS3:
		if name, _ := p.Endpoint(); name != "" {
			return "check the network and " + name
		}
		return "check the network; another store than Amazon's needs AWS_ENDPOINT_URL or ?endpoint=http://HOST:PORT in the URL"
	case SchemeAzure:
		return "check the network and AZURE_STORAGE_ACCOUNT"
	}
	return "check the network"
}
