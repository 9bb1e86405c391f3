package depth

import (
	"encoding/binary"
	"fmt"

	"github.com/gorosbag/gorosbag/internal/view/picture/internal/encoding"
)

// A picture of RVL has at most so many pixels. Where nothing was measured, a few bytes stand for any
// number of them; elsewhere a pixel takes at least half a byte.
const (
	rvlPixels        = 4 << 20 // more than a depth camera has
	rvlPixelsPerByte = 2
	rvlHead          = 8 // columns and rows
)

// decodeRVL decodes the code of runs and deltas of "Fast lossless depth image compression" (Wilson, 2017).
func decodeRVL(body []byte, checkSize func(width, height int64) error) (*matrix, error) {
	if len(body) < rvlHead {
		return nil, fmt.Errorf("%w: RVL of %d bytes", encoding.ErrCorrupt, len(body))
	}
	width, height := int64(binary.LittleEndian.Uint32(body)), int64(binary.LittleEndian.Uint32(body[4:]))
	if err := checkSize(width, height); err != nil {
		return nil, err
	}
	n := width * height
	if n > rvlPixels && n > rvlPixelsPerByte*int64(len(body)) {
		return nil, fmt.Errorf("%w: RVL of %d x %d pixels in %d bytes", encoding.ErrCorrupt, width, height,
			len(body))
	}
	pixels := make([]uint16, n)
	code := nibbles{words: body[rvlHead:]}
	var value uint16
	for at := 0; at < len(pixels); {
		zeros, more := code.number(), code.number()
		left := len(pixels) - at
		if code.ended || zeros > left || more > left-zeros || zeros+more == 0 {
			return nil, fmt.Errorf("%w: RVL ends or goes astray at pixel %d of %d", encoding.ErrCorrupt, at, n)
		}
		at += zeros
		for range more {
			delta := code.number()
			value += uint16(delta>>1) ^ -uint16(delta&1)
			pixels[at] = value
			at++
		}
	}
	if code.ended {
		return nil, fmt.Errorf("%w: RVL ends before its last pixel", encoding.ErrCorrupt)
	}
	return &matrix{int(width), int(height), func(x, y int) uint16 { return pixels[y*int(width)+x] }}, nil
}

// nibbles reads numbers of three bits each nibble, the lowest first, from 32-bit words that begin with their
// highest nibble.
type nibbles struct {
	words []byte
	word  uint32
	left  int // nibbles of the word
	ended bool
}

// number reads a number, below 1 << 30.
func (n *nibbles) number() int {
	value := 0
	for shift := 0; shift < 30; shift += 3 {
		if n.left == 0 {
			if len(n.words) < 4 {
				n.ended = true
				return 0
			}
			n.word, n.words, n.left = binary.LittleEndian.Uint32(n.words), n.words[4:], 8
		}
		nibble := int(n.word >> 28)
		n.word <<= 4
		n.left--
		value |= (nibble & 7) << shift
		if nibble&8 == 0 {
			break
		}
	}
	return value
}
