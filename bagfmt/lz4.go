package bagfmt

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// The lz4 frames of chunks have one shape, and a chunk is in memory as a whole. So
// they are packed and unpacked here block by block, without the copies and the state
// of a stream. Frames of other shapes, and damaged ones, are left to the library.

const (
	lz4Flags       = 0x64 // version 1, independent blocks, content checksum
	lz4BlockSize   = 0x60 // 1 MiB
	lz4BlockBytes  = 1 << 20
	lz4Stored      = 1 << 31 // in a block's length: it is not packed
	lz4HeaderBytes = 7

	lz4HashLog      = 13    // a table that stays in the first level cache
	lz4MinMatch     = 4     // bytes
	lz4LastLiterals = 5     // bytes at the end that no match may cover
	lz4MatchMargin  = 12    // no match may start closer to the end
	lz4Window       = 65535 // how far back a match may be
	lz4SkipLog      = 4     // after 1<<lz4SkipLog places without a match each second one is tried, and so on
	lz4Slack        = 32    // room that fast copies of short runs may overwrite

	lz4BlockRoom = lz4BlockBytes/255 + 16 + lz4Slack // what a block may need beyond its own size
)

// lz4Table remembers where in a block four bytes were seen last.
type lz4Table [1 << lz4HashLog]uint32

// appendLZ4 adds src, packed as a frame, to dst.
func appendLZ4(dst, src []byte, table *lz4Table) []byte {
	at := len(dst)
	blocks := (len(src) + lz4BlockBytes - 1) / lz4BlockBytes
	dst = slices.Grow(dst, lz4HeaderBytes+len(src)+4*blocks+lz4BlockRoom+8)
	dst = binary.LittleEndian.AppendUint32(dst, lz4FrameMagic)
	dst = append(dst, lz4Flags, lz4BlockSize)
	dst = append(dst, byte(xxh32(dst[at+4:])>>8))
	for rest := src; len(rest) > 0; {
		block := rest[:min(len(rest), lz4BlockBytes)]
		rest = rest[len(block):]
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = appendLZ4Block(dst, block, table)
		n := uint32(len(dst) - at - 4)
		if int(n) >= len(block) {
			dst = append(dst[:at+4], block...)
			n = uint32(len(block)) | lz4Stored
		}
		binary.LittleEndian.PutUint32(dst[at:], n)
	}
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, xxh32(src))
}

func lz4Hash(v uint64) uint64 { return (v << 24) * 889523592379 >> (64 - lz4HashLog) } // of five bytes

// appendLZ4Block adds src, packed as a block, to dst: for each match a token, the
// bytes before it that have none, its distance and its length. dst has room for it and
// lz4BlockRoom more bytes.
func appendLZ4Block(dst, src []byte, table *lz4Table) []byte {
	out := len(dst)
	dst = dst[:out+len(src)+lz4BlockRoom]
	anchor := 0 // where the bytes without a match begin
	limit := len(src) - lz4MatchMargin
	clear(table[:])
	for at := 1; at <= limit; {
		ref, found := 0, false
		for tries := 1 << lz4SkipLog; at <= limit; tries++ {
			v := binary.LittleEndian.Uint64(src[at:])
			h := lz4Hash(v)
			ref = int(table[h])
			table[h] = uint32(at)
			if at-ref <= lz4Window && binary.LittleEndian.Uint32(src[ref:]) == uint32(v) {
				found = true
				break
			}
			at += tries >> lz4SkipLog
		}
		if !found {
			break
		}
		for at > anchor && ref > 0 && src[at-1] == src[ref-1] {
			at--
			ref--
		}
		for found {
			n := lz4MinMatch + matchLength(src[at+lz4MinMatch:len(src)-lz4LastLiterals], src[ref+lz4MinMatch:])
			out = putLZ4Sequence(dst, out, src, anchor, at, at-ref, n)
			at += n
			anchor = at
			if at > limit {
				break
			}
			table[lz4Hash(binary.LittleEndian.Uint64(src[at-2:]))] = uint32(at - 2)
			v := binary.LittleEndian.Uint64(src[at:])
			h := lz4Hash(v)
			ref = int(table[h])
			table[h] = uint32(at)
			found = at-ref <= lz4Window && binary.LittleEndian.Uint32(src[ref:]) == uint32(v)
		}
		at++
	}
	literals := src[anchor:]
	dst[out] = byte(min(len(literals), 15)) << 4
	out = putLZ4Length(dst, out+1, len(literals))
	out += copy(dst[out:], literals)
	return dst[:out]
}

// putLZ4Sequence writes one match of n bytes at src[at], distance before it, and the
// bytes from anchor to it. It returns the end of what it wrote.
func putLZ4Sequence(dst []byte, out int, src []byte, anchor, at, distance, n int) int {
	literals := at - anchor
	token := out
	out = putLZ4Length(dst, out+1, literals)
	if literals <= 16 && anchor+16 <= len(src) {
		*(*[16]byte)(dst[out:]) = *(*[16]byte)(src[anchor:])
	} else {
		copy(dst[out:], src[anchor:at])
	}
	out += literals
	binary.LittleEndian.PutUint16(dst[out:], uint16(distance))
	n -= lz4MinMatch
	dst[token] = byte(min(literals, 15))<<4 | byte(min(n, 15))
	return putLZ4Length(dst, out+2, n)
}

// putLZ4Length writes what of n does not fit the token.
func putLZ4Length(dst []byte, out, n int) int {
	if n < 15 {
		return out
	}
	for n -= 15; n >= 255; n -= 255 {
		dst[out] = 255
		out++
	}
	dst[out] = byte(n)
	return out + 1
}

// matchLength returns how many bytes at the start of a and b are equal. b is longer.
func matchLength(a, b []byte) int {
	n := 0
	for len(a) >= 8 && len(b) >= 8 {
		if x := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		a, b = a[8:], b[8:]
		n += 8
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return n + i
		}
	}
	return n + min(len(a), len(b))
}

// unpackLZ4 unpacks a frame of the shape that chunks have wholly into dst. It reports
// false if the frame is of another shape or there is anything wrong with it. The
// frame's checksum is not compared if a checksum of src has been: that says more.
func unpackLZ4(dst, src []byte, checked bool) bool {
	const head, tail = lz4HeaderBytes, 8
	if len(src) < head+tail || binary.LittleEndian.Uint32(src) != lz4FrameMagic ||
		src[4] != lz4Flags || src[5]&0x8f != 0 || src[5] < 0x40 || src[6] != byte(xxh32(src[4:6])>>8) {
		return false
	}
	most := 1 << (8 + 2*(src[5]>>4)) // bytes of a block
	whole, sum := dst, binary.LittleEndian.Uint32(src[len(src)-4:])
	src = src[head : len(src)-4]
	for {
		if len(src) < 4 {
			return false
		}
		n := binary.LittleEndian.Uint32(src)
		src = src[4:]
		if n == 0 {
			break
		}
		stored := n&lz4Stored != 0
		n &^= lz4Stored
		if int64(n) > int64(min(len(src), most)) || len(dst) == 0 {
			return false
		}
		room := dst[:min(len(dst), most)]
		var got int
		if stored {
			if got = copy(room, src[:n]); got < int(n) {
				return false
			}
		} else {
			var err error
			if got, err = lz4.UncompressBlock(src[:n], room); err != nil {
				return false
			}
		}
		src, dst = src[n:], dst[got:]
	}
	return len(src) == 0 && len(dst) == 0 && (checked || xxh32(whole) == sum)
}

const (
	xxhPrime1 = 2654435761
	xxhPrime2 = 2246822519
	xxhPrime3 = 3266489917
	xxhPrime4 = 668265263
	xxhPrime5 = 374761393
)

// xxh32 is the checksum of lz4 frames, with seed 0.
func xxh32(b []byte) uint32 {
	h := uint32(len(b))
	if len(b) < 16 {
		h += xxhPrime5
	} else {
		var one uint32 = xxhPrime1
		v1, v2, v3, v4 := one+xxhPrime2, uint32(xxhPrime2), uint32(0), -one
		for ; len(b) >= 16; b = b[16:] {
			p := (*[16]byte)(b)
			v1 = bits.RotateLeft32(v1+binary.LittleEndian.Uint32(p[0:])*xxhPrime2, 13) * xxhPrime1
			v2 = bits.RotateLeft32(v2+binary.LittleEndian.Uint32(p[4:])*xxhPrime2, 13) * xxhPrime1
			v3 = bits.RotateLeft32(v3+binary.LittleEndian.Uint32(p[8:])*xxhPrime2, 13) * xxhPrime1
			v4 = bits.RotateLeft32(v4+binary.LittleEndian.Uint32(p[12:])*xxhPrime2, 13) * xxhPrime1
		}
		h += bits.RotateLeft32(v1, 1) + bits.RotateLeft32(v2, 7) + bits.RotateLeft32(v3, 12) + bits.RotateLeft32(v4, 18)
	}
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxhPrime3, 17) * xxhPrime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*xxhPrime5, 11) * xxhPrime1
	}
	h ^= h >> 15
	h *= xxhPrime2
	h ^= h >> 13
	h *= xxhPrime3
	return h ^ h>>16
}
