package command

import "errors"

// Kind is the reason for which a command is refused.
type Kind int

// The kinds of refusal.
const (
	// the command was tried and failed: the disk, a bag, an unforeseen error.
	Failed Kind = iota
	// a parameter has an invalid value.
	Invalid
	// the bag or topic that a parameter names does not exist.
	NotFound
	// the command is not possible in the present state.
	Conflict
	// the command has nothing to do in the present state.
	NoChange
	// the command is not possible before the start or at the end, or there are too many at once.
	Unavailable
)

// RefusalError is an error with its kind.
type RefusalError struct {
	Kind Kind
	Err  error
}

// Error implements error.
func (r *RefusalError) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *RefusalError) Unwrap() error { return r.Err }

// Refuse gives a kind to the reason of a refusal. No reason is no refusal.
func Refuse(kind Kind, reason error) error {
	if reason == nil {
		return nil
	}
	return &RefusalError{kind, reason}
}

// Refused is Refuse with the text of the reason.
func Refused(kind Kind, text string) error { return &RefusalError{kind, errors.New(text)} }

// KindOf returns the kind of an error; Failed is that of errors which have none.
func KindOf(err error) Kind {
	if r := (*RefusalError)(nil); errors.As(err, &r) {
		return r.Kind
	}
	return Failed
}
