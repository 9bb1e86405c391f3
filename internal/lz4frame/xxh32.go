package lz4frame

import (
	"encoding/binary"
	"math/bits"
)

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
