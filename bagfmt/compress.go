package bagfmt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/dsnet/compress/bzip2"
	"github.com/pierrec/lz4/v4"
)

// Compression is how the data of a chunk is stored.
type Compression string

// The compressions of format V2.0.
const (
	CompressionNone Compression = "none"
	CompressionLZ4  Compression = "lz4"
	CompressionBZ2  Compression = "bz2"
)

const (
	bz2Level      = 9
	lz4FrameMagic = 0x184D2204
	// An unpacked chunk gets this many times its stored size at once; what claims
	// more has to show it first.
	firstUnpackRatio = 16
	firstUnpackBytes = 64 << 10
)

// ParseCompression returns the compression named s.
func ParseCompression(s string) (Compression, error) {
	switch c := Compression(s); c {
	case CompressionNone, CompressionLZ4, CompressionBZ2:
		return c, nil
	}
	return "", fmt.Errorf("bagfmt: unknown compression %q, want none, lz4 or bz2", s)
}

// Compressor packs chunks. It holds the state of its codec from one chunk to the
// next and is not for concurrent use.
type Compressor struct {
	kind Compression
	lz4  *lz4.Writer
	bz2  *bzip2.Writer
}

// NewCompressor returns a Compressor for c.
func NewCompressor(c Compression) (*Compressor, error) {
	z := &Compressor{kind: c}
	var err error
	switch c {
	case CompressionNone:
	case CompressionLZ4:
		// The one shape of frame that stock readers accept, flags 0x64 0x60.
		z.lz4 = lz4.NewWriter(io.Discard)
		err = z.lz4.Apply(lz4.BlockSizeOption(lz4.Block1Mb), lz4.BlockChecksumOption(false),
			lz4.ChecksumOption(true), lz4.ConcurrencyOption(1))
	case CompressionBZ2:
		// One stream per chunk: C++ stops at the end of the first one.
		z.bz2, err = bzip2.NewWriter(io.Discard, &bzip2.WriterConfig{Level: bz2Level})
	default:
		_, err = ParseCompression(string(c))
	}
	if err != nil {
		return nil, err
	}
	return z, nil
}

// sliceWriter appends to a slice.
type sliceWriter []byte

func (w *sliceWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// appendTo adds the packed src to dst.
func (z *Compressor) appendTo(dst, src []byte) ([]byte, error) {
	out := (*sliceWriter)(&dst)
	var w io.WriteCloser
	switch z.kind {
	case CompressionLZ4:
		z.lz4.Reset(out)
		w = z.lz4
	case CompressionBZ2:
		if err := z.bz2.Reset(out); err != nil {
			return nil, fmt.Errorf("bagfmt: bz2: %w", err)
		}
		w = z.bz2
	case CompressionNone:
		return append(dst, src...), nil
	}
	if _, err := w.Write(src); err != nil {
		return nil, fmt.Errorf("bagfmt: %s: %w", z.kind, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("bagfmt: %s: %w", z.kind, err)
	}
	return dst, nil
}

// decompressor unpacks chunks one after the other.
type decompressor struct {
	src bytes.Reader
	lz4 *lz4.Reader
	bz2 *bzip2.Reader
}

// unpack returns stored unpacked, in fresh memory. The result has exactly size
// bytes, or there is an error.
func (d *decompressor) unpack(c Compression, stored []byte, size int64) ([]byte, error) {
	d.src.Reset(stored)
	var r io.Reader
	switch c {
	case CompressionLZ4:
		// The library would also read legacy frames, with other limits.
		if len(stored) < 4 || binary.LittleEndian.Uint32(stored) != lz4FrameMagic {
			return nil, errNotLZ4
		}
		if d.lz4 == nil {
			d.lz4 = lz4.NewReader(&d.src)
		} else {
			d.lz4.Reset(&d.src)
		}
		r = d.lz4
	case CompressionBZ2:
		if d.bz2 == nil {
			d.bz2 = new(bzip2.Reader)
		}
		if err := d.bz2.Reset(&d.src); err != nil {
			return nil, fmt.Errorf("bz2 data: %w", err)
		}
		r = d.bz2
	case CompressionNone:
		fallthrough // it needs no unpacking
	default:
		return nil, fmt.Errorf("unknown compression %q", c)
	}
	out, err := readSized(r, size, firstUnpackBytes+firstUnpackRatio*int64(len(stored)))
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%s data ends after %d of %d bytes", c, len(out), size)
		}
		return nil, fmt.Errorf("%s data: %w", c, err)
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return nil, fmt.Errorf("%s data holds more than %d bytes", c, size)
	case !errors.Is(err, io.EOF): // here the checksum is compared
		return nil, fmt.Errorf("%s data: %w", c, err)
	}
	return out, nil
}

var errNotLZ4 = errors.New("lz4 data does not start with an lz4 frame")

// readSized reads size bytes into fresh memory, first bytes of it at once and the
// rest doubling, so that memory follows what arrives and not what a length claims.
// With an error it returns what it got.
func readSized(r io.Reader, size, first int64) ([]byte, error) {
	buf := make([]byte, min(size, first))
	for at := 0; ; {
		n, err := io.ReadFull(r, buf[at:])
		if at += n; err != nil {
			return buf[:at:at], err
		}
		if int64(at) == size {
			return buf, nil
		}
		more := make([]byte, min(size, 2*int64(at)))
		copy(more, buf)
		buf = more
	}
}
