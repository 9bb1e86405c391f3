package codec

import "encoding/binary"

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
