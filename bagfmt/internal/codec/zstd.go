package codec

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdGrowth     = 4         // how many times more memory the next attempt gets
	zstdBlockBytes = 128 << 10 // a block unpacks to at most this much
	zstdBlockLeast = 3 + 1     // bytes of a block: its head and what it repeats
)

// maxCountedWindow is the largest window of zstd data that is counted: beside the result, counting takes
// as much memory. The levels of zstd up to 19 have windows of at most 8 MiB.
const maxCountedWindow = 8 << 20

// checkClaim returns an error if stored cannot hold as many bytes as it claims.
func checkClaim(stored []byte, size int64) error {
	if most := int64(len(stored)/zstdBlockLeast) * zstdBlockBytes; size > most {
		return fmt.Errorf("%d bytes of zstd data hold at most %d bytes, not %d", len(stored), most, size)
	}
	return nil
}

// zstdStream returns a reader that unpacks, in little memory.
func (d *Decompressor) zstdStream(stored []byte, size int64) (io.Reader, error) {
	if err := checkClaim(stored, size); err != nil {
		return nil, err
	}
	d.src.Reset(stored)
	src := struct{ io.Reader }{&d.src}
	if d.counting != nil {
		return d.counting, d.counting.Reset(src)
	}
	var err error
	d.counting, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxCountedWindow))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return d.counting, nil
}

// unpackZstd is Unpack for zstd. memory has room for the first bytes at least. A frame that does not fit
// is unpacked again with more room, so that memory follows what comes out.
func (d *Decompressor) unpackZstd(stored []byte, size int64, memory []byte) ([]byte, error) {
	// Damaged data would be tried with more and more memory, up to what a few bytes claim.
	if err := checkClaim(stored, size); err != nil {
		return nil, err
	}
	if d.zstd == nil {
		var err error
		// One goroutine, the caller's. Memory is bounded by that for the result.
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
	}
	for room := min(size, int64(cap(memory))); ; room = min(size, zstdGrowth*room) {
		if err := d.Interrupted.check(); err != nil {
			return nil, err
		}
		if int64(cap(memory)) < room {
			memory = make([]byte, room)
		}
		out, err := d.zstd.DecodeAll(stored, memory[:0:room])
		switch {
		case err != nil && room < size: // the library has several errors for too little room
		case errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return nil, fmt.Errorf("zstd data holds more than %d bytes", size)
		case err != nil:
			return nil, fmt.Errorf("zstd data: %w", err)
		case int64(len(out)) < size:
			return nil, fmt.Errorf("zstd data ends after %d of %d bytes", len(out), size)
		default:
			return out, nil
		}
	}
}
