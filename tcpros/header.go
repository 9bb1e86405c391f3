package tcpros

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/internal/fields"
)

// maxHeaderBytes bounds a connection header. Stock accepts 1 GB; the longest real
// ones, message definitions with all they depend on, hold some 50 kB.
const maxHeaderBytes = 1 << 20

// blockStep is what readBlock allocates before a byte came.
const blockStep = 4 << 10

// Header is a TCPROS connection header: every field in wire order.
type Header []fields.Field

// Get returns the value of the first field named key.
func (h Header) Get(key string) (value string, ok bool) { return fields.List(h).Get(key) }

// get returns the value of key, or the empty string.
func (h Header) get(key string) string {
	v, _ := h.Get(key)
	return v
}

// checkPublisher reports what keeps h from being the reply of a publisher that has
// accepted a link.
func (h Header) checkPublisher() error {
	if text, ok := h.Get("error"); ok {
		return &PeerError{text}
	}
	for _, key := range []string{"md5sum", "type"} {
		if _, ok := h.Get(key); !ok {
			return &HeaderError{Reason: "Publisher header did not have required element: " + key}
		}
	}
	return nil
}

// AppendHeader adds the header as it goes on the wire, length first, to dst.
func AppendHeader(dst []byte, h Header) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(fields.List(h).Size()))
	return fields.List(h).Append(dst)
}

// ReadHeader reads a header, length first. It never reads beyond the header, and
// memory follows what arrived, not what was announced. The error is a *HeaderError
// for bytes that are no header, and r's own otherwise; io.EOF means that nothing
// was sent at all.
func ReadHeader(r io.Reader) (Header, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(length[:]))
	if n > maxHeaderBytes {
		return nil, &HeaderError{Reason: fmt.Sprintf("%d bytes, limit %d", n, maxHeaderBytes)}
	}
	block, err := readBlock(r, n)
	if err != nil {
		return nil, err
	}
	l, err := fields.Parse(block)
	if err != nil {
		return nil, &HeaderError{Reason: "invalid fields", Err: err}
	}
	return Header(l), nil
}

// readBlock reads n bytes. Memory follows what arrived, not what was announced.
func readBlock(r io.Reader, n int64) ([]byte, error) {
	block := make([]byte, 0, min(n, blockStep))
	for int64(len(block)) < n {
		at := len(block)
		block = slices.Grow(block, int(min(n-int64(at), max(int64(at), blockStep))))
		block = block[:min(int64(cap(block)), n)]
		if _, err := io.ReadFull(r, block[at:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return block, nil
}
