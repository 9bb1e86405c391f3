package xmlrpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Limits on answers: the state of a large graph and the whole parameter tree
// must fit.
var responseLimits = Limits{BodyBytes: 16 << 20, Depth: 128}

// dialTimeout bounds name lookup and connecting together.
const dialTimeout = 5 * time.Second

// sendBuffer is the bytes of a message that the kernel buffers for a peer that does not read: by
// default Linux buffers megabytes for each connection.
const sendBuffer = 256 << 10

// NewHTTPClient returns a client fit for Call: no proxy, no redirects, no
// compression, and at most timeout for a whole call.
func NewHTTPClient(timeout time.Duration) *http.Client {
	d := &net.Dialer{Timeout: min(dialTimeout, timeout), KeepAlive: 15 * time.Second}
	return &http.Client{
		Timeout: timeout,
		Transport: NewTransport(func() *http.Transport {
			return &http.Transport{
				DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := d.DialContext(ctx, network, addr)
					limitSendBuffer(c)
					return c, err
				},
				DisableCompression:     true,
				MaxIdleConns:           256,
				MaxIdleConnsPerHost:    2,
				IdleConnTimeout:        10 * time.Second,
				ResponseHeaderTimeout:  timeout,
				MaxResponseHeaderBytes: 64 << 10,
			}
		}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func limitSendBuffer(c net.Conn) {
	if tc, ok := c.(*net.TCPConn); ok && tc != nil {
		_ = tc.SetWriteBuffer(sendBuffer) // a broken connection fails at its next use
	}
}

// Call calls a method of the server at uri and returns the one value of the answer. The error is a
// *Fault if the server answered with a fault. It matches ErrTransport if there was no answer,
// ErrNotXMLRPC if the answer has another status than 200, ErrMalformed or ErrLimit if the answer
// could not be read, and ErrEncode if the arguments cannot be sent.
func Call(ctx context.Context, hc *http.Client, uri, method string, args ...any) (any, error) {
	body, err := AppendRequest(nil, method, args...)
	if err != nil {
		return nil, err
	}
	return Post(ctx, hc, uri, body)
}

// Post is Call for a request that AppendRequest has made. It does not change the request.
func Post(ctx context.Context, hc *http.Client, uri string, request []byte) (any, error) {
	if u, err := url.Parse(uri); err != nil || u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%w: %q is not an http URI", ErrTransport, uri)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, uri, bytes.NewReader(request))
	if err != nil {
		return nil, &transportError{err}
	}
	req.Header.Set("Content-Type", "text/xml")
	// An empty value is never sent. It only lets net/http repeat the call when the server has
	// closed the idle connection. All calls of ROS can be repeated.
	req.Header["Idempotency-Key"] = []string{}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, &transportError{err}
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s answers HTTP status %d", ErrNotXMLRPC, uri, resp.StatusCode)
	}
	l := responseLimits
	if resp.ContentLength > l.BodyBytes {
		return nil, &LimitError{"body", l.BodyBytes}
	}
	answer, err := readAll(nil, io.LimitReader(resp.Body, l.BodyBytes+1), resp.ContentLength)
	if err != nil {
		return nil, &transportError{err}
	}
	return ParseResponse(answer, l)
}
