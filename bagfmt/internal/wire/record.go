package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Keys of record headers. The connection's topic and the compression share their
// names with nothing else.
const (
	KeyChunkCount  = "chunk_count"
	keyChunkPos    = "chunk_pos"
	keyCompression = "compression"
	KeyConn        = "conn"
	KeyConnCount   = "conn_count"
	KeyCount       = "count"
	keyCRC32C      = "crc32c"
	keyEncryptor   = "encryptor"
	keyEndTime     = "end_time"
	KeyIndexPos    = "index_pos"
	KeyOp          = "op"
	keyRepeatCount = "repeated_count"
	keyRepeatTime  = "repeated_time"
	keySize        = "size"
	keyStartTime   = "start_time"
	keyTime        = "time"
	KeyVer         = "ver"
)

// fieldSet says which fields a RecordHeader holds.
type fieldSet uint32

// The fields of record headers, as bits of a fieldSet.
const (
	hasChunkCount fieldSet = 1 << iota
	hasChunkPos
	HasCompression
	hasConn
	hasConnCount
	hasCount
	HasCRC32C
	hasEncryptor
	hasEndTime
	hasIndexPos
	hasOp
	hasRepeatCount
	hasRepeatTime
	hasSize
	hasStartTime
	hasTime
	hasTopic
	hasVer
)

// required holds the fields without which a record of an op means nothing.
var required = [...]fieldSet{
	rosbag.OpMessage:    hasConn | hasTime,
	rosbag.OpBagHeader:  hasIndexPos | hasConnCount | hasChunkCount,
	rosbag.OpIndexData:  hasVer | hasConn | hasCount,
	rosbag.OpChunk:      HasCompression | hasSize,
	rosbag.OpChunkInfo:  hasVer | hasChunkPos | hasStartTime | hasEndTime | hasCount,
	rosbag.OpConnection: hasConn | hasTopic,
}

// RecordHeader is a parsed record header. Fields that it does not know are left
// out; byte slices share the memory of the header they were parsed from.
type RecordHeader struct {
	Has         fieldSet
	Framed      bool // all fields could be cut and there is an op: the record's extent can be trusted
	sealed      bool // the header was encrypted, and so is the data of the record
	Op          rosbag.Op
	Conn        rosbag.ConnID
	Time        rosbag.Time
	Count       uint32
	Ver         uint32
	Size        uint32
	CRC         uint32
	Start, End  rosbag.Time
	ChunkPos    uint64
	IndexPos    uint64
	ConnCount   uint32
	ChunkCount  uint32
	Repeated    rosbag.Repeated // Time, if hasRepeatTime
	Compression []byte
	topic       []byte
}

// Parse reads a whole record header. It allocates only when it fails.
func (h *RecordHeader) Parse(b []byte) error {
	*h = RecordHeader{}
	var wrong error
	for rest := b; len(rest) > 0; {
		key, value, tail, err := fields.Next(rest)
		if err != nil {
			var c *fields.CorruptError
			if errors.As(err, &c) {
				return fmt.Errorf("header byte %d: %s", len(b)-len(rest)+c.Offset, c.Reason)
			}
			return err
		}
		if !h.set(key, value) && wrong == nil {
			wrong = fmt.Errorf("header field %s has %d bytes", key, len(value))
		}
		rest = tail
	}
	if h.Has&hasOp == 0 {
		return ErrNoOp
	}
	h.Framed = true
	if wrong == nil && int(h.Op) < len(required) && h.Has&required[h.Op] != required[h.Op] {
		wrong = fmt.Errorf("header lacks %s", required[h.Op]&^h.Has)
	}
	return wrong
}

// ErrNoOp says that a record header lacks the kind of the record.
var ErrNoOp = errors.New("header without op field")

// String names the fields of the set, for error texts.
func (f fieldSet) String() string {
	names := [...]string{
		KeyChunkCount, keyChunkPos, keyCompression, KeyConn, KeyConnCount, KeyCount, keyCRC32C,
		keyEncryptor, keyEndTime, KeyIndexPos, KeyOp, keyRepeatCount, keyRepeatTime, keySize, keyStartTime,
		keyTime, rosbag.KeyTopic, KeyVer,
	}
	s := ""
	for i, name := range names {
		if f&(1<<i) == 0 {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += name
	}
	return s
}

// set stores one field. It reports whether the value has the length of its kind.
// As in stock readers the last of repeated fields counts.
func (h *RecordHeader) set(key, value []byte) bool {
	switch string(key) {
	case KeyChunkCount:
		return h.u32(hasChunkCount, &h.ChunkCount, value)
	case keyChunkPos:
		return h.u64(hasChunkPos, &h.ChunkPos, value)
	case keyCompression:
		h.Has, h.Compression = h.Has|HasCompression, value
	case KeyConn:
		return h.u32(hasConn, (*uint32)(&h.Conn), value)
	case KeyConnCount:
		return h.u32(hasConnCount, &h.ConnCount, value)
	case KeyCount:
		return h.u32(hasCount, &h.Count, value)
	case keyCRC32C:
		return h.u32(HasCRC32C, &h.CRC, value)
	case keyEncryptor:
		h.Has |= hasEncryptor // ParseEncryption reads it
	case keyEndTime:
		return h.stamp(hasEndTime, &h.End, value)
	case KeyIndexPos:
		return h.u64(hasIndexPos, &h.IndexPos, value)
	case KeyOp:
		if len(value) != 1 {
			return false
		}
		h.Has, h.Op = h.Has|hasOp, rosbag.Op(value[0])
	case keyRepeatCount: // stock readers do not know it: with another length it is none of ours
		h.u32(hasRepeatCount, &h.Repeated.Count, value)
	case keyRepeatTime:
		h.stamp(hasRepeatTime, &h.Repeated.Time, value)
	case keySize:
		return h.u32(hasSize, &h.Size, value)
	case keyStartTime:
		return h.stamp(hasStartTime, &h.Start, value)
	case keyTime:
		return h.stamp(hasTime, &h.Time, value)
	case rosbag.KeyTopic:
		h.Has, h.topic = h.Has|hasTopic, value
	case KeyVer:
		return h.u32(hasVer, &h.Ver, value)
	}
	return true
}

func (h *RecordHeader) u32(f fieldSet, dst *uint32, value []byte) bool {
	if len(value) != 4 {
		return false
	}
	h.Has |= f
	*dst = binary.LittleEndian.Uint32(value)
	return true
}

func (h *RecordHeader) u64(f fieldSet, dst *uint64, value []byte) bool {
	if len(value) != 8 {
		return false
	}
	h.Has |= f
	*dst = binary.LittleEndian.Uint64(value)
	return true
}

func (h *RecordHeader) stamp(f fieldSet, dst *rosbag.Time, value []byte) bool {
	if len(value) != 8 {
		return false
	}
	h.Has |= f
	*dst = GetTime(value)
	return true
}

// GetTime returns the time at the start of b.
func GetTime(b []byte) rosbag.Time {
	return rosbag.Time{Sec: binary.LittleEndian.Uint32(b), Nsec: binary.LittleEndian.Uint32(b[4:])}
}

// PutTime writes a time to the start of b.
func PutTime(b []byte, t rosbag.Time) {
	binary.LittleEndian.PutUint32(b, t.Sec)
	binary.LittleEndian.PutUint32(b[4:], t.Nsec)
}

// messageHeader is the start of every message record that C++ and we write. The
// places of conn and time are zero.
const messageHeader = "\x26\x00\x00\x00" +
	"\x09\x00\x00\x00conn=\x00\x00\x00\x00" +
	"\x04\x00\x00\x00op=\x02" +
	"\x0d\x00\x00\x00time=\x00\x00\x00\x00\x00\x00\x00\x00"

// messageHeaderArray is messageHeader as a slice: an array is copied faster.
var messageHeaderArray = []byte(messageHeader)

// Where messageHeader has its values.
const (
	messageConnAt = 4 + 4 + 5
	MessageTimeAt = messageConnAt + 4 + 8 + 4 + 5
)

// PutMessageHeader fills the first MessageHeaderBytes of b.
func PutMessageHeader(b []byte, id rosbag.ConnID, t rosbag.Time) {
	*(*[MessageHeaderBytes]byte)(b) = *(*[MessageHeaderBytes]byte)(messageHeaderArray)
	binary.LittleEndian.PutUint32(b[messageConnAt:], uint32(id))
	PutTime(b[MessageTimeAt:], t)
}

// isMessageHeader reports whether b starts with the usual message header, so that
// readers need no field by field parsing for nearly all messages.
func isMessageHeader(b []byte) bool {
	return len(b) >= MessageHeaderBytes &&
		string(b[:messageConnAt]) == messageHeader[:messageConnAt] &&
		string(b[messageConnAt+4:MessageTimeAt]) == messageHeader[messageConnAt+4:MessageTimeAt]
}

// CutRecord parses the record at the start of b, which is chunk data. tail is the
// data with its length word: of a message record, its frame. A record that does
// not lie wholly in b is an error that unwraps to io.ErrUnexpectedEOF. After an
// error h.Framed reports whether rest is good.
func CutRecord(b []byte, h *RecordHeader) (tail, rest []byte, err error) {
	h.Framed = false
	n, err := sized(b, "header")
	if err != nil {
		return nil, nil, err
	}
	if n-4 > MaxHeaderBytes {
		return nil, nil, fmt.Errorf("header of %d bytes, limit %d", n-4, MaxHeaderBytes)
	}
	wrong := h.Parse(b[4:n])
	if !h.Framed {
		return nil, nil, wrong
	}
	b = b[n:]
	if n, err = sized(b, "data"); err != nil {
		h.Framed = false
		return nil, nil, err
	}
	return b[:n:n], b[n:], wrong
}

// CutMessage does what CutRecord does for the message records that C++ and we
// write, which are nearly all records of nearly all bags.
func CutMessage(b []byte) (id rosbag.ConnID, t rosbag.Time, frame, rest []byte, ok bool) {
	if !isMessageHeader(b) {
		return 0, rosbag.Time{}, nil, nil, false
	}
	id = rosbag.ConnID(binary.LittleEndian.Uint32(b[messageConnAt:]))
	t = GetTime(b[MessageTimeAt:])
	b = b[MessageHeaderBytes:]
	if len(b) < 4 {
		return 0, rosbag.Time{}, nil, nil, false
	}
	n := int64(binary.LittleEndian.Uint32(b)) + 4
	if n > int64(len(b)) {
		return 0, rosbag.Time{}, nil, nil, false
	}
	return id, t, b[:n:n], b[n:], true
}

// MessageAt finds the message record at offset in the chunk data, and where its frame
// is. As in stock readers, connection records in front of it are skipped, up to maxSkippedRecords.
// parsed counts the bytes of headers that took more than a glance.
func MessageAt(data []byte, offset int64) (id rosbag.ConnID, t rosbag.Time, frame, parsed int, err error) {
	if offset >= int64(len(data)) {
		return 0, rosbag.Time{}, 0, 0, fmt.Errorf("offset %d in a chunk of %d bytes", offset, len(data))
	}
	b := data[offset:]
	for range maxSkippedRecords + 1 {
		if id, t, _, _, ok := CutMessage(b); ok {
			return id, t, len(data) - len(b) + MessageHeaderBytes, parsed, nil
		}
		var h RecordHeader
		tail, rest, err := CutRecord(b, &h)
		parsed += min(len(b)-len(rest)-len(tail), MaxHeaderBytes) // with an error, no less than was parsed
		switch {
		case err != nil:
			return 0, rosbag.Time{}, 0, parsed, err
		case h.Op == rosbag.OpMessage:
			return h.Conn, h.Time, len(data) - len(rest) - len(tail), parsed, nil
		case h.Op != rosbag.OpConnection && h.Op != rosbag.OpMessageDefinition:
			return 0, rosbag.Time{}, 0, parsed, fmt.Errorf("%s record instead of a message", h.Op)
		}
		b = rest
	}
	return 0, rosbag.Time{}, 0, parsed,
		fmt.Errorf("more than %d records before the message", maxSkippedRecords)
}

// sized returns the length of the length-prefixed block at the start of b, its
// length word included.
func sized(b []byte, what string) (int, error) {
	if len(b) < 4 {
		return 0, fmt.Errorf("%s length needs 4 bytes, %d left: %w", what, len(b), io.ErrUnexpectedEOF)
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if left := int64(len(b) - 4); n > left {
		return 0, fmt.Errorf("%s of %d bytes, %d left: %w", what, n, left, io.ErrUnexpectedEOF)
	}
	return int(n) + 4, nil
}

// ParseConnection makes a Connection from its record. It shares no memory with
// the arguments.
func ParseConnection(h *RecordHeader, data []byte) (*rosbag.Connection, error) {
	if len(data) > MaxConnectionBytes {
		return nil, fmt.Errorf("connection header of %d bytes, limit %d", len(data), MaxConnectionBytes)
	}
	l, err := fields.ParseLimit(data, maxConnectionFields)
	if err != nil {
		return nil, err
	}
	return &rosbag.Connection{
		ID: h.Conn, Topic: string(h.topic),
		Header: msgdef.WithMD5Sum(rosbag.Header(l)),
	}, nil
}

// Knows reports whether key is a field of record headers.
func (h *RecordHeader) Knows(key []byte) bool {
	if string(key) == KeyOp {
		return true
	}
	had := h.Has
	h.set(key, nil)
	h.set(key, make([]byte, 4))
	h.set(key, make([]byte, 8))
	return h.Has != had
}

// Repeats returns what a bag header says about repeated messages.
func (h *RecordHeader) Repeats() rosbag.Repeated {
	const both = hasRepeatCount | hasRepeatTime
	if h.Has&both != both {
		return rosbag.Repeated{}
	}
	return h.Repeated
}
