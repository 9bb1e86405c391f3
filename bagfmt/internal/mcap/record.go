package mcap

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Op is the kind of a record.
type Op byte

// The records of MCAP.
const (
	OpHeader          Op = 0x01
	OpFooter          Op = 0x02
	OpSchema          Op = 0x03
	OpChannel         Op = 0x04
	OpMessage         Op = 0x05
	OpChunk           Op = 0x06
	OpMessageIndex    Op = 0x07
	OpChunkIndex      Op = 0x08
	OpAttachment      Op = 0x09
	OpAttachmentIndex Op = 0x0A
	OpStatistics      Op = 0x0B
	OpMetadata        Op = 0x0C
	OpMetadataIndex   Op = 0x0D
	OpSummaryOffset   Op = 0x0E
	OpDataEnd         Op = 0x0F
)

// Bag returns the record of a bag that is the like of op, for errors, 0 if there is none.
func (op Op) Bag() rosbag.Op {
	switch op { //nolint:exhaustive // the others have none
	case OpHeader:
		return rosbag.OpBagHeader
	case OpSchema, OpChannel:
		return rosbag.OpConnection
	case OpMessage:
		return rosbag.OpMessage
	case OpChunk:
		return rosbag.OpChunk
	case OpMessageIndex:
		return rosbag.OpIndexData
	case OpChunkIndex:
		return rosbag.OpChunkInfo
	}
	return 0
}

// Misplaced returns an error if a record of n bytes at offset at does not belong in the data section.
// Records of unknown kinds are allowed everywhere.
func (op Op) Misplaced(n, at int64) error {
	switch op { //nolint:exhaustive // the others may be there
	case OpChunkIndex, OpAttachmentIndex, OpStatistics, OpMetadataIndex, OpSummaryOffset:
	case OpFooter:
		if n == footerContent {
			return nil
		}
	case OpDataEnd:
		if n >= dataEndContent && n <= dataEndContent+maxLonger {
			return nil
		}
	default:
		return nil
	}
	return wire.Corrupt(at, op.Bag(), "record of kind %#02x with %d bytes among the messages", byte(op), n)
}

// Known reports whether records of this kind are known.
func (op Op) Known() bool { return op >= OpHeader && op <= OpDataEnd }

// NoEnd returns the error that the file ends at offset at, before the record that ends the messages: it
// was not closed, or is cut, and nobody knows what is missing.
func NoEnd(at int64) error { return wire.Torn(at, 0, "head", 0, HeadBytes) }

// Sizes of records and limits on them.
const (
	// op and length of a record.
	HeadBytes = 9
	// channel, sequence and times of a message.
	MessageHeadBytes = 2 + 4 + 8 + 8
	// times, size and checksum of a chunk.
	chunkHeadBytes = 8 + 8 + 8 + 4
	// of a message index record.
	IndexHeadBytes  = HeadBytes + 2 + 4
	IndexEntryBytes = 16
	FooterBytes     = HeadBytes + footerContent
	footerContent   = 8 + 8 + 4
	dataEndContent  = 4
	// bytes that newer writers may add to a record whose length tells it from garbage.
	maxLonger = 256
	TailBytes = FooterBytes + len(wire.MCAPMagic)
	// content of a record that is neither message, chunk nor attachment.
	MaxSmallBytes = 4 << 20
	// of the content of a chunk record, without its data.
	MaxChunkHeadBytes = chunkHeadBytes + 4 + maxCompression + 8
	// bytes of the name of a compression.
	maxCompression = 64

	frameAt = HeadBytes + MessageHeadBytes - 4 // in a message record: where its frame starts
)

// ParseHead returns what the first HeadBytes of a record say.
func ParseHead(b []byte) (op Op, length uint64) {
	return Op(b[0]), binary.LittleEndian.Uint64(b[1:])
}

// content takes the fields of a record's content one after the other. Once one is missing all
// others are zero.
type content struct {
	b     []byte
	short bool
}

func (c *content) take(n uint64) []byte {
	if c.short || n > uint64(len(c.b)) {
		c.short = true
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *content) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *content) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *content) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// bytes takes a length of 4 bytes and as many bytes.
func (c *content) bytes() []byte { return c.take(uint64(c.u32())) }

// text is bytes as a string.
func (c *content) text() string { return string(c.bytes()) }

// done reports what is missing. Bytes after the known fields are allowed: newer writers may add some.
func (c *content) done(what string) error {
	if c.short {
		return fmt.Errorf("%s ends inside its fields", what)
	}
	return nil
}

// ParseHeader parses the content of a header record, the first of a file.
func ParseHeader(b []byte) (profile, library string, err error) {
	c := content{b: b}
	profile, library = c.text(), c.text()
	return profile, library, c.done("header")
}

// Footer is the last record of a file.
type Footer struct {
	Summary uint64 // offset of the summary section, 0 if there is none
	CRC     uint32 // of the summary, up to this field; 0 if there is none
}

// ParseFooter parses the content of a footer record.
func ParseFooter(b []byte) (f Footer, err error) {
	c := content{b: b}
	f.Summary = c.u64()
	c.take(8) // offset of the summary offset section
	f.CRC = c.u32()
	return f, c.done("footer")
}

// ParseChunkHead fills in p, of which Pos is known, from the start of the content of a chunk record,
// which has n bytes. The compression may be an unknown one.
func ParseChunkHead(b []byte, n int64, p *wire.ChunkPlace) error {
	c := content{b: b}
	c.take(16) // times
	size, crc := c.u64(), c.u32()
	name := c.bytes()
	stored := c.u64()
	if err := c.done("chunk"); err != nil {
		return err
	}
	head := int64(len(b) - len(c.b))
	switch {
	case len(name) > maxCompression:
		return fmt.Errorf("name of its compression has %d bytes", len(name))
	case stored > uint64(n-head): // newer writers may add bytes
		return fmt.Errorf("%d bytes of data in a record of %d bytes", stored, n)
	case size > math.MaxInt64:
		return fmt.Errorf("unpacked size of %d bytes", size)
	}
	p.Data, p.Stored, p.Size = p.Pos+HeadBytes+head, int64(stored), int64(size)
	p.Compression, p.Op, p.MCAP = compressionNamed(name), rosbag.OpChunk, true
	p.CRC, p.Checked = crc, crc != 0
	if p.Compression == rosbag.CompressionNone && p.Size != p.Stored {
		return fmt.Errorf("%d bytes of data, which is not compressed, of %d bytes", p.Stored, p.Size)
	}
	return nil
}

func compressionNamed(name []byte) rosbag.Compression {
	switch string(name) {
	case "":
		return rosbag.CompressionNone
	case string(rosbag.CompressionLZ4):
		return rosbag.CompressionLZ4
	case string(rosbag.CompressionZstd):
		return rosbag.CompressionZstd
	}
	return rosbag.Compression(name)
}

// KnownCompression reports whether a chunk of compression c can be read.
func KnownCompression(c rosbag.Compression) bool {
	return c == rosbag.CompressionNone || c == rosbag.CompressionLZ4 || c == rosbag.CompressionZstd
}

// ParseMessageIndex returns the channel and the entries of a message index record, each of
// IndexEntryBytes: the time, see TimeOf, and the offset of the message record in the unpacked chunk.
// Newer writers may add bytes after the entries. But no checksum covers the length of the entries, so
// that these bytes may be entries: the caller compares the number of messages with that in the chunk, or
// in another record.
func ParseMessageIndex(b []byte) (channel uint16, entries []byte, err error) {
	c := content{b: b}
	channel, entries = c.u16(), c.bytes()
	if err := c.done("message index"); err != nil {
		return 0, nil, err
	}
	if len(entries)%IndexEntryBytes != 0 {
		return 0, nil, fmt.Errorf("message index has %d bytes of entries", len(entries))
	}
	return channel, entries, nil
}

// ChunkIndex is what the summary says about a chunk.
type ChunkIndex struct {
	Start, End uint64 // log time of the first and the last message
	Pos        uint64 // offset of the chunk record
	Length     uint64 // of the chunk record, its head included
	Offsets    []byte // pairs of channel (2 bytes) and offset of its message index record (8 bytes)
	IndexBytes uint64 // of all its message index records, which follow it
}

// OffsetBytes is the size of a pair in ChunkIndex.Offsets.
const OffsetBytes = 2 + 8

// ParseChunkIndex parses the content of a chunk index record.
func ParseChunkIndex(b []byte) (x ChunkIndex, err error) {
	c := content{b: b}
	x.Start, x.End, x.Pos, x.Length = c.u64(), c.u64(), c.u64(), c.u64()
	x.Offsets, x.IndexBytes = c.bytes(), c.u64()
	if err := c.done("chunk index"); err != nil {
		return x, err
	}
	if len(x.Offsets)%OffsetBytes != 0 {
		return x, fmt.Errorf("chunk index has %d bytes of offsets", len(x.Offsets))
	}
	return x, nil
}

// Pair returns pair n of Offsets.
func (x *ChunkIndex) Pair(n int) (channel uint16, offset uint64) {
	b := x.Offsets[n*OffsetBytes:]
	return binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint64(b[2:])
}

// ParseAttachmentIndex parses the content of an attachment index record.
func ParseAttachmentIndex(b []byte) (x rosbag.MCAPExtra, err error) {
	c := content{b: b}
	c.take(4 * 8)
	n := c.u64()
	x.Bytes = int64(min(n, math.MaxInt64))
	x.Name, x.Type = c.text(), c.text()
	return x, c.done("attachment index")
}

// AttachmentHeadBytes is how much of an attachment ParseAttachment needs at most, if its name and
// type are of a reasonable length.
const AttachmentHeadBytes = 4 << 10

// ParseAttachment parses the start of the content of an attachment record.
func ParseAttachment(b []byte) (x rosbag.MCAPExtra, err error) {
	c := content{b: b}
	c.take(2 * 8)
	x.Name, x.Type = c.text(), c.text()
	x.Bytes = int64(min(c.u64(), math.MaxInt64))
	return x, c.done("attachment")
}

// ParseMetadata parses the start of the content of a metadata record that has n bytes.
func ParseMetadata(b []byte, n int64) (x rosbag.MCAPExtra, err error) {
	c := content{b: b}
	x.Name, x.Bytes = c.text(), n
	return x, c.done("metadata")
}

// ParseMetadataIndex parses the content of a metadata index record.
func ParseMetadataIndex(b []byte) (x rosbag.MCAPExtra, err error) {
	c := content{b: b}
	c.u64()
	n := c.u64()
	x.Bytes = int64(min(max(n, HeadBytes)-HeadBytes, math.MaxInt64))
	x.Name = c.text()
	return x, c.done("metadata index")
}

// MessageTime returns the time of a message of a channel, in the record at offset at, or in the
// chunk there. One that a bag cannot have is an error.
func MessageTime(channel uint16, ns uint64, at int64) (rosbag.Time, error) {
	t, ok := TimeOf(ns)
	if !ok {
		return t, wire.Corrupt(at, rosbag.OpMessage,
			"message of channel %d at %d.%09d s: ROS 1 has no times after the year 2106", channel,
			ns/nsecPerSec, ns%nsecPerSec)
	}
	return t, nil
}

const nsecPerSec = 1_000_000_000

// TimeOf returns a log time as a Time. ok is false if a bag has no such time; t is then the last one
// that a bag has.
func TimeOf(ns uint64) (t rosbag.Time, ok bool) {
	sec := ns / nsecPerSec
	if sec > math.MaxUint32 {
		return rosbag.Time{Sec: math.MaxUint32, Nsec: nsecPerSec - 1}, false
	}
	return rosbag.Time{Sec: uint32(sec), Nsec: uint32(ns % nsecPerSec)}, true
}
