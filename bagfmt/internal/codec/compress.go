package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/gorosbag/gorosbag/bagfmt/internal/bzip2"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// To be unpacked, a chunk gets firstUnpackBytes plus firstUnpackRatio times its stored size without a
// question. A chunk that claims more is unpacked once to count what is in it, and then gets as much:
// memory that grows would hold copies.
const (
	firstUnpackRatio = 16
	firstUnpackBytes = 64 << 10
)

// Compressor packs chunks. It holds the state of its codec from one chunk to the
// next and is not for concurrent use.
type Compressor struct {
	kind rosbag.Compression
	z    *packer // nil without compression
}

// NewCompressor returns a Compressor for c.
func NewCompressor(c rosbag.Compression) (*Compressor, error) {
	z := &Compressor{kind: c}
	switch c {
	case rosbag.CompressionNone:
	case rosbag.CompressionLZ4:
		z.z = newLZ4Packer()
	case rosbag.CompressionBZ2:
		z.z = newBZ2Packer()
	case rosbag.CompressionZstd: // which no bag has
		fallthrough
	default:
		_, err := rosbag.ParseCompression(string(c))
		return nil, err
	}
	return z, nil
}

// Kind returns the compression that z packs with.
func (z *Compressor) Kind() rosbag.Compression { return z.kind }

// Append adds the packed src to dst.
func (z *Compressor) Append(dst, src []byte) []byte {
	if z.z == nil {
		return append(dst, src...)
	}
	return z.z.append(dst, src)
}

// Decompressor unpacks chunks one after the other.
type Decompressor struct {
	Interrupted Interruptible
	src         bytes.Reader  // of lz4
	lz4         *lz4.Reader   // nil until it is needed
	bz2         *bzip2.Reader // nil until it is needed
	zstd        *zstd.Decoder // nil until it is needed
	counting    *zstd.Decoder // nil until it is needed
}

// UnpackSealed is Unpack for data that was compared with a checksum of all of stored: another one in an lz4
// frame, of its content, may be left out.
func (d *Decompressor) UnpackSealed(
	c rosbag.Compression, stored []byte, size int64, memory []byte,
) ([]byte, error) {
	if c == rosbag.CompressionLZ4 && size <= firstUnpackBytes+firstUnpackRatio*int64(len(stored)) {
		if err := d.Interrupted.check(); err != nil {
			return nil, err
		}
		if int64(cap(memory)) < size {
			memory = make([]byte, size)
		}
		if unpackLZ4Blocks(stored, memory[:size]) {
			return memory[:size], nil
		}
	}
	return d.Unpack(c, stored, size, memory)
}

// Unpack returns stored unpacked, in memory if that is enough, else in fresh memory.
// The result has exactly size bytes, or there is an error.
func (d *Decompressor) Unpack(
	c rosbag.Compression, stored []byte, size int64, memory []byte,
) ([]byte, error) {
	first := min(size, firstUnpackBytes+firstUnpackRatio*int64(len(stored)))
	if int64(cap(memory)) < size {
		if first < size {
			n, err := d.count(c, stored, size)
			if err != nil {
				return nil, err
			}
			first = max(first, min(n, size))
		}
		memory = make([]byte, first)
	}
	if c == rosbag.CompressionZstd {
		return d.unpackZstd(stored, size, memory)
	}
	return d.stream(c, stored, size, memory)
}

// count returns how many bytes are in stored, as far as they can be unpacked, and at most size and one
// more. Zero means that it cannot tell. Its error is an InterruptionError, or about zstd data.
func (d *Decompressor) count(c rosbag.Compression, stored []byte, size int64) (int64, error) {
	var r io.Reader
	var err error
	if c == rosbag.CompressionZstd {
		if r, err = d.zstdStream(stored, size); err != nil {
			return 0, err
		}
	} else if r, err = d.reader(c, stored); err != nil {
		return 0, nil //nolint:nilerr // unpacking returns it
	}
	n, err := io.Copy(struct{ io.Writer }{io.Discard},
		io.LimitReader(d.Interrupted.Reader(struct{ io.Reader }{r}), size+1))
	var stop *InterruptionError
	switch {
	case errors.As(err, &stop):
		return 0, err
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		// the latter of a frame that is one segment
		return 0, nil
	case err != nil && c == rosbag.CompressionZstd:
		return 0, fmt.Errorf("zstd data: %w", err)
	}
	return n, nil
}

// reader returns what unpacks lz4 or bz2.
func (d *Decompressor) reader(c rosbag.Compression, stored []byte) (r io.Reader, err error) {
	switch c {
	case rosbag.CompressionLZ4:
		if !IsLZ4(stored) {
			return nil, errNotLZ4
		}
		d.src.Reset(stored)
		if d.lz4 == nil {
			d.lz4 = lz4.NewReader(nil)
		}
		d.lz4.Reset(&d.src)
		r = d.lz4
	case rosbag.CompressionBZ2:
		if d.bz2 == nil {
			d.bz2 = new(bzip2.Reader)
		}
		d.bz2.Reset(stored)
		r = d.bz2
	case rosbag.CompressionNone, rosbag.CompressionZstd:
		fallthrough // the one needs no unpacking, the other is unpacked at once
	default:
		return nil, fmt.Errorf("unknown compression %q", c)
	}
	return r, nil
}

func (d *Decompressor) stream(
	c rosbag.Compression, stored []byte, size int64, memory []byte,
) ([]byte, error) {
	r, err := d.reader(c, stored)
	if err != nil {
		return nil, err
	}
	r = d.Interrupted.Reader(r)
	out, err := wire.Fill(r, size, memory)
	if err != nil {
		if wire.IsEnd(err) {
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
