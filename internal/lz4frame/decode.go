package lz4frame

import (
	"encoding/binary"
	"io"

	"github.com/pierrec/lz4/v4"
)

// IsFrame reports whether b begins as a frame does. Legacy frames, which have other
// limits, are none.
func IsFrame(b []byte) bool { return len(b) >= 4 && binary.LittleEndian.Uint32(b) == magic }

// Unpack unpacks a frame of the shape that chunks have wholly into dst. It reports
// false if the frame is of another shape or there is anything wrong with it. The
// frame's checksum is not compared if a checksum of src has been: that says more.
func Unpack(dst, src []byte, verified bool) bool {
	const head, tail = headerBytes, 8
	if len(src) < head+tail || binary.LittleEndian.Uint32(src) != magic ||
		src[4] != flags || src[5]&0x8f != 0 || src[5] < 0x40 || src[6] != byte(xxh32(src[4:6])>>8) {
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
		stored := n&storedBit != 0
		n &^= storedBit
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
	return len(src) == 0 && len(dst) == 0 && (verified || xxh32(whole) == sum)
}

// Reader unpacks frames of any shape, by the library. Reset comes before the first Read,
// and may come at any time after it. It is not for concurrent use.
type Reader struct{ z *lz4.Reader }

// Reset makes r unpack what src holds. The library reads legacy frames, too: see IsFrame.
func (r *Reader) Reset(src io.Reader) {
	if r.z == nil {
		r.z = lz4.NewReader(src)
		return
	}
	r.z.Reset(src)
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) { return r.z.Read(p) }
