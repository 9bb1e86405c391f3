package wire

import "github.com/gorosbag/gorosbag/rosbag"

// ChunkPlace is the parsed header of a chunk record.
type ChunkPlace struct {
	// of the record
	Pos int64
	// of its data
	Data        int64
	Stored      int64
	Size        int64
	Compression rosbag.Compression
	CRC         uint32
	// CRC is known and is to be compared
	Checked bool
	// a chunk of an MCAP file: CRC is of the unpacked data, by the polynomial of IEEE
	MCAP bool
	// the file ends inside its data, which is encrypted; Stored is the number of bytes that are there
	Torn bool
	// for error texts
	Op rosbag.Op
	// of its data
	Decrypter *Decrypter
}

// ChunkPlace returns what h, the header of the chunk record at pos, says about the chunk. The caller
// knows where the data is and who decrypts it.
func (h *RecordHeader) ChunkPlace(pos int64) ChunkPlace {
	return ChunkPlace{
		Pos: pos, Op: rosbag.OpChunk, Size: int64(h.Size), Compression: compressionNamed(h.Compression),
		CRC: h.CRC, Checked: h.Has&HasCRC32C != 0,
	}
}

// CheckSize compares the sizes of a chunk with the limit, and with what encryption makes.
func (p *ChunkPlace) CheckSize(limit int64) error {
	if p.Decrypter != nil && !p.Torn {
		if err := checkSealed(p.Stored); err != nil {
			return Corrupt(p.Pos, rosbag.OpChunk, "%v", err)
		}
	}
	return CheckChunkSize(p.Pos, p.Compression, p.Stored, p.Size, limit)
}

// CheckChunkSize compares the sizes of the chunk at pos with the limit. What is not compressed
// takes no more memory than it takes of the file.
func CheckChunkSize(pos int64, c rosbag.Compression, stored, size, limit int64) error {
	if c == rosbag.CompressionNone {
		size, limit = stored, HardMaxChunkBytes
	}
	if stored > limit {
		return &rosbag.LimitError{
			Offset: pos, Op: rosbag.OpChunk, What: "stored chunk", Got: stored,
			Limit: limit,
		}
	}
	if size > limit {
		return &rosbag.LimitError{
			Offset: pos, Op: rosbag.OpChunk, What: "unpacked chunk", Got: size,
			Limit: limit,
		}
	}
	return nil
}

// compressionNamed returns the compression that a chunk header names, known or not,
// and allocates only for one that is not.
func compressionNamed(name []byte) rosbag.Compression {
	switch string(name) {
	case string(rosbag.CompressionNone):
		return rosbag.CompressionNone
	case string(rosbag.CompressionLZ4):
		return rosbag.CompressionLZ4
	case string(rosbag.CompressionBZ2):
		return rosbag.CompressionBZ2
	}
	return rosbag.Compression(name)
}
