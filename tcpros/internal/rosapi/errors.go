package rosapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// ErrStatus matches every *StatusError.
var ErrStatus = errors.New("call refused")

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

	Answered bool // a valid reply came: the peer is reachable
}

// Error implements error.
func (e *CallError) Error() string {
	return fmt.Sprintf("%s at %s: %s", e.Method, e.Host, xmlrpc.Reason(e.Err))
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Unreachable reports whether err means that the master sent no valid reply.
func Unreachable(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	c := (*CallError)(nil)
	return ctx.Err() != nil || !errors.As(err, &c) || !c.Answered
}
