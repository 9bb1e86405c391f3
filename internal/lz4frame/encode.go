package lz4frame

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	magic       = 0x184D2204
	flags       = 0x64 // version 1, independent blocks, content checksum
	blockSizeID = 0x60 // 1 MiB
	blockBytes  = 1 << 20
	storedBit   = 1 << 31 // in a block's length: it is not packed
	headerBytes = 7

	hashBits     = 13    // a table that stays in the first level cache
	minMatch     = 4     // bytes
	lastLiterals = 5     // bytes at the end that no match may cover
	matchMargin  = 12    // no match may start closer to the end
	window       = 65535 // how far back a match may be
	skipBits     = 4     // after 1<<skipBits places without a match each second one is tried, and so on
	copySlack    = 32    // room that fast copies of short runs may overwrite

	blockRoom = blockBytes/255 + 16 + copySlack // what a block may need beyond its own size
)

// Encoder packs frames. The zero value is ready; it is not for concurrent use.
type Encoder struct {
	seen [1 << hashBits]uint32 // where in the block four bytes with that hash were seen last
}

// Append adds src, packed as one frame, to dst.
func (e *Encoder) Append(dst, src []byte) []byte {
	at := len(dst)
	blocks := (len(src) + blockBytes - 1) / blockBytes
	dst = slices.Grow(dst, headerBytes+len(src)+4*blocks+blockRoom+8)
	dst = binary.LittleEndian.AppendUint32(dst, magic)
	dst = append(dst, flags, blockSizeID)
	dst = append(dst, byte(xxh32(dst[at+4:])>>8))
	for rest := src; len(rest) > 0; {
		block := rest[:min(len(rest), blockBytes)]
		rest = rest[len(block):]
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = e.appendBlock(dst, block)
		n := uint32(len(dst) - at - 4)
		if int(n) >= len(block) {
			dst = append(dst[:at+4], block...)
			n = uint32(len(block)) | storedBit
		}
		binary.LittleEndian.PutUint32(dst[at:], n)
	}
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, xxh32(src))
}

func hash(v uint64) uint64 { return (v << 24) * 889523592379 >> (64 - hashBits) } // of five bytes

// appendBlock adds src, packed as a block, to dst: for each match a token, the
// bytes before it that have none, its distance and its length. dst has room for it and
// blockRoom more bytes.
func (e *Encoder) appendBlock(dst, src []byte) []byte {
	out := len(dst)
	dst = dst[:out+len(src)+blockRoom]
	anchor := 0 // where the bytes without a match begin
	limit := len(src) - matchMargin
	clear(e.seen[:])
	for at := 1; at <= limit; {
		ref, found := 0, false
		for tries := 1 << skipBits; at <= limit; tries++ {
			v := binary.LittleEndian.Uint64(src[at:])
			h := hash(v)
			ref = int(e.seen[h])
			e.seen[h] = uint32(at)
			if at-ref <= window && binary.LittleEndian.Uint32(src[ref:]) == uint32(v) {
				found = true
				break
			}
			at += tries >> skipBits
		}
		if !found {
			break
		}
		for at > anchor && ref > 0 && src[at-1] == src[ref-1] {
			at--
			ref--
		}
		for found {
			n := minMatch + matchLength(src[at+minMatch:len(src)-lastLiterals], src[ref+minMatch:])
			out = putSequence(dst, out, src, anchor, at, at-ref, n)
			at += n
			anchor = at
			if at > limit {
				break
			}
			e.seen[hash(binary.LittleEndian.Uint64(src[at-2:]))] = uint32(at - 2)
			v := binary.LittleEndian.Uint64(src[at:])
			h := hash(v)
			ref = int(e.seen[h])
			e.seen[h] = uint32(at)
			found = at-ref <= window && binary.LittleEndian.Uint32(src[ref:]) == uint32(v)
		}
		at++
	}
	literals := src[anchor:]
	dst[out] = byte(min(len(literals), 15)) << 4
	out = putLength(dst, out+1, len(literals))
	out += copy(dst[out:], literals)
	return dst[:out]
}

// putSequence writes one match of n bytes at src[at], distance before it, and the
// bytes from anchor to it. It returns the end of what it wrote.
func putSequence(dst []byte, out int, src []byte, anchor, at, distance, n int) int {
	literals := at - anchor
	token := out
	out = putLength(dst, out+1, literals)
	if literals <= 16 && anchor+16 <= len(src) {
		*(*[16]byte)(dst[out:]) = *(*[16]byte)(src[anchor:])
	} else {
		copy(dst[out:], src[anchor:at])
	}
	out += literals
	binary.LittleEndian.PutUint16(dst[out:], uint16(distance))
	n -= minMatch
	dst[token] = byte(min(literals, 15))<<4 | byte(min(n, 15))
	return putLength(dst, out+2, n)
}

// putLength writes what of n does not fit the token.
func putLength(dst []byte, out, n int) int {
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
