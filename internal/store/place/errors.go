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
	// ErrUnreachable means that the store sent no reply, or is not available at the moment.
	ErrUnreachable = errors.New("unreachable")
	// ErrTooLarge means that an object is larger than what is read of it.
	ErrTooLarge = errors.New("too large")
	// ErrExists means that there is an object where File.Exclusive demands none.
	ErrExists = errors.New("there is another object of this name")
	// ErrAnswer means that the reply of a server makes no sense. Asking again is useless.
	ErrAnswer = errors.New("not the reply of a store")
	// ErrChanged means that an object, or the file that is uploaded, has changed since it was
	// opened.
	ErrChanged = errors.New("changed while it was read")
)

// AnswerError says what is wrong with a reply. RetryableError and NonRetriable keep the SDKs from
// asking again.
type AnswerError struct {
	reason string
	kind   error
}

// BadAnswer returns an error about a reply that cannot be used.
func BadAnswer(format string, args ...any) error {
	return &AnswerError{fmt.Sprintf(format, args...), ErrAnswer}
}

// Changed returns an error about a reply with another version of an object.
func Changed() error { return &AnswerError{ErrChanged.Error(), ErrChanged} }

// Error implements error.
func (e *AnswerError) Error() string { return e.reason }

// Unwrap returns ErrAnswer or ErrChanged.
func (e *AnswerError) Unwrap() error { return e.kind }

// RetryableError is called by the SDK of S3.
func (*AnswerError) RetryableError() bool { return false }

// NonRetriable marks the error for the SDK of Azure.
func (*AnswerError) NonRetriable() {}
