package bzip2

import "math/bits"

// The fast decoder looks at every path in a Huffman tree that has holes: in a tree of 20
// levels a million of them, for a few bytes of input. No compressor makes deep trees with
// holes. So data is looked through for such trees before it is unpacked, and is given to
// the slower standard library if it has any.

const (
	blockMagic    = 0x314159265359 // at the start of each block, at any bit
	magicBits     = 48
	maxTreeDepth  = 20 // levels of a tree
	safeTreeDepth = 12 // levels of a tree with holes that may be looked at
)

// magicShifts maps the value of a byte within the magic, which begins in an earlier
// one, to the bits by which it may be shifted.
var magicShifts = func() (shifts [256]uint8) {
	for shift := range 8 {
		shifts[byte(uint64(blockMagic)>>(24+shift))] |= 1 << shift
	}
	return shifts
}()

// deepHoles reports whether b, bzip2 data, may have deep trees with holes.
func deepHoles(b []byte) bool {
	budget := 16*len(b) + 1<<16 // bits that may be parsed: blocks do not overlap
	for i := 2; i+3 < len(b); i++ {
		shifts := magicShifts[b[i]]
		for ; shifts != 0; shifts &= shifts - 1 {
			// The byte is bits 24+shift and up of the magic, and so ends that many before its end.
			end := (i+1)*8 + 24 + bits.TrailingZeros8(shifts)
			r := bitReader{b: b, at: end - magicBits}
			if r.at < 0 || r.take(24)<<24|r.take(24) != blockMagic {
				continue
			}
			holes := r.holes()
			if budget -= r.at - end; holes || budget < 0 {
				return true
			}
		}
	}
	return false
}

// bitReader reads bits. Behind the end of b there are zeros.
type bitReader struct {
	b  []byte
	at int
}

func (r *bitReader) take(n int) (v uint64) {
	for range n {
		v <<= 1
		if i := r.at >> 3; i < len(r.b) {
			v |= uint64(r.b[i]>>(7-r.at&7)) & 1
		}
		r.at++
	}
	return v
}

func (r *bitReader) over() bool { return r.at > 8*len(r.b) }

// holes parses what comes between the magic of a block and its data.
func (r *bitReader) holes() bool {
	r.at += 32 + 1 + 24 // checksum, randomized, origin
	symbols := 2
	for range bits.OnesCount64(r.take(16)) {
		symbols += bits.OnesCount64(r.take(16))
	}
	trees, selectors := r.take(3), r.take(15)
	for range selectors {
		for r.take(1) == 1 && !r.over() {
		}
	}
	for range trees {
		n, most, sum := int(r.take(5)), 0, 0
		for range symbols {
			for r.take(1) == 1 && !r.over() {
				n += 1 - 2*int(r.take(1))
			}
			if n < 1 || n > maxTreeDepth || r.over() {
				return false // the library refuses it before it makes trees
			}
			most = max(most, n)
			sum += 1 << (maxTreeDepth - n)
		}
		if sum < 1<<maxTreeDepth && most > safeTreeDepth {
			return true
		}
	}
	return false
}
