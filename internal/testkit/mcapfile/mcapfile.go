// Package mcapfile makes MCAP files in all forms that the specification allows, for tests: with and
// without chunks, indexes, statistics and repeated records, and with records that are longer than those
// of today.
package mcapfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Form says what a file has. The zero value is a file without chunks and without a summary.
type Form struct {
	Empty          bool // no messages
	Chunks         bool
	MessageIndexes bool // with Chunks
	ChunkIndexes   bool // with Chunks
	RepeatChannels bool
	RepeatSchemas  bool
	Statistics     bool
	SummaryOffsets bool
	Metadata       bool
	Longer         bool // all records that may be extended have bytes after their fields
}

// Forms returns all forms.
func Forms() (all []Form) {
	for bits := range 1 << 10 {
		is := func(n int) bool { return bits&(1<<n) != 0 }
		f := Form{is(0), is(1), is(2), is(3), is(4), is(5), is(6), is(7), is(8), is(9)}
		if f.Chunks || !f.MessageIndexes && !f.ChunkIndexes {
			all = append(all, f)
		}
	}
	return all
}

// Messages is the number of messages of a file that is not Empty. Each is a std_msgs/String with the text
// "m".
const Messages = 10

const (
	opHeader, opFooter, opSchema, opChannel, opMessage, opChunk = 1, 2, 3, 4, 5, 6
	opMessageIndex, opChunkIndex, opStatistics, opMetadata      = 7, 8, 11, 12
	opMetadataIndex, opSummaryOffset, opDataEnd                 = 13, 14, 15

	magic = "\x89MCAP0\r\n"
	md5   = "992ce8a1687cec8c8bd883ec73ca41d1"
)

var le = binary.LittleEndian

// Fields makes the content of a record: uint8, uint16, uint32, uint64, text with its length, and raw bytes.
func Fields(all ...any) (b []byte) {
	for _, v := range all {
		switch v := v.(type) {
		case uint8:
			b = append(b, v)
		case uint16:
			b = le.AppendUint16(b, v)
		case uint32:
			b = le.AppendUint32(b, v)
		case uint64:
			b = le.AppendUint64(b, v)
		case string:
			b = append(le.AppendUint32(b, uint32(len(v))), v...)
		case []byte:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("field of type %T", v))
		}
	}
	return b
}

// record makes a record.
func (f Form) record(op byte, content []byte) []byte {
	if f.Longer && op != opMessage && op != opFooter {
		content = append(content, 1, 2, 3)
	}
	return append(le.AppendUint64([]byte{op}, uint64(len(content))), content...)
}

// Make makes the file.
func (f Form) Make() []byte {
	schema := f.record(opSchema, Fields(uint16(1), "std_msgs/String", "ros1msg", "string data\n"))
	channel := f.record(opChannel,
		Fields(uint16(1), uint16(1), "/t", "ros1", Fields(string(Fields("md5sum", md5)))))
	b := append([]byte(magic), f.record(opHeader, Fields("ros1", "test"))...)
	data := append(append([]byte{}, schema...), channel...)
	var index []byte
	n := uint64(0)
	if !f.Empty {
		n = Messages
	}
	for i := range n {
		at := 1e9 + i
		index = append(index, Fields(at, uint64(len(data)))...)
		data = append(data, f.record(opMessage, Fields(uint16(1), uint32(i), at, at, Fields("m")))...)
	}
	start, end := uint64(0), uint64(0)
	if n > 0 {
		start, end = 1e9, 1e9+n-1
	}
	var summary []byte
	var places []byte // summary offset records
	group := func(op uint8, wanted bool, records []byte) {
		if wanted && len(records) > 0 {
			places = append(places,
				f.record(opSummaryOffset, Fields(op, uint64(len(b)+len(summary)), uint64(len(records))))...)
			summary = append(summary, records...)
		}
	}
	var chunkIndex []byte
	if f.Chunks {
		at := uint64(len(b))
		b = append(b, f.record(opChunk,
			Fields(start, end, uint64(len(data)), crc32.ChecksumIEEE(data), "", uint64(len(data)), data))...)
		length, indexAt := uint64(len(b))-at, uint64(len(b))
		var offsets []byte
		if f.MessageIndexes && n > 0 {
			b = append(b, f.record(opMessageIndex, Fields(uint16(1), string(index)))...)
			offsets = Fields(uint16(1), indexAt)
		}
		chunkIndex = f.record(opChunkIndex,
			Fields(start, end, at, length, string(offsets), uint64(len(b))-indexAt, "", uint64(len(data)),
				uint64(len(data))))
	} else {
		b = append(b, data...)
	}
	metadataAt := uint64(len(b))
	if f.Metadata {
		b = append(b, f.record(opMetadata, Fields("name", string(Fields("key", "value"))))...)
	}
	metadataBytes := uint64(len(b)) - metadataAt
	b = append(b, f.record(opDataEnd, Fields(uint32(0)))...)
	group(opSchema, f.RepeatSchemas, schema)
	group(opChannel, f.RepeatChannels, channel)
	chunks := uint32(0)
	if f.Chunks {
		chunks = 1
	}
	metadata := uint32(0)
	if f.Metadata {
		metadata = 1
	}
	group(opStatistics, f.Statistics,
		f.record(opStatistics,
			Fields(n, uint16(1), uint32(1), uint32(0), metadata, chunks, start, end,
				string(Fields(uint16(1), n)))))
	group(opChunkIndex, f.ChunkIndexes, chunkIndex)
	group(opMetadataIndex, f.Metadata, f.record(opMetadataIndex, Fields(metadataAt, metadataBytes, "name")))
	summaryAt, offsetsAt := uint64(0), uint64(0)
	if len(summary) > 0 {
		summaryAt = uint64(len(b))
		if f.SummaryOffsets {
			offsetsAt = summaryAt + uint64(len(summary))
			summary = append(summary, places...)
		}
	}
	b = append(b, summary...)
	footer := f.record(opFooter, Fields(summaryAt, offsetsAt, uint32(0)))
	crc := crc32.ChecksumIEEE(append(append([]byte{}, summary...), footer[:len(footer)-4]...))
	return append(append(append(b, footer[:len(footer)-4]...), Fields(crc)...), magic...)
}
