// Package wire has the parts that all connections of TCPROS share: connection headers, blocks that are
// read as their bytes arrive, limits of messages and timeouts, and Pending, the one account of the
// unfinished input of all peers of a node. Only Pending has a lock. Package tcpros and the packages below
// it call it; nothing else does.
package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// maxHeaderBytes bounds a connection header. Stock accepts 1 GB; the longest real headers,
// with long message definitions, have about 50 kB.
const maxHeaderBytes = 1 << 20

// blockStep is the bytes of the first allocation of ReadBlock: enough for most headers of
// subscribers.
const blockStep = 1 << 10

// fieldCost is the bytes of memory of a parsed field besides its text.
const fieldCost = 32

// Header is a TCPROS connection header: every field in wire order.
type Header []fields.Field

// Get returns the value of the first field named key.
func (h Header) Get(key string) (value string, ok bool) { return fields.List(h).Get(key) }

// Value returns the value of key, or the empty string.
func (h Header) Value(key string) string {
	v, _ := h.Get(key)
	return v
}

// CheckPublisher returns an error unless h is the reply of a publisher that accepts a link.
func (h Header) CheckPublisher() error {
	if text, ok := h.Get("error"); ok {
		return &PeerError{names.Clip(text)} // the text may be long, and is logged
	}
	for _, key := range []string{"md5sum", "type"} {
		if _, ok := h.Get(key); !ok {
			return &HeaderError{Reason: "Publisher header did not have required element: " + key}
		}
	}
	return nil
}

// AppendHeader appends the wire form of the header, with its length, to dst.
func AppendHeader(dst []byte, h Header) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(fields.List(h).Size()))
	return fields.List(h).Append(dst)
}

// ReadHeader reads a header with its length. It never reads beyond the header, and allocates
// memory for bytes that have arrived, not for announced ones. The error is a *HeaderError for
// an invalid header, and otherwise the error of r; io.EOF means that no byte was sent.
func ReadHeader(r io.Reader) (Header, error) {
	return ReadHeaderFrom(r, func(int64) error { return nil })
}

// ReadHeaderFrom is ReadHeader with memory accounting: it calls reserve with the total number of
// bytes before allocating them, and stops at an error of reserve. The last call passes the number
// of bytes that the header retains.
func ReadHeaderFrom(r io.Reader, reserve func(bytes int64) error) (Header, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(length[:]))
	if n > maxHeaderBytes {
		return nil, &HeaderError{
			Reason: fmt.Sprintf("%d bytes, limit %d", n, maxHeaderBytes),
			Err:    ErrHeaderTooLong,
		}
	}
	block, err := ReadBlock(r, n, reserve)
	if err != nil {
		return nil, err
	}
	if err := reserve(2 * n); err != nil { // the fields are copies of the block
		return nil, err
	}
	l, err := fields.Parse(block)
	if err != nil {
		return nil, &HeaderError{Reason: "invalid fields", Err: err}
	}
	return Header(l), reserve(int64(l.Size() + fieldCost*len(l)))
}

// ReadBlock reads n bytes into a buffer that doubles when it is full, so that memory is
// allocated for bytes that have arrived. It calls reserve before each allocation.
func ReadBlock(r io.Reader, n int64, reserve func(bytes int64) error) ([]byte, error) {
	var block []byte
	for at := 0; int64(at) < n; at = len(block) {
		size := min(n, max(2*int64(at), blockStep))
		if err := reserve(size); err != nil {
			return nil, err
		}
		block = append(make([]byte, 0, size), block...)[:size]
		if _, err := io.ReadFull(r, block[at:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return block, nil
}
