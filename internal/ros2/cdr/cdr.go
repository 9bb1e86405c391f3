// Package cdr converts payloads between the serialization of ROS 1 and CDR, that of ROS 2.
//
// A [Struct] says what a message looks like on both sides. [Compile] turns it into a [Plan]
// once for each pair of types, and the plan converts messages in either direction: fields
// of equal layout are copied at once, and no message costs an allocation. The package owns
// the byte layouts (XCDR1; it writes little endian and reads both byte orders), the limits
// on what a payload may ask for, and what happens to values that one side cannot represent.
// It knows no type by its name: package mapping does, and is the only caller outside of
// tests.
//
// Payloads may come from anywhere. A conversion uses at most 64 times the size of the
// payload plus 1 MiB, and one element more.
//
// The package reads no file, starts no goroutine and logs nothing. A Plan never changes and
// may be used by many goroutines.
package cdr

import (
	"errors"
	"fmt"
	"io"
	"math"
)

var (
	// ErrCorrupt is matched by every [Error].
	ErrCorrupt = errors.New("payload does not fit its type")
	// ErrTrailing is matched by errors about bytes after the end of a message.
	ErrTrailing = errors.New("bytes after the end of the message")
	// ErrLimit is matched by errors about something beyond a limit.
	ErrLimit = errors.New("limit exceeded")
	// ErrTime is matched by errors about a time that ROS 2 cannot represent.
	ErrTime = errors.New("time after 2038-01-19")
	// ErrUnsupported is matched by errors about an encapsulation other than plain CDR.
	ErrUnsupported = errors.New("unsupported encapsulation")
)

// Error says where a payload does not fit its type. It matches [ErrCorrupt], and
// io.ErrUnexpectedEOF, [ErrTrailing], [ErrLimit], [ErrTime] or [ErrUnsupported] by its reason.
type Error struct {
	Type   string // of the message, as the source of the conversion calls it
	Path   string // of the field, as "poses[3].position.x"; empty for the message itself
	Offset int    // bytes from the start of the payload, encapsulation included
	Reason string
	Err    error
}

func (e *Error) Error() string {
	at := e.Type
	if e.Path != "" {
		at += " field " + e.Path
	}
	return fmt.Sprintf("%s at byte %d: %s", at, e.Offset, e.Reason)
}

// Is matches ErrCorrupt.
func (e *Error) Is(target error) bool { return target == ErrCorrupt }

func (e *Error) Unwrap() error { return e.Err }

// in adds what the field of the error is a part of.
func (e *Error) in(path string, index int) *Error {
	if index >= 0 {
		path = fmt.Sprintf("%s[%d]", path, index)
	}
	if e.Path != "" {
		path = join(path, e.Path)
	}
	e.Path = path
	return e
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}

// Counts says what happened to values that the other side cannot represent as they were.
type Counts struct {
	// WrappedTimes counts times after 2038-01-19, which became negative in ROS 2.
	WrappedTimes int64
	// ClampedTimes counts times before 1970, which became 0 in ROS 1, and durations whose
	// seconds exceed 32 bits once their nanoseconds are brought in order, which became the
	// nearest that fits.
	ClampedTimes int64
	// NormalizedTimes counts times and durations whose nanoseconds were not in [0, 1e9).
	NormalizedTimes int64
	// DroppedValues counts values that were not empty and have no field in ROS 1.
	DroppedValues int64
}

// Add adds the counts of other.
func (c *Counts) Add(other Counts) {
	c.WrappedTimes += other.WrappedTimes
	c.ClampedTimes += other.ClampedTimes
	c.NormalizedTimes += other.NormalizedTimes
	c.DroppedValues += other.DroppedValues
}

// second is the nanoseconds of one.
const second = 1e9

// normal brings the nanoseconds of a duration between 0 and a second, and returns the bits
// of both numbers.
func (c *Counts) normal(secs, nsecs int64) (uint32, uint32) {
	c.NormalizedTimes++
	secs, nsecs = secs+nsecs/second, nsecs%second
	if nsecs < 0 {
		secs, nsecs = secs-1, nsecs+second
	}
	if secs > math.MaxInt32 {
		c.ClampedTimes++
		return math.MaxInt32, second - 1
	}
	if secs < math.MinInt32 {
		c.ClampedTimes++
		return 1 << 31, 0 // the bits of math.MinInt32
	}
	return uint32(secs), uint32(nsecs)
}

// Kind is how a value is laid out.
type Kind uint8

// The kinds of values. Integers and floats of the same width are alike.
const (
	Bool Kind = iota + 1
	Width1
	Width2
	Width4
	Width8
	String
	Time     // secs and nsecs, in ROS 2 builtin_interfaces/Time
	Duration // the same, in ROS 2 builtin_interfaces/Duration
	Level    // of a log entry: 1, 2, 4, 8 and 16 in ROS 1 are 10, 20, 30, 40 and 50 in ROS 2
	Message
)

// Array says how many elements a value has.
type Array uint8

// The kinds of arrays.
const (
	Single Array = iota
	Fixed
	Sequence
)

// Value is the type of a field, on both sides.
type Value struct {
	Kind   Kind
	Struct *Struct // of a Message
	Array  Array
	Length int // of a Fixed array, above 0; of a Sequence the most elements in ROS 2, 0 for no bound
}

// Field is a field on one side.
type Field struct {
	Name  string
	Value Value
	// Peer is the index of the field on the other side that has the same value, or -1. A
	// field without a peer is skipped in the source and empty in the result. Fields that
	// are peers of each other have the same Value.
	Peer int
}

// Struct is a message on both sides: the fields of the ROS 1 definition and of the ROS 2
// definition, in their orders.
type Struct struct {
	Name1, Name2 string
	Fields1      []Field
	Fields2      []Field
}

// LimitError says that a plan cannot be made. It matches [ErrLimit].
type LimitError struct {
	Type   string // ROS 2 name of the struct, or path of the field, to blame
	Reason string
}

func (e *LimitError) Error() string { return fmt.Sprintf("%s: %s", e.Type, e.Reason) }

// Is matches ErrLimit.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// short makes the error of a payload that ends early.
func short(path string, at int, want int64, left int) *Error {
	return &Error{
		Path: path, Offset: at, Reason: fmt.Sprintf("%d bytes expected, %d left", want, left),
		Err: io.ErrUnexpectedEOF,
	}
}
