package rosbag

import "fmt"

// Compression is how the data of a chunk is stored.
type Compression string

// The compressions of format V2.0, and the one that MCAP has besides.
const (
	CompressionNone Compression = "none"
	CompressionLZ4  Compression = "lz4"
	CompressionBZ2  Compression = "bz2"
	CompressionZstd Compression = "zstd" // of MCAP; no bag has it
)

// ParseCompression returns the compression of bags named s.
func ParseCompression(s string) (Compression, error) {
	switch c := Compression(s); c {
	case CompressionNone, CompressionLZ4, CompressionBZ2:
		return c, nil
	case CompressionZstd:
	}
	return "", fmt.Errorf("unknown compression %q, want none, lz4 or bz2", s)
}
