package rosmsg

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrDefinition is matched by every [DefinitionError].
	ErrDefinition = errors.New("unusable message definition")
	// ErrCorrupt is matched by every [DecodeError].
	ErrCorrupt = errors.New("payload does not fit its definition")
	// ErrTrailing says that bytes follow the message. What it comes with is complete.
	ErrTrailing = errors.New("bytes after the end of the message")
	// ErrValue is matched by every [EncodeError].
	ErrValue = errors.New("value does not fit its definition")
	// ErrNoField is matched by every [FieldError], and by an [EncodeError] about a field that the type
	// does not have.
	ErrNoField = errors.New("no such field")
	// ErrLimit is matched by errors about something beyond one of the limits.
	ErrLimit = errors.New("limit exceeded")
)

// DefinitionError says why a definition cannot be used. It matches [ErrDefinition],
// and [ErrLimit] if a limit is the reason.
type DefinitionError struct {
	Type   string // whose block it is
	Line   int    // counted from 1 through the whole text; 0 if no line is to blame
	Reason string
	err    error
}

func (e *DefinitionError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("definition of %q: %s", e.Type, e.Reason)
	}
	return fmt.Sprintf("definition of %q: line %d: %s", e.Type, e.Line, e.Reason)
}

// Is matches [ErrDefinition].
func (e *DefinitionError) Is(target error) bool { return target == ErrDefinition }

func (e *DefinitionError) Unwrap() error { return e.err }

// DecodeError says where a payload does not fit its type. It matches [ErrCorrupt],
// and io.ErrUnexpectedEOF, [ErrTrailing] or [ErrLimit] by its reason.
type DecodeError struct {
	Type   string // of the message
	Path   string // of the field, as "poses[3].position.x"; empty for the message itself
	Offset int    // bytes from the start of the payload
	Reason string
	err    error
}

func (e *DecodeError) Error() string {
	s := strings.TrimLeft(fmt.Sprintf("%s at %d: %s", e.Path, e.Offset, e.Reason), " ")
	if e.Type != "" {
		return e.Type + ": " + s
	}
	return s
}

// Is matches [ErrCorrupt].
func (e *DecodeError) Is(target error) bool { return target == ErrCorrupt }

func (e *DecodeError) Unwrap() error { return e.err }

// under adds what the error's place lies in: errors are built from the inside out, so
// that decoding keeps no path while all goes well.
func under(err error, name string) error {
	var e *DecodeError
	if !errors.As(err, &e) {
		return err
	}
	e.Path = join(name, e.Path)
	return e
}

// join puts a name or an index before a path.
func join(name, path string) string {
	if path != "" && path[0] != '[' {
		name += "."
	}
	return name + path
}

// underElement is under for an element of an array.
func underElement(err error, i int) error { return under(err, "["+strconv.Itoa(i)+"]") }

// FieldError says that a type does not have what a path names. It matches [ErrNoField].
type FieldError struct {
	Type   string // of the message
	Path   string
	Reason string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: path %q: %s", e.Type, e.Path, e.Reason)
}

// Is matches [ErrNoField].
func (e *FieldError) Is(target error) bool { return target == ErrNoField }

// EncodeError says which value does not fit its type. It matches [ErrValue], and [ErrNoField] or
// [ErrLimit] by its reason.
type EncodeError struct {
	Type   string // of the message
	Path   string // of the field, as "poses[3].position.x"; empty for the message itself
	Reason string
	err    error
}

func (e *EncodeError) Error() string {
	return e.Type + ": " + strings.TrimPrefix(e.Path+": ", ": ") + e.Reason
}

// Is matches [ErrValue].
func (e *EncodeError) Is(target error) bool { return target == ErrValue }

func (e *EncodeError) Unwrap() error { return e.err }

// under adds what the value lies in.
func (e *EncodeError) under(name string) *EncodeError {
	e.Path = join(name, e.Path)
	return e
}
