package bagfmt

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

func guessCompression(stored []byte) Compression {
	switch {
	case len(stored) >= 4 && binary.LittleEndian.Uint32(stored) == lz4FrameMagic:
		return CompressionLZ4
	case bytes.HasPrefix(stored, []byte(bz2Signature)):
		return CompressionBZ2
	}
	return CompressionNone
}

// unpackAll unpacks what r holds, about stored bytes, into at most limit bytes of
// memory that the next call uses again. With an error it returns what the codec gave
// before: io.ErrUnexpectedEOF says that the data ends too early. nil says that the
// checksum at the end was right.
func (v *recovery) unpackAll(c Compression, r io.Reader, stored, limit int64) ([]byte, error) {
	var magic [4]byte
	switch n, err := io.ReadFull(r, magic[:]); {
	case err != nil:
		return nil, io.ErrUnexpectedEOF
	case guessCompression(magic[:n]) != c:
		return nil, fmt.Errorf("%s data does not start as such", c)
	}
	r = io.MultiReader(bytes.NewReader(magic[:]), r)
	var z io.Reader
	if c == CompressionLZ4 {
		if v.lz4 == nil {
			v.lz4 = lz4.NewReader(nil)
		}
		v.lz4.Reset(r)
		z = v.lz4
	} else {
		// Not the faster decoder, which may take half a second for one hostile block.
		z = bzip2.NewReader(r)
	}
	buf := v.plain[:cap(v.plain)]
	if first := min(limit+1, firstUnpackBytes+firstUnpackRatio*stored); int64(len(buf)) < first {
		buf = make([]byte, first)
	}
	for at := 0; ; {
		n, err := z.Read(buf[at:])
		at += n
		v.plain = buf[:at]
		switch {
		case int64(at) > limit:
			return nil, fmt.Errorf("%w: %s data of more than %d bytes", ErrLimit, c, limit)
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return v.plain, nil
		case err != nil:
			return v.plain, err
		case at == len(buf):
			more := make([]byte, min(limit+1, 2*int64(at)))
			copy(more, buf)
			buf = more
		}
	}
}

// unpackLimit bounds what a chunk gives whose header cannot be believed.
func (v *recovery) unpackLimit(p *chunkPlace) int64 {
	return min(max(p.size, doubtfulBytes), v.o.MaxChunkBytes)
}
