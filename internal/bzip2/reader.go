package bzip2

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	dsnet "github.com/dsnet/compress/bzip2"
)

// IsStream reports whether b begins as a stream does.
func IsStream(b []byte) bool { return bytes.HasPrefix(b, []byte("BZh")) }

// Reader unpacks one stream after the other, with the faster of two decoders where the
// data is not hostile to it. Reset comes before the first Read, and may come at any time
// after it. It is not for concurrent use.
type Reader struct {
	src   bytes.Reader
	fast  *dsnet.Reader
	dirty bool // fast was not read to its end
	r     io.Reader
}

// Reset makes r unpack data, which has to stay as it is as long as r is read.
func (r *Reader) Reset(data []byte) error {
	r.src.Reset(data)
	if deepHoles(data) {
		r.r = bzip2.NewReader(&r.src)
		return nil
	}
	if r.fast == nil || r.dirty {
		// After a Reset it would put before the next data what was not read of the last.
		r.fast = new(dsnet.Reader)
	}
	r.r, r.dirty = r.fast, true
	return r.fast.Reset(&r.src)
}

// Read implements io.Reader. io.EOF says that all checksums were right.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if errors.Is(err, io.EOF) && r.r == io.Reader(r.fast) {
		r.dirty = false
	}
	return n, err
}
