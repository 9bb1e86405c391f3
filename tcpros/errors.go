package tcpros

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// Sentinels. Callers compare with errors.Is.
var (
	// ErrName matches every *NameError.
	ErrName = names.ErrName
	// ErrClosed says that the node, subscription or publication is closed.
	ErrClosed = errors.New("closed")
	// ErrConflict matches every *ConflictError.
	ErrConflict = errors.New("topic already in use by this node")

	// ErrHeader matches every *HeaderError.
	ErrHeader = wire.ErrHeader
	// ErrPeer matches every *PeerError.
	ErrPeer = wire.ErrPeer
	// ErrTooLarge matches every *TooLargeError.
	ErrTooLarge = wire.ErrTooLarge
	// ErrStalled says that a message stopped in the middle for too long.
	ErrStalled = wire.ErrStalled
	// ErrUnresolved matches every *ResolveError.
	ErrUnresolved = endpoint.ErrUnresolved
	// ErrStatus matches every *StatusError.
	ErrStatus = errors.New("call refused")
	// ErrService matches every *ServiceError.
	ErrService = errors.New("refused by the service")
	// ErrNotDrained matches every *DrainError.
	ErrNotDrained = errors.New("not every subscriber took all messages")
)

// ConflictError is returned for a second Subscribe or Advertise of one topic: ROS
// knows one subscription and one publication for each topic of a node.
type ConflictError struct {
	Topic      string
	Have, Want string // "type/md5sum" in use and requested
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("topic %s is in use as %s, asked for %s", e.Topic, e.Have, e.Want)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// StatusError is a reply of the master or of a node whose code is not 1.
type StatusError struct {
	Code int
	Text string
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("answered code %d: %q", e.Code, e.Text)
}

// Is reports whether target is ErrStatus.
func (e *StatusError) Is(target error) bool { return target == ErrStatus }

// CallError is a failed call to the master or to a node.
type CallError struct {
	Method string
	Host   string // host:port called
	Err    error

	answered bool // a valid reply came: the peer is reachable
}

// Error implements error.
func (e *CallError) Error() string {
	return fmt.Sprintf("%s at %s: %s", e.Method, e.Host, xmlrpc.Reason(e.Err))
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// ServiceError is the answer of a service that refused a call.
type ServiceError struct {
	Service string
	Text    string
}

// Error implements error. The service's text is quoted: it may hold anything.
func (e *ServiceError) Error() string {
	return fmt.Sprintf("service %s says %q", e.Service, names.Clip(e.Text))
}

// Is reports whether target is ErrService.
func (e *ServiceError) Is(target error) bool { return target == ErrService }

// callServiceError names the service of a failed call.
type callServiceError struct {
	service string
	err     error
}

// Error implements error.
func (e *callServiceError) Error() string {
	return "service " + e.service + ": " + e.err.Error()
}

// Unwrap returns the cause.
func (e *callServiceError) Unwrap() error { return e.err }

// DrainError lists the subscribers that did not read all messages.
type DrainError struct {
	Subscribers []Undrained
	Err         error // the context's error when that ended the wait
}

// Undrained is one subscriber that did not read all messages.
type Undrained struct {
	Topic    string
	CallerID string
	Frames   int    // frames that never left the queue
	Reason   string // "takes nothing", "left early", "no time left"
}

// Error implements error.
func (e *DrainError) Error() string {
	var b strings.Builder
	b.WriteString("not taken to the end:")
	for i, u := range e.Subscribers {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(e.Subscribers)-i)
			break
		}
		fmt.Fprintf(&b, " %s by %q (%s, %d queued)", u.Topic, u.CallerID, u.Reason, u.Frames)
	}
	return b.String()
}

// Is reports whether target is ErrNotDrained.
func (e *DrainError) Is(target error) bool { return target == ErrNotDrained }

// Unwrap returns the context's error, or nil.
func (e *DrainError) Unwrap() error { return e.Err }
