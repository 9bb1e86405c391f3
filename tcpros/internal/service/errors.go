package service

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// ErrService matches every *Error.
var ErrService = errors.New("refused by the service")

// Error is the reply of a service that refused a call.
type Error struct {
	Service string
	Text    string
}

// Error implements error. The service's text is quoted, since it may contain any bytes.
func (e *Error) Error() string {
	return fmt.Sprintf("service %s says %q", e.Service, names.Clip(e.Text))
}

// Is reports whether target is ErrService.
func (e *Error) Is(target error) bool { return target == ErrService }

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
