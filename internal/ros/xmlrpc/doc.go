// Package xmlrpc speaks XML-RPC as the ROS 1 master, slave and parameter APIs do:
// a codec, a client call and a server.
//
// Reading is liberal: whitespace, comments, CDATA sections, attributes, numeric
// entities, self-closing tags and strings without a type tag are all accepted.
// Writing uses only what roscpp's textual parser recognizes: no attributes, no
// self-closing tags, the five named entities, a Content-Length on every message.
//
// Input is untrusted. Nesting, the number of values and the size of a body are limited, document
// type declarations are refused, and memory follows the bytes that arrived, never a length that a
// peer announced.
package xmlrpc

import (
	"errors"
	"fmt"
)

// Value is any of: int (32 bit), bool, string, float64, time.Time, []byte, []any, map[string]any.
// The decoder returns exactly these types, nil for <nil/>, which is read but never written, and
// with Limits.TextBytes a Skipped. The encoder also accepts all other Go integers that fit 32 bits,
// and []string.
type Value = any

// Limits bounds what a decoder accepts from a peer. A zero field means its default.
type Limits struct {
	BodyBytes int64 // bytes of the whole HTTP body; zero means 1 MiB
	Depth     int   // nesting of arrays and structs; zero means 16
	Values    int   // values in one message, nested ones included; zero means one per 8 body bytes
	TextBytes int64 // most bytes of a text between two tags; ReadBody skips longer texts. Zero means no limit
}

const (
	defaultBodyBytes = 1 << 20
	defaultDepth     = 16
	shortestValue    = 8 // bytes in "<value/>"

	// MaxWriteDepth is the deepest nesting that the encoder writes. Only a bug can produce deeper
	// values: a decoder with usual limits never returns one.
	MaxWriteDepth = 256
)

func (l Limits) withDefaults() Limits {
	if l.BodyBytes <= 0 {
		l.BodyBytes = defaultBodyBytes
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	if l.Values <= 0 {
		l.Values = int(min(l.BodyBytes/shortestValue, 1<<30))
	}
	return l
}

// Errors that the codec, Call and the server return or report.
var (
	ErrMalformed = errors.New("malformed message")           // not XML-RPC; the error is a *MalformedError
	ErrLimit     = errors.New("limit exceeded")              // valid so far, but larger than Limits allows
	ErrEncode    = errors.New("cannot be written")           // a Go value that XML-RPC, or ROS, cannot carry
	ErrNotXMLRPC = errors.New("HTTP answer without XML-RPC") // the peer answers HTTP, but not this call
	ErrTransport = errors.New("no answer")                   // the call got no HTTP answer
)

// MalformedError says where a message stops being XML-RPC.
type MalformedError struct {
	Offset int // bytes from the start of the message
	Reason string
}

// Error implements error.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("at %d: %s", e.Offset, e.Reason)
}

// Is reports whether target is ErrMalformed.
func (e *MalformedError) Is(target error) bool { return target == ErrMalformed }

// LimitError says which of the Limits a message broke.
type LimitError struct {
	What  string
	Limit int64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s over the limit of %d", e.What, e.Limit)
}

// Is reports whether target is ErrLimit.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// Fault is the error answer of XML-RPC. The server sends a Fault that a Handler returns, and Call
// returns a Fault that it received.
type Fault struct { //nolint:errname // the name that XML-RPC gives it
	Code int
	Text string
}

// Error implements error.
func (f *Fault) Error() string { return fmt.Sprintf("fault %d: %q", f.Code, f.Text) }
