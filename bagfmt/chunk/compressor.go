package chunk

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Compressor packs chunks. It holds the state of its codec from one chunk to the
// next and is not for concurrent use.
type Compressor struct{ codec *codec.Compressor }

// NewCompressor returns a Compressor for c.
func NewCompressor(c rosbag.Compression) (*Compressor, error) {
	z, err := codec.NewCompressor(c)
	if err != nil {
		return nil, err
	}
	return &Compressor{z}, nil
}
