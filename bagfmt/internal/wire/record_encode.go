package wire

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// StockKeys are the fields that stock readers insist on: rosbag's Python API calls
// a whole bag unindexed when one connection lacks its definition.
var StockKeys = [...]string{rosbag.KeyType, rosbag.KeyMD5Sum, rosbag.KeyMessageDefinition}

// connectionHeaderBytes is the length of the record header of c.
func connectionHeaderBytes(c *rosbag.Connection) int {
	return 13 + 8 + 4 + len(rosbag.KeyTopic) + 1 + len(c.Topic)
}

// CheckConnection reports why a reader would refuse the record of c, and with it
// the whole bag.
func CheckConnection(c *rosbag.Connection) error {
	count := len(c.Header)
	for _, key := range StockKeys {
		if _, ok := c.Header.Get(key); !ok {
			count++
		}
	}
	head := connectionHeaderBytes(c)
	data := ConnectionBytes(c) - MinRecordBytes - head
	switch {
	case head > MaxHeaderBytes:
		return &rosbag.LimitError{
			Op: rosbag.OpConnection, What: "record header", Got: int64(head),
			Limit: MaxHeaderBytes,
		}
	case data > MaxConnectionBytes:
		return &rosbag.LimitError{
			Op: rosbag.OpConnection, What: "connection header", Got: int64(data),
			Limit: MaxConnectionBytes,
		}
	case count > maxConnectionFields:
		return fmt.Errorf("%w: connection header of %d fields, limit %d", rosbag.ErrLimit, count,
			maxConnectionFields)
	}
	for _, f := range c.Header {
		if f.Key == "" || len(f.Key) > fields.MaxKeyBytes || strings.Contains(f.Key, "=") {
			return fmt.Errorf("connection header field %.40q: want a key of 1 to %d bytes without '='", f.Key,
				fields.MaxKeyBytes)
		}
	}
	return nil
}

// ConnectionBytes is the length of what AppendConnection adds.
func ConnectionBytes(c *rosbag.Connection) int {
	n := MinRecordBytes + connectionHeaderBytes(c) + fields.List(c.Header).Size()
	for _, key := range StockKeys {
		if _, ok := c.Header.Get(key); !ok {
			n += 4 + len(key) + 1
		}
	}
	return n
}

// AppendConnection adds the record of c to dst, with empty values for the fields
// of StockKeys that it lacks.
func AppendConnection(dst []byte, c *rosbag.Connection) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(connectionHeaderBytes(c)))
	dst = appendU32(dst, KeyConn, uint32(c.ID))
	dst = appendOp(dst, rosbag.OpConnection)
	dst = fields.Append(dst, rosbag.KeyTopic, c.Topic)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = fields.List(c.Header).Append(dst)
	for _, key := range StockKeys {
		if _, ok := c.Header.Get(key); !ok {
			dst = fields.Append(dst, key, "")
		}
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendOp(dst []byte, op rosbag.Op) []byte {
	return append(dst, 4, 0, 0, 0, 'o', 'p', '=', byte(op))
}

func appendU32(dst []byte, key string, v uint32) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(key)+5))
	dst = append(append(dst, key...), '=')
	return binary.LittleEndian.AppendUint32(dst, v)
}

func appendU64(dst []byte, key string, v uint64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(key)+9))
	dst = append(append(dst, key...), '=')
	return binary.LittleEndian.AppendUint64(dst, v)
}

func appendTime(dst []byte, key string, t rosbag.Time) []byte {
	return appendU64(dst, key, uint64(t.Nsec)<<32|uint64(t.Sec))
}

// AppendBagHeader adds the bag header record, padded as stock does. Of h its four fields count.
func AppendBagHeader(dst []byte, h *RecordHeader) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendU32(dst, KeyChunkCount, h.ChunkCount)
	dst = appendU32(dst, KeyConnCount, h.ConnCount)
	dst = appendU64(dst, KeyIndexPos, h.IndexPos)
	dst = appendOp(dst, rosbag.OpBagHeader)
	if h.Repeated.Count > 0 {
		dst = appendU32(dst, keyRepeatCount, h.Repeated.Count)
		dst = appendTime(dst, keyRepeatTime, h.Repeated.Time)
	}
	n := len(dst) - at - 4
	binary.LittleEndian.PutUint32(dst[at:], uint32(n))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(BagHeaderBytes-n))
	for range BagHeaderBytes - n {
		dst = append(dst, ' ')
	}
	return dst
}

// ChunkHeaderBytes is the length of what AppendChunkHeader adds.
func ChunkHeaderBytes(c rosbag.Compression) int { return 60 + len(c) }

// AppendChunkHeader adds the header of a chunk record and the length of its data.
func AppendChunkHeader(dst []byte, c rosbag.Compression, crc uint32, size, stored int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = fields.Append(dst, keyCompression, string(c))
	dst = appendU32(dst, keyCRC32C, crc)
	dst = appendOp(dst, rosbag.OpChunk)
	dst = appendU32(dst, keySize, uint32(size))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return binary.LittleEndian.AppendUint32(dst, uint32(stored))
}

// ChunkInfoBytes is what AppendChunkInfo appends beside the counts.
const ChunkInfoBytes = 108

// AppendChunkInfo adds a whole chunk info record.
func AppendChunkInfo(dst []byte, pos int64, start, end rosbag.Time, counts []rosbag.ConnCount) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendU64(dst, keyChunkPos, uint64(pos))
	dst = appendU32(dst, KeyCount, uint32(len(counts)))
	dst = appendTime(dst, keyEndTime, end)
	dst = appendOp(dst, rosbag.OpChunkInfo)
	dst = appendTime(dst, keyStartTime, start)
	dst = appendU32(dst, KeyVer, IndexVersion)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(counts)*CountEntryBytes))
	for _, c := range counts {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c.Conn.ID))
		dst = binary.LittleEndian.AppendUint32(dst, c.Count)
	}
	return dst
}
