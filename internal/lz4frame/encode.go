package lz4frame

import (
	"encoding/binary"
	"slices"

	"github.com/pierrec/lz4/v4"
)

const (
	magic       = 0x184D2204
	flags       = 0x64 // version 1, independent blocks, content checksum
	blockSizeID = 0x40 // 64 KiB: the library packs them faster than larger ones
	blockBytes  = 64 << 10
	storedBit   = 1 << 31 // in a block's length: it is not packed
	headerBytes = 7
)

// Encoder packs frames. The zero value is ready; it is not for concurrent use.
type Encoder struct{ z lz4.Compressor }

// Append adds src, packed as one frame, to dst.
func (e *Encoder) Append(dst, src []byte) []byte {
	at := len(dst)
	blocks := (len(src) + blockBytes - 1) / blockBytes
	dst = slices.Grow(dst, headerBytes+len(src)+4*blocks+8)
	dst = binary.LittleEndian.AppendUint32(dst, magic)
	dst = append(dst, flags, blockSizeID)
	dst = append(dst, byte(xxh32(dst[at+4:])>>8))
	for block := range slices.Chunk(src, blockBytes) {
		at := len(dst) + 4
		n, err := e.z.CompressBlock(block, dst[at:at+len(block)-1])
		size := uint32(n)
		if err != nil || n == 0 { // it does not get smaller
			n = copy(dst[at:at+len(block)], block)
			size = uint32(n) | storedBit
		}
		dst = binary.LittleEndian.AppendUint32(dst, size)[:at+n]
	}
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, xxh32(src))
}
