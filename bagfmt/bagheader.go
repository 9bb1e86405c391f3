package bagfmt

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
)

// BagHeader is the first record of a 2.0 bag, which its writer completes last.
type BagHeader struct {
	Connections uint32 // in the index section; 0: the bag is empty, or was not closed
	Chunks      uint32 // that the index section lists
}

// ReadBagHeader reads the bag header of the 2.0 bag of size bytes, also of an encrypted one.
// Its other errors are those of NewReader.
func ReadBagHeader(r io.ReaderAt, size int64) (BagHeader, error) {
	s := wire.NewStream(io.NewSectionReader(r, 0, size), 0, wire.SmallBufferBytes)
	_, h, err := s.Preamble(true)
	if err != nil {
		return BagHeader{}, err
	}
	return BagHeader{Connections: h.ConnCount, Chunks: h.ChunkCount}, nil
}

// IsMCAP reports whether r begins as an MCAP file does.
func IsMCAP(r io.ReaderAt) bool {
	head := make([]byte, len(wire.MCAPMagic))
	n, _ := r.ReadAt(head, 0)
	return string(head[:n]) == wire.MCAPMagic
}
