package codec

import (
	"encoding/binary"

	"github.com/pierrec/lz4/v4"
)

const (
	lz4Magic      = 0x184D2204
	lz4BlockBytes = 64 << 10 // the library packs them faster than larger ones
	lz4FrameBytes = 7 + 8    // of a frame beside its blocks
)

// IsLZ4 reports whether b starts as an lz4 frame. Stock writes no other data; the library also
// reads frames of an older format.
func IsLZ4(b []byte) bool { return len(b) >= 4 && binary.LittleEndian.Uint32(b) == lz4Magic }

// lz4Bound returns how many bytes a frame of n bytes takes at most.
func lz4Bound(n int) int {
	blocks := (n + lz4BlockBytes - 1) / lz4BlockBytes
	return n + 4*blocks + lz4FrameBytes
}

// lz4Head is how each frame of newLZ4Packer begins: magic, independent blocks without checksums and a
// checksum of the content, blocks of 64 KiB, checksum of these two.
const lz4Head = "\x04\x22\x4d\x18\x64\x40\xa7"

// unpackLZ4Blocks unpacks a frame of newLZ4Packer into out, without comparing the checksum of its content. It
// reports false for every other frame, and for one that is damaged or does not have len(out) bytes: the
// library says what is wrong.
// See ADR 0091.
func unpackLZ4Blocks(stored, out []byte) bool {
	if len(stored) < len(lz4Head) || string(stored[:len(lz4Head)]) != lz4Head {
		return false
	}
	for stored = stored[len(lz4Head):]; len(stored) >= 4; {
		head := binary.LittleEndian.Uint32(stored)
		const plain = 1 << 31
		n := int64(head &^ plain)
		if stored = stored[4:]; head == 0 {
			return len(stored) == 4 && len(out) == 0
		}
		if n > int64(len(stored)) {
			return false
		}
		block, room := stored[:n], out[:min(len(out), lz4BlockBytes)]
		stored = stored[n:]
		var unpacked int
		if head&plain != 0 {
			if len(block) > len(room) {
				return false
			}
			unpacked = copy(room, block)
		} else {
			var err error
			if unpacked, err = lz4.UncompressBlock(block, room); err != nil {
				return false
			}
		}
		out = out[unpacked:]
	}
	return false
}
