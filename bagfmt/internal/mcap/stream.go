package mcap

import (
	"fmt"
	"math"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ReadHead reads the op and the length of the record that s is at, io.EOF at the end of the input.
func ReadHead(s *wire.Stream) (op Op, n int64, err error) {
	start := s.Off
	b, err := s.R.Peek(HeadBytes)
	if err != nil {
		switch {
		case !wire.IsEnd(err):
			return 0, 0, wire.ReadError(start, err)
		case len(b) == 0:
			return 0, 0, err
		}
		return 0, 0, wire.Torn(start, 0, "head", int64(len(b)), HeadBytes)
	}
	op, length := ParseHead(b)
	if op == 0 || length > math.MaxInt64/4 {
		return op, 0, wire.Corrupt(start, op.Bag(), "record of kind %#02x with %d bytes", byte(op), length)
	}
	return op, int64(length), s.Skip(HeadBytes, start, op.Bag())
}

// ReadSmall reads the content of the record that s is at, which is of the kind want. The result is valid
// until the next read.
func ReadSmall(s *wire.Stream, want Op) ([]byte, error) {
	start := s.Off
	op, n, err := ReadHead(s)
	switch {
	case err != nil && wire.IsEnd(err) && wire.AsCorrupt(err) == nil:
		return nil, wire.Torn(start, want.Bag(), "head", 0, HeadBytes)
	case err != nil:
		return nil, err
	case op != want:
		return nil, wire.Corrupt(start, want.Bag(), "record of kind %#02x, not %#02x", byte(op), byte(want))
	}
	return Grab(s, op, n, start)
}

// Grab reads the content, of n bytes, of the record at start, after its head. The result is valid until
// the next read.
func Grab(s *wire.Stream, op Op, n, start int64) ([]byte, error) {
	limit := int64(MaxSmallBytes)
	if op == OpMessageIndex { // that of a chunk of 2 GiB may be as large
		limit = math.MaxInt32
	}
	switch {
	case n <= limit:
	case op == OpMessageIndex:
		// no chunk has so many messages: its length is wrong, and the chunk has the messages
		return nil, wire.Corrupt(start, op.Bag(), "message index of %d bytes", n)
	default:
		return nil, &rosbag.LimitError{
			Offset: start, Op: op.Bag(),
			What: fmt.Sprintf("record of kind %#02x", byte(op)), Got: n, Limit: limit,
		}
	}
	return s.Grab(n, start, op.Bag())
}

// CheckMessageBytes returns an error for a message record at pos, with n bytes of content, that is too
// small or too large.
func CheckMessageBytes(pos, n int64) error {
	if n < MessageHeadBytes {
		return wire.Corrupt(pos, rosbag.OpMessage, "record of %d bytes", n)
	}
	return wire.CheckMessageBytes(pos, n-MessageHeadBytes)
}
