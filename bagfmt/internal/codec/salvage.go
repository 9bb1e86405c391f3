package codec

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"

	"github.com/gorosbag/gorosbag/bagfmt/internal/bzip2"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Guess returns the compression of bags that matches the first bytes of stored data.
func Guess(stored []byte) rosbag.Compression {
	switch {
	case IsLZ4(stored):
		return rosbag.CompressionLZ4
	case bzip2.IsStream(stored):
		return rosbag.CompressionBZ2
	}
	return rosbag.CompressionNone
}

// Salvager unpacks the data of chunks as far as it is sound. It is not for concurrent use.
type Salvager struct {
	Interrupted Interruptible
	lz4         *lz4.Reader // nil until it is needed
}

// Unpack unpacks the data in r, about stored bytes, into at most limit bytes of memory, which it may
// replace by more. With an error it returns the data unpacked before; io.ErrUnexpectedEOF means that
// the data is truncated. Without an error the checksum matched.
func (d *Salvager) Unpack(
	c rosbag.Compression, r io.Reader, stored, limit int64, memory *[]byte,
) ([]byte, error) {
	var magic [4]byte
	switch n, err := io.ReadFull(r, magic[:]); {
	case err != nil:
		return nil, io.ErrUnexpectedEOF
	case Guess(magic[:n]) != c:
		return nil, fmt.Errorf("%s data does not start as such", c)
	}
	r = io.MultiReader(bytes.NewReader(magic[:]), r)
	var z io.Reader
	if c == rosbag.CompressionLZ4 {
		if d.lz4 == nil {
			d.lz4 = lz4.NewReader(nil)
		}
		d.lz4.Reset(r)
		z = d.lz4
	} else {
		// Not ours, which is faster: it needs all data in memory.
		z = stdbzip2.NewReader(r)
	}
	z = d.Interrupted.Reader(z)
	buf := (*memory)[:cap(*memory)]
	if first := min(limit+1, firstUnpackBytes+firstUnpackRatio*stored); int64(len(buf)) < first {
		buf = make([]byte, first)
	}
	for at := 0; ; {
		n, err := z.Read(buf[at:])
		at += n
		*memory = buf[:at]
		switch {
		case int64(at) > limit:
			return nil, fmt.Errorf("%w: %s data of more than %d bytes", rosbag.ErrLimit, c, limit)
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return *memory, nil
		case err != nil:
			return *memory, err
		case at == len(buf):
			more := make([]byte, min(limit+1, 2*int64(at)))
			copy(more, buf)
			buf = more
		}
	}
}
