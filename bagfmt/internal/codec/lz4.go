package codec

import (
	"encoding/binary"
	"io"
	"slices"

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

// lz4Packer packs lz4 frames of one shape: independent blocks of 64 KiB, and a checksum of the
// content. Stock's reader needs the checksum.
type lz4Packer struct {
	z   *lz4.Writer
	out appender
}

func newLZ4Packer() *lz4Packer {
	z := lz4.NewWriter(io.Discard)
	err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(true), lz4.ConcurrencyOption(1)) // starts no goroutine
	if err != nil {
		panic(err) // the options are constants
	}
	return &lz4Packer{z: z}
}

// append adds src to dst as one frame.
func (p *lz4Packer) append(dst, src []byte) []byte {
	blocks := (len(src) + lz4BlockBytes - 1) / lz4BlockBytes
	p.out.b = slices.Grow(dst, len(src)+4*blocks+lz4FrameBytes)
	p.z.Reset(&p.out)
	_, err := p.z.Write(src)
	if closed := p.z.Close(); err == nil {
		err = closed
	}
	if err != nil {
		panic(err) // memory takes everything
	}
	dst, p.out.b = p.out.b, nil
	return dst
}

// appender is an io.Writer to a slice.
type appender struct{ b []byte }

// Write implements io.Writer.
func (a *appender) Write(b []byte) (int, error) {
	a.b = append(a.b, b...)
	return len(b), nil
}
