package bagfmt

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// segmentKind says what a segment of a bag is: where its data is and where its index
// comes from.
type segmentKind uint8

// raw reports whether the data of the segment is the bytes of the file.
func (k segmentKind) raw() bool { return k >= segmentRecords }

// derived reports whether the index of the segment has to be made from its data.
func (k segmentKind) derived() bool { return k != segmentChunk }

const (
	segmentChunk   segmentKind = iota // a chunk record, with index data behind it
	segmentNoIndex                    // a chunk record without good index data
	segmentTorn                       // an encrypted chunk that is not compressed, cut by the end of the file
	segmentRecords                    // records of format V2.0 that are in no chunk
	segmentOld                        // records of an older version
)

// rawPlace is chunkLoader.place for a range of a file of size bytes.
func (c *ChunkInfo) rawPlace(size int64) (wire.ChunkPlace, error) {
	p := wire.ChunkPlace{Pos: c.Pos, Data: c.Pos, Stored: c.bytes, Size: c.bytes, Compression: rosbag.CompressionNone, Op: rosbag.OpMessage}
	if left := size - c.Pos; c.bytes > left {
		return p, wire.Torn(c.Pos, p.Op, "segment", left, c.bytes)
	}
	return p, nil
}
