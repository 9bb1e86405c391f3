// Package viewer is a client of the Foxglove WebSocket protocol, for tests and benchmarks. It shares
// no code with the server: WebSocket frames and messages are read and written here, so that a fault
// of the server cannot hide itself.
//
// A Conn sends and receives the messages of a WebSocket. A Viewer reads a Conn to its end and
// remembers what it was told.
package viewer

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// The subprotocols that viewers offer.
const (
	SDK     = "foxglove.sdk.v1"
	Classic = "foxglove.websocket.v1"
)

// Opcodes of WebSocket frames.
const (
	OpContinuation = 0
	OpText         = 1
	OpBinary       = 2
	OpClose        = 8
	OpPing         = 9
	OpPong         = 10
)

// Options say how a viewer connects.
type Options struct {
	Path       string                  // with its query; empty means /
	Offers     []string                // values of Sec-WebSocket-Protocol, one header for each; nil means one with SDK
	Header     http.Header             // further headers, such as Origin
	Host       string                  // the Host header; empty means the address
	ReadBuffer int                     // bytes of the kernel's receive buffer; zero means the default
	Wrap       func(net.Conn) net.Conn // wraps the connection, for example to read slowly; nil means none
}

// RefusedError is the answer of a server that does not accept the WebSocket.
type RefusedError struct {
	Status int
	Text   string
}

// Error implements error.
func (e *RefusedError) Error() string { return fmt.Sprintf("viewer: HTTP %d: %s", e.Status, e.Text) }

// Conn is a WebSocket connection. One goroutine at a time may receive; any may send.
type Conn struct {
	Protocol string // that the server has selected

	net  net.Conn
	in   *bufio.Reader
	send sync.Mutex
}

// Dial connects to a server at host:port.
func Dial(ctx context.Context, address string, o Options) (*Conn, error) {
	dialer := net.Dialer{}
	if o.ReadBuffer > 0 {
		dialer.Control = receiveBuffer(o.ReadBuffer)
	}
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if o.Wrap != nil {
		c = o.Wrap(c)
	}
	stop := context.AfterFunc(ctx, func() { c.Close() }) //nolint:errcheck // the handshake fails then
	defer stop()
	conn := &Conn{net: c, in: bufio.NewReader(c)}
	if err := conn.greet(ctx, address, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return conn, nil
}

// greet makes the connection a WebSocket.
func (c *Conn) greet(ctx context.Context, address string, o Options) error {
	path := o.Path
	if path == "" {
		path = "/"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return err
	}
	key := make([]byte, 16)
	rand.Read(key)
	for name, values := range o.Header {
		r.Header[name] = values
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Sec-WebSocket-Version", "13")
	r.Header.Set("Sec-WebSocket-Key", base64.StdEncoding.EncodeToString(key))
	offers := o.Offers
	if offers == nil {
		offers = []string{SDK}
	}
	for _, offer := range offers {
		r.Header.Add("Sec-WebSocket-Protocol", offer)
	}
	if o.Host != "" {
		r.Host = o.Host
	}
	if err := r.Write(c.net); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.in, r)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		defer answer.Body.Close() //nolint:errcheck // only read from
		text, err := io.ReadAll(answer.Body)
		return errors.Join(err, &RefusedError{answer.StatusCode, strings.TrimSpace(string(text))})
	}
	c.Protocol = answer.Header.Get("Sec-WebSocket-Protocol")
	return nil
}

// Close ends the connection without a word.
func (c *Conn) Close() error { return c.net.Close() }

// WriteFrame sends one frame.
func (c *Conn) WriteFrame(final bool, op byte, payload []byte) error {
	var mask [4]byte
	rand.Read(mask[:])
	head := []byte{op}
	if final {
		head[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	head = append(head, mask[:]...)
	for i, b := range payload {
		head = append(head, b^mask[i%4])
	}
	c.send.Lock()
	defer c.send.Unlock()
	_, err := c.net.Write(head)
	return err
}

// WriteRaw sends bytes as they are.
func (c *Conn) WriteRaw(b []byte) error {
	c.send.Lock()
	defer c.send.Unlock()
	_, err := c.net.Write(b)
	return err
}

// WriteJSON sends a text message.
func (c *Conn) WriteJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.WriteFrame(true, OpText, b)
}

// ClosedError is how the server closed the connection.
type ClosedError struct {
	Code   int // 0 for none
	Reason string
}

// Error implements error.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("viewer: closed with %d %q", e.Code, e.Reason)
}

// Read returns the next message, OpText or OpBinary. It answers pings. buf is used for the
// payload if that fits. A close frame is returned as a *ClosedError.
func (c *Conn) Read(buf []byte) (op byte, payload []byte, err error) {
	buf = buf[:0]
	for {
		final, code, body, err := c.readFrame(buf)
		if err != nil {
			return 0, nil, err
		}
		switch code {
		case OpText, OpBinary, OpContinuation:
			if code != OpContinuation {
				op = code
			}
			buf = body
			if final {
				return op, buf, nil
			}
		case OpPing:
			if err := c.WriteFrame(true, OpPong, body[len(buf):]); err != nil {
				return 0, nil, err
			}
		case OpClose:
			e := &ClosedError{}
			if b := body[len(buf):]; len(b) >= 2 {
				e.Code, e.Reason = int(binary.BigEndian.Uint16(b)), string(b[2:])
			}
			c.WriteFrame(true, OpClose, body[len(buf):]) //nolint:errcheck // the server may not wait for it
			return 0, nil, e
		case OpPong:
		default:
			return 0, nil, fmt.Errorf("viewer: WebSocket opcode %d", code)
		}
	}
}

// readFrame reads one frame and appends its payload to buf.
func (c *Conn) readFrame(buf []byte) (final bool, op byte, body []byte, err error) {
	var head [10]byte
	if _, err := io.ReadFull(c.in, head[:2]); err != nil {
		return false, 0, nil, err
	}
	if head[0]&0x70 != 0 || head[1]&0x80 != 0 {
		return false, 0, nil, fmt.Errorf("viewer: frame begins with % x", head[:2])
	}
	final, op = head[0]&0x80 != 0, head[0]&0x0f
	n := uint64(head[1])
	switch n {
	case 126:
		if _, err := io.ReadFull(c.in, head[:2]); err != nil {
			return false, 0, nil, err
		}
		n = uint64(binary.BigEndian.Uint16(head[:]))
	case 127:
		if _, err := io.ReadFull(c.in, head[:8]); err != nil {
			return false, 0, nil, err
		}
		n = binary.BigEndian.Uint64(head[:])
	}
	if n > 1<<30 {
		return false, 0, nil, fmt.Errorf("viewer: frame of %d bytes", n)
	}
	at := len(buf)
	if need := at + int(n); need > cap(buf) {
		buf = append(make([]byte, 0, need), buf...)
	}
	buf = buf[:at+int(n)]
	_, err = io.ReadFull(c.in, buf[at:])
	return final, op, buf, err
}
