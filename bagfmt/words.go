package bagfmt

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Words of package rosbag, and types of the packages below, under the names that they have here.

type (
	// Time is rosbag.Time.
	Time = rosbag.Time
	// ConnID is rosbag.ConnID.
	ConnID = rosbag.ConnID
	// Field is rosbag.Field.
	Field = rosbag.Field
	// ConnectionHeader is rosbag.Header.
	ConnectionHeader = rosbag.Header
	// Connection is rosbag.Connection.
	Connection = rosbag.Connection
	// Message is rosbag.Message.
	Message = rosbag.Message
	// Query is rosbag.Query.
	Query = rosbag.Query
	// Op is rosbag.Op.
	Op = rosbag.Op
	// Compression is rosbag.Compression.
	Compression = rosbag.Compression
	// Encryption is rosbag.Encryption.
	Encryption = rosbag.Encryption
	// VersionError is rosbag.VersionError.
	VersionError = rosbag.VersionError
	// CorruptError is rosbag.CorruptError.
	CorruptError = rosbag.CorruptError
	// LimitError is rosbag.LimitError.
	LimitError = rosbag.LimitError
	// EncryptedError is rosbag.EncryptedError.
	EncryptedError = rosbag.EncryptedError
	// ConnCount is rosbag.ConnCount.
	ConnCount = rosbag.ConnCount
	// Compressor is codec.Compressor.
	Compressor = codec.Compressor
	// ChunkBuilder is chunk.Builder.
	ChunkBuilder = chunk.Builder
	// SealedChunk is chunk.Sealed.
	SealedChunk = chunk.Sealed
	// ConnRecords is chunk.Records.
	ConnRecords = chunk.Records
	// ReaderOptions is table.Options.
	ReaderOptions = table.Options
	// ChunkInfo is table.Chunk.
	ChunkInfo = table.Chunk
	// Cache is table.Cache.
	Cache = table.Cache
	// Prefetcher is table.Prefetcher.
	Prefetcher = table.Prefetcher
	// MCAPInfo is mcap.Info.
	MCAPInfo = mcap.Info
	// MCAPExtra is mcap.Extra.
	MCAPExtra = mcap.Extra
	// Repeated is rosbag.Repeated.
	Repeated = rosbag.Repeated
)

// DefaultChunkBytes is chunk.DefaultBytes.
const DefaultChunkBytes = chunk.DefaultBytes

// The compressions of chunks.
const (
	CompressionNone = rosbag.CompressionNone
	CompressionLZ4  = rosbag.CompressionLZ4
	CompressionBZ2  = rosbag.CompressionBZ2
	CompressionZstd = rosbag.CompressionZstd
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
