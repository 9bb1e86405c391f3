package bagfmt

import "github.com/gorosbag/gorosbag/rosbag"

// chunkPlace is the parsed header of a chunk record.
type chunkPlace struct {
	pos         int64 // of the record
	data        int64 // of its data
	stored      int64
	size        int64
	compression rosbag.Compression
	crc         uint32
	checked     bool       // crc counts
	torn        bool       // its data, which is encrypted, is longer than what there is of it; stored is that
	op          rosbag.Op  // for error texts
	decrypter   *decrypter // of its data
}

// checkSize compares the sizes of a chunk with the limit, and with what encryption makes.
func (p *chunkPlace) checkSize(limit int64) error {
	if p.decrypter != nil && !p.torn {
		if err := checkSealed(p.stored); err != nil {
			return corrupt(p.pos, rosbag.OpChunk, "%v", err)
		}
	}
	return checkChunkSize(p.pos, p.compression, p.stored, p.size, limit)
}

// checkChunkSize compares the sizes of the chunk at pos with the limit. What is not compressed
// takes no more memory than it takes of the file.
func checkChunkSize(pos int64, c rosbag.Compression, stored, size, limit int64) error {
	if c == rosbag.CompressionNone {
		size, limit = stored, hardMaxChunkBytes
	}
	if stored > limit {
		return &rosbag.LimitError{Offset: pos, Op: rosbag.OpChunk, What: "stored chunk", Got: stored, Limit: limit}
	}
	if size > limit {
		return &rosbag.LimitError{Offset: pos, Op: rosbag.OpChunk, What: "unpacked chunk", Got: size, Limit: limit}
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
