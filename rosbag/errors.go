package rosbag

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that callers distinguish with errors.Is.
var (
	ErrNotBag    = errors.New("not a bag")
	ErrVersion   = errors.New("unsupported bag version")
	ErrUnindexed = errors.New("unindexed bag")
	ErrEncrypted = errors.New("encrypted bag")
	ErrCorrupt   = errors.New("corrupt bag")
	ErrLimit     = errors.New("limit exceeded")
	ErrClosed    = errors.New("writer is closed")
	ErrCanceled  = errors.New("canceled") // by Query.Cancel
	ErrLeftOut   = errors.New("topic left out")
)

// VersionError says that a bag is of a version that is not read.
type VersionError struct {
	Version string // for example "1.3"; of an MCAP file, "MCAP " and what stands for it there, quoted
}

// Error implements error.
func (e *VersionError) Error() string {
	if v, ok := strings.CutPrefix(e.Version, "MCAP "); ok {
		return fmt.Sprintf("file of MCAP version %.20s; this reader knows version 0", v)
	}
	if e.Version == "mcap" {
		return "file of MCAP, where a bag of version 2.0 is needed"
	}
	note := ""
	switch e.Version {
	case "1.3": // for one day, in the sources only
		note = ", which was never released"
	case "0", "1.0", "1.1", "1.2": // which are read, but not added to
		return fmt.Sprintf("bag version %s, where a bag of version 2.0 is needed", e.Version)
	}
	return fmt.Sprintf("bag version %s%s; this reader knows 0, 1.0, 1.1, 1.2 and 2.0", e.Version, note)
}

// Is reports whether target is ErrVersion.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// CorruptError says where a bag is damaged and how. It matches ErrCorrupt. A bag
// that ends too early also matches io.ErrUnexpectedEOF.
type CorruptError struct {
	Offset int64 // start of the damaged record in the file; for records inside a chunk, of the chunk
	Op     Op    // kind of that record, 0 if it is unknown
	Reason string
	Err    error // cause, may be nil
	// Recovered says that only an index is damaged and the chunk, which is whole, gave
	// all its messages: nothing is lost. Cursors and Info().Damage set it.
	Recovered bool
}

// Error implements error.
func (e *CorruptError) Error() string {
	what := "record"
	if e.Op != 0 {
		what = e.Op.String()
	}
	s := fmt.Sprintf("%s at %d: %s", what, e.Offset, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// LimitError says that a bag needs more than the limits of the reader allow. It
// matches ErrLimit. The bag may be sound.
type LimitError struct {
	Offset int64 // start of the record in the file; for a chunk and what is in it, of the chunk
	Op     Op
	What   string // for example "chunk size"
	Got    int64
	Limit  int64
}

// Error implements error.
func (e *LimitError) Error() string {
	what := "record"
	if e.Op != 0 {
		what = e.Op.String()
	}
	return fmt.Sprintf("%s at %d: %s of %d bytes, limit %d", what, e.Offset, e.What, e.Got, e.Limit)
}

// Is reports whether target is ErrLimit.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// ReadError says where reading a file has failed, on a disk or in a store: its content may be intact.
type ReadError struct {
	Offset int64
	Err    error
}

// Error implements error.
func (e *ReadError) Error() string { return fmt.Sprintf("read at %d: %v", e.Offset, e.Err) }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// EncodingError says that the messages of a topic of a file are not those of ROS, and are left out.
// It matches ErrLeftOut.
type EncodingError struct {
	Topic          string
	Encoding       string // of the messages, for example "cdr"
	Schema         string // name; empty if there is none
	SchemaEncoding string // for example "ros2msg"
	ROS2           bool   // the other messages of the file are those of ROS 2
}

// Error implements error.
func (e *EncodingError) Error() string {
	schema := "without a schema"
	if e.SchemaEncoding != "" {
		schema = fmt.Sprintf("with a schema %.80q", e.SchemaEncoding)
	}
	want := `ROS 1 has "ros1" with "ros1msg"`
	if e.ROS2 {
		want = `ROS 2 has "cdr"`
	}
	return fmt.Sprintf("messages of topic %.200q are left out: they are encoded as %.80q %s, where %s",
		e.Topic, e.Encoding, schema, want)
}

// Is reports whether target is ErrLeftOut.
func (e *EncodingError) Is(target error) bool { return target == ErrLeftOut }

// TopicError says what is wrong with messages of a topic. It matches ErrCorrupt or, if the topic is left
// out, ErrLeftOut: then the recording is as it was written.
type TopicError struct {
	// with the topic and the type that selections choose by; none of the recording if the topic is left
	// out
	Conn *Connection
	// no message of the topic is given out
	LeftOut bool
	Err     error
}

// Error implements error.
func (e *TopicError) Error() string {
	if e.LeftOut {
		return fmt.Sprintf("topic %s is left out: %v", e.Conn.Topic, e.Err)
	}
	return fmt.Sprintf("topic %s: %v", e.Conn.Topic, e.Err)
}

// Is reports whether target is ErrCorrupt, or ErrLeftOut if the topic is left out.
func (e *TopicError) Is(target error) bool {
	if e.LeftOut {
		return target == ErrLeftOut
	}
	return target == ErrCorrupt
}

// Unwrap returns the cause.
func (e *TopicError) Unwrap() error { return e.Err }

// aboutTopic returns a connection with the topic and the type that an error is about. Who published the
// messages may be unknown. The connection is nil for errors about the file and about several topics.
func aboutTopic(err error) *Connection {
	var encoding *EncodingError
	var topic *TopicError
	switch {
	case errors.As(err, &encoding):
		name := strings.Replace(encoding.Schema, "/msg/", "/", 1) // ROS 2 says std_msgs/msg/String
		return &Connection{Topic: encoding.Topic, Header: Header{{KeyType, name}}}
	case errors.As(err, &topic):
		return topic.Conn
	}
	return nil
}

// Concerns reports whether an error is about messages that keep selects by topic and type; nil selects
// all. Errors about the file, and about several topics, concern every selection.
func Concerns(err error, keep func(*Connection) bool) bool {
	c := aboutTopic(err)
	return c == nil || keep == nil || keep(c)
}
