package bagfmt

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/internal/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// stockKeys are the fields that stock readers insist on: rosbag's Python API calls
// a whole bag unindexed when one connection lacks its definition.
var stockKeys = [...]string{rosbag.KeyType, rosbag.KeyMD5Sum, rosbag.KeyMessageDefinition}

// connectionHeaderBytes is the length of the record header of c.
func connectionHeaderBytes(c *rosbag.Connection) int {
	return 13 + 8 + 4 + len(rosbag.KeyTopic) + 1 + len(c.Topic)
}

// checkConnection reports why a reader would refuse the record of c, and with it
// the whole bag.
func checkConnection(c *rosbag.Connection) error {
	count := len(c.Header)
	for _, key := range stockKeys {
		if _, ok := c.Header.Get(key); !ok {
			count++
		}
	}
	head := connectionHeaderBytes(c)
	data := connectionBytes(c) - minRecordBytes - head
	switch {
	case head > maxHeaderBytes:
		return &rosbag.LimitError{Op: rosbag.OpConnection, What: "record header", Got: int64(head), Limit: maxHeaderBytes}
	case data > maxConnectionBytes:
		return &rosbag.LimitError{Op: rosbag.OpConnection, What: "connection header", Got: int64(data), Limit: maxConnectionBytes}
	case count > maxConnectionFields:
		return fmt.Errorf("%w: connection header of %d fields, limit %d", rosbag.ErrLimit, count, maxConnectionFields)
	}
	for _, f := range c.Header {
		if f.Key == "" || len(f.Key) > fields.MaxKeyBytes || strings.Contains(f.Key, "=") {
			return fmt.Errorf("connection header field %.40q: want a key of 1 to %d bytes without '='", f.Key, fields.MaxKeyBytes)
		}
	}
	return nil
}

// connectionBytes is the length of what appendConnection adds.
func connectionBytes(c *rosbag.Connection) int {
	n := minRecordBytes + connectionHeaderBytes(c) + fields.List(c.Header).Size()
	for _, key := range stockKeys {
		if _, ok := c.Header.Get(key); !ok {
			n += 4 + len(key) + 1
		}
	}
	return n
}

// appendConnection adds the record of c to dst, with empty values for the fields
// of stockKeys that it lacks.
func appendConnection(dst []byte, c *rosbag.Connection) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(connectionHeaderBytes(c)))
	dst = appendU32(dst, keyConn, uint32(c.ID))
	dst = appendOp(dst, rosbag.OpConnection)
	dst = fields.Append(dst, rosbag.KeyTopic, c.Topic)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = fields.List(c.Header).Append(dst)
	for _, key := range stockKeys {
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

// appendBagHeader adds the bag header record, padded as stock does. Of h its four fields count.
func appendBagHeader(dst []byte, h *recordHeader) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendU32(dst, keyChunkCount, h.chunkCount)
	dst = appendU32(dst, keyConnCount, h.connCount)
	dst = appendU64(dst, keyIndexPos, h.indexPos)
	dst = appendOp(dst, rosbag.OpBagHeader)
	if h.repeated.Count > 0 {
		dst = appendU32(dst, keyRepeatCount, h.repeated.Count)
		dst = appendTime(dst, keyRepeatTime, h.repeated.Time)
	}
	n := len(dst) - at - 4
	binary.LittleEndian.PutUint32(dst[at:], uint32(n))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(bagHeaderBytes-n))
	for range bagHeaderBytes - n {
		dst = append(dst, ' ')
	}
	return dst
}

// chunkHeaderBytes is the length of what appendChunkHeader adds.
func chunkHeaderBytes(c rosbag.Compression) int { return 60 + len(c) }

// appendChunkHeader adds the header of a chunk record and the length of its data.
func appendChunkHeader(dst []byte, c rosbag.Compression, crc uint32, size, stored int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = fields.Append(dst, keyCompression, string(c))
	dst = appendU32(dst, keyCRC32C, crc)
	dst = appendOp(dst, rosbag.OpChunk)
	dst = appendU32(dst, keySize, uint32(size))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return binary.LittleEndian.AppendUint32(dst, uint32(stored))
}

// appendIndexHeader adds the header of an index data record and the length of its data.
func appendIndexHeader(dst []byte, id rosbag.ConnID, count int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendU32(dst, keyConn, uint32(id))
	dst = appendU32(dst, keyCount, uint32(count))
	dst = appendOp(dst, rosbag.OpIndexData)
	dst = appendU32(dst, keyVer, indexVersion)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return binary.LittleEndian.AppendUint32(dst, uint32(count*indexEntryBytes))
}

// chunkInfoBytes is what appendChunkInfo appends beside the counts.
const chunkInfoBytes = 108

// appendChunkInfo adds a whole chunk info record.
func appendChunkInfo(dst []byte, pos int64, start, end rosbag.Time, counts []rosbag.ConnCount) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendU64(dst, keyChunkPos, uint64(pos))
	dst = appendU32(dst, keyCount, uint32(len(counts)))
	dst = appendTime(dst, keyEndTime, end)
	dst = appendOp(dst, rosbag.OpChunkInfo)
	dst = appendTime(dst, keyStartTime, start)
	dst = appendU32(dst, keyVer, indexVersion)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(counts)*countEntryBytes))
	for _, c := range counts {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c.Conn.ID))
		dst = binary.LittleEndian.AppendUint32(dst, c.Count)
	}
	return dst
}
