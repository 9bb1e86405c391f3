package wire

import (
	"errors"
	"fmt"
)

// ErrHeader matches every *HeaderError.
var ErrHeader = errors.New("invalid connection header")

// ErrHeaderTooLong says that a connection header is longer than headers are read.
var ErrHeaderTooLong = errors.New("too long")

// ErrPeer matches every *PeerError.
var ErrPeer = errors.New("refused by the peer")

// ErrTooLarge matches every *TooLargeError.
var ErrTooLarge = errors.New("message too large")

// ErrStalled says that a message stopped in the middle for too long.
var ErrStalled = errors.New("message stalled")

// HeaderError says what is wrong with a connection header.
type HeaderError struct {
	Reason string
	Err    error // cause, or nil
}

// Error implements error.
func (e *HeaderError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("connection header: %s: %v", e.Reason, e.Err)
	}
	return "connection header: " + e.Reason
}

// Is reports whether target is ErrHeader.
func (e *HeaderError) Is(target error) bool { return target == ErrHeader }

// Unwrap returns the cause.
func (e *HeaderError) Unwrap() error { return e.Err }

// PeerError has the error field of a peer's connection header.
type PeerError struct{ Text string }

// Error implements error. The peer's text is quoted, since it may contain any bytes.
func (e *PeerError) Error() string { return fmt.Sprintf("peer says %q", e.Text) }

// Is reports whether target is ErrPeer.
func (e *PeerError) Is(target error) bool { return target == ErrPeer }

// TooLargeError says that a peer announced a message above the limit.
type TooLargeError struct {
	Bytes, Limit int64
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("message of %d bytes, limit %d", e.Bytes, e.Limit)
}

// Is reports whether target is ErrTooLarge.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// ErrClosed says that the node, subscription, publication or service is closed.
var ErrClosed = errors.New("closed")
