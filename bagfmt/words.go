package bagfmt

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/cursor"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// The words of package rosbag, under the names that they had here.
type (
	Time             = rosbag.Time
	ConnID           = rosbag.ConnID
	Field            = rosbag.Field
	ConnectionHeader = rosbag.Header
	Connection       = rosbag.Connection
	Message          = rosbag.Message
	Query            = rosbag.Query
	Op               = rosbag.Op
	Compression      = rosbag.Compression
	Encryption       = rosbag.Encryption
	VersionError     = rosbag.VersionError
	CorruptError     = rosbag.CorruptError
	LimitError       = rosbag.LimitError
	EncryptedError   = rosbag.EncryptedError
	ConnCount        = rosbag.ConnCount
	Compressor       = codec.Compressor
	ReaderOptions    = table.Options
	ChunkInfo        = table.Chunk
	Cache            = table.Cache
	Prefetcher       = table.Prefetcher
	Cursor           = cursor.Cursor
	Last             = cursor.Last
	Repeated         = rosbag.Repeated
)

// The compressions of chunks.
const (
	CompressionNone = rosbag.CompressionNone
	CompressionLZ4  = rosbag.CompressionLZ4
	CompressionBZ2  = rosbag.CompressionBZ2
)

// The records of format V2.0.
const (
	OpMessage    = rosbag.OpMessage
	OpBagHeader  = rosbag.OpBagHeader
	OpIndexData  = rosbag.OpIndexData
	OpChunk      = rosbag.OpChunk
	OpChunkInfo  = rosbag.OpChunkInfo
	OpConnection = rosbag.OpConnection
)

// The errors that callers tell apart.
var (
	ErrNotBag    = rosbag.ErrNotBag
	ErrVersion   = rosbag.ErrVersion
	ErrUnindexed = rosbag.ErrUnindexed
	ErrEncrypted = rosbag.ErrEncrypted
	ErrCorrupt   = rosbag.ErrCorrupt
	ErrLimit     = rosbag.ErrLimit
	ErrClosed    = rosbag.ErrClosed
	ErrCanceled  = rosbag.ErrCanceled
)

// TimeOf is rosbag.TimeOf.
func TimeOf(t time.Time) Time { return rosbag.TimeOf(t) }

// NewCache returns a Cache for so many bytes of chunks, and of messages.
func NewCache(chunks, frames int64) *Cache { return table.NewCache(chunks, frames) }

// NewCompressor returns a Compressor for c.
func NewCompressor(c Compression) (*Compressor, error) { return codec.NewCompressor(c) }

// ParseCompression is rosbag.ParseCompression.
func ParseCompression(s string) (Compression, error) { return rosbag.ParseCompression(s) }
