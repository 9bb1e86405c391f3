// Package fields reads and writes the "length, key=value" blocks that ROS 1 uses
// both in TCPROS connection headers and in bag record headers.
//
// A block is a run of fields, each <u32 little endian length><key>=<value>. The length of the whole
// block is not part of the block: the callers read and write the length. The package never
// allocates more than a small multiple of its input, keeps the order and the bytes of unknown
// fields, and interprets no key.
package fields

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Limits on what Parse accepts. Stock ROS has none; real headers have about ten fields with keys of
// at most 18 bytes.
const (
	MaxFields   = 256 // fields in one block
	MaxKeyBytes = 256 // bytes in one key
)

// ErrCorrupt matches every error that this package returns.
var ErrCorrupt = errors.New("corrupt block")

// CorruptError says where in a block the first fault is.
type CorruptError struct {
	Offset int // bytes from the start of the block
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("at %d: %s", e.Offset, e.Reason)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Field is one key and its value. It is the type of package rosbag, so that headers of peers are
// stored in recordings without a copy.
type Field = rosbag.Field

// List is the fields of a block in their original order. Keys may repeat; Get returns the value of
// the first.
type List []Field

// Get returns the value of the first field named key.
func (l List) Get(key string) (value string, ok bool) {
	for i := range l {
		if l[i].Key == key {
			return l[i].Value, true
		}
	}
	return "", false
}

// Size returns the number of bytes that Append adds.
func (l List) Size() int {
	n := 0
	for i := range l {
		n += 4 + len(l[i].Key) + 1 + len(l[i].Value)
	}
	return n
}

// Append adds the block to dst and returns the extended slice.
func (l List) Append(dst []byte) []byte {
	for i := range l {
		dst = Append(dst, l[i].Key, l[i].Value)
	}
	return dst
}

// Append adds one field to dst and returns the extended slice.
func Append[V string | []byte](dst []byte, key string, value V) []byte {
	// A field never reaches 4 GiB: every caller bounds a block at far less.
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(key)+1+len(value)))
	dst = append(dst, key...)
	dst = append(dst, '=')
	return append(dst, value...)
}

// Parse reads a whole block of at most MaxFields fields. The result shares no
// memory with b.
func Parse(b []byte) (List, error) { return ParseLimit(b, MaxFields) }

// ParseLimit is Parse with another limit on the number of fields.
func ParseLimit(b []byte, limit int) (List, error) {
	var l List
	if n := count(b, limit); n > 0 {
		l = make(List, 0, n) // a field of 6 bytes uses 32 bytes here: growing the list would double them
	}
	for rest := b; len(rest) > 0; {
		at := len(b) - len(rest)
		if len(l) == limit {
			return nil, &CorruptError{at, fmt.Sprintf("more than %d fields", limit)}
		}
		key, value, tail, err := Next(rest)
		if err != nil {
			var c *CorruptError
			if errors.As(err, &c) {
				return nil, &CorruptError{at + c.Offset, c.Reason}
			}
			return nil, err
		}
		l = append(l, Field{Key: string(key), Value: string(value)})
		rest = tail
	}
	return l, nil
}

// count returns the number of fields in b, as far as their lengths tell, at most limit.
func count(b []byte, limit int) int {
	n := 0
	for ; n < limit && len(b) >= 4; n++ {
		length := int64(binary.LittleEndian.Uint32(b))
		if length > int64(len(b)-4) {
			break
		}
		b = b[4+length:]
	}
	return n
}

// Next cuts the first field off b. key, value and rest share b's memory, so that
// a reader of many small blocks allocates nothing.
func Next(b []byte) (key, value, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, nil, &CorruptError{0, fmt.Sprintf("field length needs 4 bytes, %d left", len(b))}
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if left := int64(len(b) - 4); n > left {
		return nil, nil, nil, &CorruptError{0, fmt.Sprintf("field of %d bytes, %d left", n, left)}
	}
	f := b[4 : 4+n : 4+n]
	eq := bytes.IndexByte(f, '=') // the value may contain further '=': only the first one separates
	switch {
	case eq < 0:
		return nil, nil, nil, &CorruptError{4, fmt.Sprintf("field %q has no '='", head(f))}
	case eq == 0:
		return nil, nil, nil, &CorruptError{4, "field with an empty key"}
	case eq > MaxKeyBytes:
		return nil, nil, nil, &CorruptError{4, fmt.Sprintf("key of %d bytes, limit %d", eq, MaxKeyBytes)}
	}
	return f[:eq:eq], f[eq+1:], b[4+n:], nil
}

// head is the start of a field, short enough for an error message.
func head(f []byte) string {
	const most = 32
	if len(f) <= most {
		return string(f)
	}
	return strings.ToValidUTF8(string(f[:most]), "?") + "..."
}
