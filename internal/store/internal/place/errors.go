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
	// ErrUnreachable means that the store gave no answer, or that it is not available for now.
	ErrUnreachable = errors.New("unreachable")
	// ErrTooLarge means that an object is larger than what is read of it.
	ErrTooLarge = errors.New("too large")
	// ErrExists means that there is an object where File.Exclusive demands none.
	ErrExists = errors.New("there is another object of this name")
	// ErrAnswer means that a server answers what makes no sense. To ask again is of no use.
	ErrAnswer = errors.New("not the answer of a store")
	// ErrChanged means that an object, or the file that is uploaded, has changed since it was
	// opened.
	ErrChanged = errors.New("changed while it was read")
)

// AnswerError is what is wrong with an answer. Its methods but Error and Unwrap keep the SDKs from
// asking again.
type AnswerError struct {
	reason string
	kind   error
}

// BadAnswer returns an error about an answer that cannot be used.
func BadAnswer(format string, args ...any) error {
	return &AnswerError{fmt.Sprintf(format, args...), ErrAnswer}
}

// Changed returns an error about an answer with another version of an object.
func Changed() error { return &AnswerError{ErrChanged.Error(), ErrChanged} }

// Error implements error.
func (e *AnswerError) Error() string { return e.reason }

// Unwrap returns ErrAnswer or ErrChanged.
func (e *AnswerError) Unwrap() error { return e.kind }

// RetryableError is what the SDK of S3 asks.
func (*AnswerError) RetryableError() bool { return false }

// NonRetriable is what the SDK of Azure looks for.
func (*AnswerError) NonRetriable() {}
