package bzip2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrCorrupt is in every error about data that is wrong, but not about data that ends too
// early: that is io.ErrUnexpectedEOF.
var ErrCorrupt = errors.New("corrupt")

// bitReader reads bits, the first one highest. Behind the end of data there are zeros.
type bitReader struct {
	data []byte
	next int    // the byte of data that follows those in word, or a place after the end
	word uint64 // the next bits, the first one highest
	held uint   // how many of word have been counted
}

// refill makes word hold 56 bits or more.
func (r *bitReader) refill() {
	if r.next+8 <= len(r.data) {
		r.word |= binary.BigEndian.Uint64(r.data[r.next:]) >> (r.held & 63)
		r.next += int(63-r.held) >> 3
		r.held |= 56
		return
	}
	for ; r.held < 56; r.held += 8 {
		if r.next < len(r.data) {
			r.word |= uint64(r.data[r.next]) << (56 - r.held)
		}
		r.next++
	}
}

// take returns the next n bits, at most 48.
func (r *bitReader) take(n uint) uint64 {
	if r.held < n {
		r.refill()
	}
	v := r.word >> (64 - n)
	r.word <<= n
	r.held -= n
	return v
}

// left returns how many bits are left. It is negative if bits after the end were read.
func (r *bitReader) left() int { return 8*(len(r.data)-r.next) + int(r.held) }

// corrupt returns an error with the place and the reason, or io.ErrUnexpectedEOF if bits after the end were
// read.
func (r *bitReader) corrupt(reason string) error {
	if r.left() < 0 {
		return io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w at byte %d: %s", ErrCorrupt, len(r.data)-r.left()/8, reason)
}
