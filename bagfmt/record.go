package bagfmt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/internal/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Keys of record headers. The connection's topic and the compression share their
// names with nothing else.
const (
	keyChunkCount  = "chunk_count"
	keyChunkPos    = "chunk_pos"
	keyCompression = "compression"
	keyConn        = "conn"
	keyConnCount   = "conn_count"
	keyCount       = "count"
	keyCRC32C      = "crc32c"
	keyEncryptor   = "encryptor"
	keyEndTime     = "end_time"
	keyIndexPos    = "index_pos"
	keyOp          = "op"
	keyRepeatCount = "repeated_count"
	keyRepeatTime  = "repeated_time"
	keySize        = "size"
	keyStartTime   = "start_time"
	keyTime        = "time"
	keyVer         = "ver"
)

// fieldSet says which fields a recordHeader holds.
type fieldSet uint32

const (
	hasChunkCount fieldSet = 1 << iota
	hasChunkPos
	hasCompression
	hasConn
	hasConnCount
	hasCount
	hasCRC32C
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
	rosbag.OpChunk:      hasCompression | hasSize,
	rosbag.OpChunkInfo:  hasVer | hasChunkPos | hasStartTime | hasEndTime | hasCount,
	rosbag.OpConnection: hasConn | hasTopic,
}

// recordHeader is a parsed record header. Fields that it does not know are left
// out; byte slices share the memory of the header they were parsed from.
type recordHeader struct {
	has         fieldSet
	framed      bool // all fields could be cut and there is an op: the record's extent can be trusted
	sealed      bool // the header was encrypted, and so is the data of the record
	op          rosbag.Op
	conn        rosbag.ConnID
	time        rosbag.Time
	count       uint32
	ver         uint32
	size        uint32
	crc         uint32
	start, end  rosbag.Time
	chunkPos    uint64
	indexPos    uint64
	connCount   uint32
	chunkCount  uint32
	repeated    rosbag.Repeated // Time, if hasRepeatTime
	compression []byte
	topic       []byte
	encryptor   []byte
}

// parse reads a whole record header. It allocates only when it fails.
func (h *recordHeader) parse(b []byte) error {
	*h = recordHeader{}
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
	if h.has&hasOp == 0 {
		return errNoOp
	}
	h.framed = true
	if wrong == nil && int(h.op) < len(required) && h.has&required[h.op] != required[h.op] {
		wrong = fmt.Errorf("header lacks %s", required[h.op]&^h.has)
	}
	return wrong
}

var errNoOp = errors.New("header without op field")

// String names the fields of the set, for error texts.
func (f fieldSet) String() string {
	names := [...]string{
		keyChunkCount, keyChunkPos, keyCompression, keyConn, keyConnCount, keyCount, keyCRC32C,
		keyEncryptor, keyEndTime, keyIndexPos, keyOp, keyRepeatCount, keyRepeatTime, keySize, keyStartTime,
		keyTime, rosbag.KeyTopic, keyVer,
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
func (h *recordHeader) set(key, value []byte) bool {
	switch string(key) {
	case keyChunkCount:
		return h.u32(hasChunkCount, &h.chunkCount, value)
	case keyChunkPos:
		return h.u64(hasChunkPos, &h.chunkPos, value)
	case keyCompression:
		h.has, h.compression = h.has|hasCompression, value
	case keyConn:
		return h.u32(hasConn, (*uint32)(&h.conn), value)
	case keyConnCount:
		return h.u32(hasConnCount, &h.connCount, value)
	case keyCount:
		return h.u32(hasCount, &h.count, value)
	case keyCRC32C:
		return h.u32(hasCRC32C, &h.crc, value)
	case keyEncryptor:
		h.has, h.encryptor = h.has|hasEncryptor, value
	case keyEndTime:
		return h.stamp(hasEndTime, &h.end, value)
	case keyIndexPos:
		return h.u64(hasIndexPos, &h.indexPos, value)
	case keyOp:
		if len(value) != 1 {
			return false
		}
		h.has, h.op = h.has|hasOp, rosbag.Op(value[0])
	case keyRepeatCount: // stock readers do not know it: with another length it is none of ours
		h.u32(hasRepeatCount, &h.repeated.Count, value)
	case keyRepeatTime:
		h.stamp(hasRepeatTime, &h.repeated.Time, value)
	case keySize:
		return h.u32(hasSize, &h.size, value)
	case keyStartTime:
		return h.stamp(hasStartTime, &h.start, value)
	case keyTime:
		return h.stamp(hasTime, &h.time, value)
	case rosbag.KeyTopic:
		h.has, h.topic = h.has|hasTopic, value
	case keyVer:
		return h.u32(hasVer, &h.ver, value)
	}
	return true
}

func (h *recordHeader) u32(f fieldSet, dst *uint32, value []byte) bool {
	if len(value) != 4 {
		return false
	}
	h.has |= f
	*dst = binary.LittleEndian.Uint32(value)
	return true
}

func (h *recordHeader) u64(f fieldSet, dst *uint64, value []byte) bool {
	if len(value) != 8 {
		return false
	}
	h.has |= f
	*dst = binary.LittleEndian.Uint64(value)
	return true
}

func (h *recordHeader) stamp(f fieldSet, dst *rosbag.Time, value []byte) bool {
	if len(value) != 8 {
		return false
	}
	h.has |= f
	*dst = getTime(value)
	return true
}

func getTime(b []byte) rosbag.Time {
	return rosbag.Time{Sec: binary.LittleEndian.Uint32(b), Nsec: binary.LittleEndian.Uint32(b[4:])}
}

func putTime(b []byte, t rosbag.Time) {
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

const (
	messageConnAt = 4 + 4 + 5
	messageTimeAt = messageConnAt + 4 + 8 + 4 + 5
)

// putMessageHeader fills the first messageHeaderBytes of b.
func putMessageHeader(b []byte, id rosbag.ConnID, t rosbag.Time) {
	*(*[messageHeaderBytes]byte)(b) = *(*[messageHeaderBytes]byte)(messageHeaderArray)
	binary.LittleEndian.PutUint32(b[messageConnAt:], uint32(id))
	putTime(b[messageTimeAt:], t)
}

// isMessageHeader reports whether b starts with the usual message header, so that
// readers need no field by field parsing for nearly all messages.
func isMessageHeader(b []byte) bool {
	return len(b) >= messageHeaderBytes &&
		string(b[:messageConnAt]) == messageHeader[:messageConnAt] &&
		string(b[messageConnAt+4:messageTimeAt]) == messageHeader[messageConnAt+4:messageTimeAt]
}

// cutRecord parses the record at the start of b, which is chunk data. tail is the
// data with its length word: of a message record, its frame. A record that does
// not lie wholly in b is an error that unwraps to io.ErrUnexpectedEOF. After an
// error h.framed tells whether rest is good.
func cutRecord(b []byte, h *recordHeader) (tail, rest []byte, err error) {
	h.framed = false
	n, err := sized(b, "header")
	if err != nil {
		return nil, nil, err
	}
	if n-4 > maxHeaderBytes {
		return nil, nil, fmt.Errorf("header of %d bytes, limit %d", n-4, maxHeaderBytes)
	}
	wrong := h.parse(b[4:n])
	if !h.framed {
		return nil, nil, wrong
	}
	b = b[n:]
	if n, err = sized(b, "data"); err != nil {
		h.framed = false
		return nil, nil, err
	}
	return b[:n:n], b[n:], wrong
}

// cutMessage does what cutRecord does for the message records that C++ and we
// write, which are nearly all records of nearly all bags.
func cutMessage(b []byte) (id rosbag.ConnID, t rosbag.Time, frame, rest []byte, ok bool) {
	if !isMessageHeader(b) {
		return 0, rosbag.Time{}, nil, nil, false
	}
	id = rosbag.ConnID(binary.LittleEndian.Uint32(b[messageConnAt:]))
	t = getTime(b[messageTimeAt:])
	b = b[messageHeaderBytes:]
	if len(b) < 4 {
		return 0, rosbag.Time{}, nil, nil, false
	}
	n := int64(binary.LittleEndian.Uint32(b)) + 4
	if n > int64(len(b)) {
		return 0, rosbag.Time{}, nil, nil, false
	}
	return id, t, b[:n:n], b[n:], true
}

// messageAt finds the message record at offset in the chunk data, and where its frame
// is. As in stock readers, connection records in front of it are skipped, up to maxSkippedRecords.
// parsed counts the bytes of headers that took more than a glance.
func messageAt(data []byte, offset int64) (id rosbag.ConnID, t rosbag.Time, frame, parsed int, err error) {
	if offset >= int64(len(data)) {
		return 0, rosbag.Time{}, 0, 0, fmt.Errorf("offset %d in a chunk of %d bytes", offset, len(data))
	}
	b := data[offset:]
	for range maxSkippedRecords + 1 {
		if id, t, _, _, ok := cutMessage(b); ok {
			return id, t, len(data) - len(b) + messageHeaderBytes, parsed, nil
		}
		var h recordHeader
		tail, rest, err := cutRecord(b, &h)
		parsed += min(len(b)-len(rest)-len(tail), maxHeaderBytes) // with an error, no less than was parsed
		switch {
		case err != nil:
			return 0, rosbag.Time{}, 0, parsed, err
		case h.op == rosbag.OpMessage:
			return h.conn, h.time, len(data) - len(rest) - len(tail), parsed, nil
		case h.op != rosbag.OpConnection && h.op != rosbag.OpMessageDefinition:
			return 0, rosbag.Time{}, 0, parsed, fmt.Errorf("%s record instead of a message", h.op)
		}
		b = rest
	}
	return 0, rosbag.Time{}, 0, parsed, fmt.Errorf("more than %d records before the message", maxSkippedRecords)
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

// parseConnection makes a Connection from its record. It shares no memory with
// the arguments.
func parseConnection(h *recordHeader, data []byte) (*rosbag.Connection, error) {
	if len(data) > maxConnectionBytes {
		return nil, fmt.Errorf("connection header of %d bytes, limit %d", len(data), maxConnectionBytes)
	}
	l, err := fields.ParseLimit(data, maxConnectionFields)
	if err != nil {
		return nil, err
	}
	return &rosbag.Connection{ID: h.conn, Topic: string(h.topic), Header: rosbag.Header(l)}, nil
}

// knows reports whether key is a field of record headers.
func (h *recordHeader) knows(key []byte) bool {
	if string(key) == keyOp {
		return true
	}
	had := h.has
	h.set(key, nil)
	h.set(key, make([]byte, 4))
	h.set(key, make([]byte, 8))
	return h.has != had
}

// repeats returns what a bag header says about repeated messages.
func (h *recordHeader) repeats() rosbag.Repeated {
	const both = hasRepeatCount | hasRepeatTime
	if h.has&both != both {
		return rosbag.Repeated{}
	}
	return h.repeated
}
