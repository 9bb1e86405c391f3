package table

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Kind says what a segment of a bag is: where its data is and where its index
// comes from.
type Kind uint8

// Raw reports whether the data of the segment is the bytes of the file.
func (k Kind) Raw() bool { return k >= KindRecords }

// Derived reports whether the index of the segment has to be made from its data.
func (k Kind) Derived() bool { return k != KindChunk }

// The kinds of segments.
const (
	KindChunk   Kind = iota // a chunk record, with index data after it
	KindNoIndex             // a chunk record without good index data
	KindTorn                // an encrypted chunk that is not compressed, cut by the end of the file
	KindRecords             // records of format V2.0, or of MCAP, that are in no chunk
	KindOld                 // records of an older version
)

// RawPlace returns the place of a segment without a chunk record, in a file of size bytes.
func (c *Chunk) RawPlace(size int64) (wire.ChunkPlace, error) {
	p := wire.ChunkPlace{
		Pos: c.Pos, Data: c.Pos, Stored: c.Bytes, Size: c.Bytes,
		Compression: rosbag.CompressionNone, Op: rosbag.OpMessage,
	}
	if left := size - c.Pos; c.Bytes > left {
		return p, wire.Torn(c.Pos, p.Op, "segment", left, c.Bytes)
	}
	return p, nil
}
