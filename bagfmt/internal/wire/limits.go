package wire

import (
	"hash/crc32"
	"math"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Limits on what a bag may ask for, and the constants of the format. Stock ROS has
// hardly any; the bags it writes stay far below these.
const (
	// a record header.
	MaxHeaderBytes = 1 << 20
	// a connection header: 1 MiB on the wire, and what we add.
	MaxConnectionBytes = 2 << 20
	// of them: what the wire allows, and what we and other writers add.
	maxConnectionFields = fields.MaxFields + 16
	// the first line of the file.
	MaxVersionLineBytes = 64
	// roscpp refuses to receive more.
	MaxMessageBytes = 1_000_000_000

	// A chunk, stored or unpacked: sizes are u32, memory offsets int. Those that we
	// build leave room for what a codec adds to data that cannot be packed, bz2 up to
	// 2 %, so that a limit of readers can admit all of them. A reader's memory follows
	// what is in the file and, when it unpacks, what comes out: a few kB of bz2 can be
	// gigabytes, so compressed chunks have a lower limit unless the caller raises it.
	HardMaxChunkBytes    = math.MaxInt32
	defaultMaxChunkBytes = 512 << 20
	MaxBuiltChunkBytes   = HardMaxChunkBytes - HardMaxChunkBytes/32
	// What Write adds at most to a chunk that is not full yet.
	MaxAddedBytes = MaxMessageBytes + MessageHeaderBytes + 4 +
		MaxHeaderBytes + MaxConnectionBytes + MinRecordBytes

	VersionPrefix = "#ROSBAG V"
	VersionLine   = "#ROSBAG V2.0\n"
	// header and padding, without their length words.
	BagHeaderBytes = 4096
	// connection records between where an index entry points and its message; stock's writers put one
	// there.
	maxSkippedRecords = 16
	// length word and header of a message record.
	MessageHeaderBytes = 42
	// ChunkHeaderBytes of CompressionNone.
	ChunkHeadroom   = 64
	IndexEntryBytes = 12
	CountEntryBytes = 8
	IndexVersion    = 1
	// two length words.
	MinRecordBytes = 8
)

// ChunkLimit fills in and checks an option MaxChunkBytes.
// See ADR 0085.
func ChunkLimit(n int64) (int64, error) {
	if n == 0 {
		return defaultMaxChunkBytes, nil
	}
	if n < 0 || n > HardMaxChunkBytes {
		return 0, &rosbag.LimitError{
			Op: rosbag.OpChunk, What: "option MaxChunkBytes", Got: n,
			Limit: HardMaxChunkBytes,
		}
	}
	return n, nil
}

// CheckMessageBytes returns an error for a message of n bytes, of the record at pos, that is too large.
func CheckMessageBytes(pos, n int64) error {
	if n <= MaxMessageBytes {
		return nil
	}
	return &rosbag.LimitError{
		Offset: pos, Op: rosbag.OpMessage, What: "message", Got: n,
		Limit: MaxMessageBytes,
	}
}

// CheckConnectionBytes returns an error for a connection header of n bytes, of the record at pos, that is
// too large.
func CheckConnectionBytes(pos, n int64) error {
	if n <= MaxConnectionBytes {
		return nil
	}
	return &rosbag.LimitError{
		Offset: pos, Op: rosbag.OpConnection, What: "connection header", Got: n,
		Limit: MaxConnectionBytes,
	}
}

// FirstHeadBytes is more than the header of any known writer's chunk record.
const FirstHeadBytes = 512

// Castagnoli is the table of the checksum in the field crc32c.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MaxWorkers is the most goroutines of one writer or cursor.
const MaxWorkers = 256
