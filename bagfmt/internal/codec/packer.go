package codec

import (
	"errors"
	"io"
	"slices"

	"github.com/dsnet/compress/bzip2"
	"github.com/pierrec/lz4/v4"
)

// packer packs into memory with the writer of a library.
type packer struct {
	z     io.WriteCloser
	reset func(io.Writer) error // of z
	bound func(n int) int       // bytes that n bytes take at most; nil lets the memory grow as it comes
	out   appender
}

// newLZ4Packer returns a packer of lz4 frames of one shape: independent blocks of 64 KiB, and a
// checksum of the content. Stock's reader needs the checksum.
func newLZ4Packer() *packer {
	z := lz4.NewWriter(io.Discard)
	// ADR 0002, 0091: only frames like these are read by stock.
	// starts no goroutine
	err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(true), lz4.ConcurrencyOption(1))
	if err != nil {
		panic(err) // the options are constants
	}
	reset := func(w io.Writer) error {
		z.Reset(w)
		return nil
	}
	return &packer{z: z, reset: reset, bound: lz4Bound}
}

// newBZ2Packer returns a packer of bz2 streams with blocks of 900 kB. It makes one stream of what it
// gets: stock's C++ reader stops at the end of the first one.
func newBZ2Packer() *packer {
	z, err := bzip2.NewWriter(io.Discard, &bzip2.WriterConfig{Level: bzip2.BestCompression})
	if err != nil {
		panic(err) // the level is a constant
	}
	return &packer{z: z, reset: z.Reset}
}

// append adds the packed src to dst.
func (p *packer) append(dst, src []byte) []byte {
	if p.bound != nil {
		dst = slices.Grow(dst, p.bound(len(src)))
	}
	p.out.b = dst
	reset := p.reset(&p.out)
	_, written := p.z.Write(src)
	if err := errors.Join(reset, written, p.z.Close()); err != nil {
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
