package rewrite

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// BagSink writes one bag.
type BagSink struct {
	w                 *bagfmt.Writer
	repeated          repeatedOut
	uncompressed      bool  // no compression
	uncompressedBytes int64 // bytes so far, before compression; without connection records of an open chunk
}

// NewBag starts a bag on w.
func NewBag(w io.Writer, o bagfmt.WriterOptions) (*BagSink, error) {
	bw, err := bagfmt.NewWriter(w, o)
	if err != nil {
		return nil, err
	}
	return &BagSink{w: bw, uncompressedBytes: bw.Size(), uncompressed: o.Compression == "" ||
		o.Compression == rosbag.CompressionNone}, nil
}

// messageOverhead is the size of a message besides its payload: record header, two lengths
// and the index entry.
const messageOverhead = 46 + 12

// Write implements rosbag.Sink.
func (s *BagSink) Write(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	s.repeated.ordinary(t)
	return s.write(c, t, data)
}

// WriteRepeated writes a message that repeats an earlier latched message.
func (s *BagSink) WriteRepeated(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	if s.repeated.add(t) {
		s.w.SetRepeated(s.repeated.Repeated)
	}
	return s.write(c, t, data)
}

func (s *BagSink) write(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	s.uncompressedBytes += int64(len(data)) + messageOverhead
	return s.w.Write(c, t, data)
}

// CopyChunk implements chunkSink.
func (s *BagSink) CopyChunk(c rosbag.Chunk, as func(*rosbag.Connection) *rosbag.Connection) (bool, error) {
	copied, err := s.w.CopyChunk(c, as)
	if err != nil || !copied {
		return false, err
	}
	s.repeated.ordinary(c.End())
	s.uncompressedBytes = s.w.Size() // no chunk is open now; messages that follow add to this
	return true, nil
}

// Size returns the size of the bag so far. With compression, open chunks do not count.
func (s *BagSink) Size() int64 {
	if s.uncompressed {
		return max(s.w.Size(), s.uncompressedBytes)
	}
	return s.w.Size()
}

// Close implements rosbag.Sink.
func (s *BagSink) Close() error { return s.w.Close() }

// Abort implements rosbag.Sink.
func (s *BagSink) Abort() { s.w.Abort() }
