package place

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound means that there is no such object or bucket.
	ErrNotFound = errors.New("no such object")
	// ErrDenied means that the store denies access.
	ErrDenied = errors.New("access denied")
	// ErrUnreachable means that the store sent no response, or is not available at the moment.
	ErrUnreachable = errors.New("unreachable")
	// ErrTooLarge means that an object is larger than what is read of it.
	ErrTooLarge = errors.New("too large")
	// ErrExists means that there is an object where File.Exclusive demands none.
	ErrExists = errors.New("there is another object of this name")
	// ErrBadResponse means that the response of a server makes no sense. Asking again is useless.
	ErrBadResponse = errors.New("not the response of a store")
	// ErrNoCredentials means that there are no credentials on this machine.
	ErrNoCredentials = errors.New("no credentials were found")
	// ErrUnusableCredentials means that there are credentials on this machine that cannot be used.
	ErrUnusableCredentials = errors.New("the credentials cannot be used")
	// ErrChanged means that an object, or the file that is uploaded, has changed since it was
	// opened.
	ErrChanged = errors.New("changed while it was read")
)

// ResponseError says what is wrong with a response. NonRetriable keeps an SDK from asking
// again.
type ResponseError struct {
	reason string
	kind   error
}

// BadResponse returns an error about a response that cannot be used.
func BadResponse(format string, args ...any) error {
	return &ResponseError{fmt.Sprintf(format, args...), ErrBadResponse}
}

// Changed returns an error about a response with another version of an object.
func Changed() error { return &ResponseError{ErrChanged.Error(), ErrChanged} }

// Error implements error.
func (e *ResponseError) Error() string { return e.reason }

// Unwrap returns ErrBadResponse or ErrChanged.
func (e *ResponseError) Unwrap() error { return e.kind }

// NonRetriable marks the error for the SDK of Azure.
func (*ResponseError) NonRetriable() {}

// kindError is an error of which the client of a store knows the kind.
type kindError struct {
	error
	kind error
}

// Unwrap returns the error and its kind.
func (e *kindError) Unwrap() []error { return []error{e.error, e.kind} }

// WithKind returns err with a kind, such as ErrNotFound, for Explain and errors.Is.
func WithKind(kind, err error) error { return &kindError{err, kind} }
