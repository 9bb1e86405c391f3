package old

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Keys of version 1.2 headers that version 2.0 has not.
const (
	keyDef  = "def"
	keyMD5  = "md5"
	keyNsec = "nsec"
	keySec  = "sec"
)

// fieldSet says which fields a Record holds.
type fieldSet uint16

const (
	hasTopic fieldSet = 1 << iota
	hasMD5
	hasType
	hasDef
	hasSec
	hasNsec
	hasCallerID
	hasLatching
	hasIndexPos
)

var errNotOld = errors.New("version 1.2 has no such record")

// IndexEntryBytes is the length of an entry of index data in version 1.2: time and u64 offset in
// the file.
const IndexEntryBytes = 16

// cutV12 is Format.Cut for version 1.2.
func (rec *Record) cutV12(b []byte) (head int, err error) {
	*rec = Record{}
	if len(b) < 4 {
		return 0, errShort
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n > wire.MaxHeaderBytes {
		return 0, fmt.Errorf("header of %d bytes, limit %d", n, wire.MaxHeaderBytes)
	}
	if int64(len(b)) < n+wire.MinRecordBytes {
		return 0, errShort
	}
	err = rec.parseV12(b[4 : 4+n])
	rec.Length = int64(binary.LittleEndian.Uint32(b[4+n:]))
	rec.Framed = true
	return int(n) + wire.MinRecordBytes, err
}

// readV12 is Format.Next for version 1.2.
func (rec *Record) readV12(s *wire.Stream) error {
	start := s.Off
	*rec = Record{}
	if err := checkV12(s, start); err != nil {
		rec.NeedsResync = true
		return err
	}
	if err := s.RawHeader(); err != nil {
		return err
	}
	wrong := rec.parseV12(s.Header)
	length, err := s.Length(start, rec.Op)
	if err != nil {
		return err
	}
	rec.Length, rec.Framed = length, true
	if wrong != nil {
		return wire.Corrupt(start, rec.Op, "%v", wrong)
	}
	return nil
}

// checkV12 returns an error if no record header can follow. It only peeks, because Resync
// has to start at the same place.
func checkV12(s *wire.Stream, start int64) error {
	b, _ := s.R.Peek(2*len(s.Word) + 1) // the next read returns the error
	if len(b) <= 2*len(s.Word) {
		return nil
	}
	n, first := int64(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint32(b[4:]))
	switch key := b[8]; {
	case n > wire.MaxHeaderBytes:
		return wire.Corrupt(start, 0, "header of %d bytes, limit %d", n, wire.MaxHeaderBytes)
	case first+4 > n:
		return wire.Corrupt(start, 0, "field of %d bytes in a header of %d", first, n)
	case key < 'a' || key > 'z':
		return wire.Corrupt(start, 0, "field that starts with the byte %#02x", key)
	}
	return nil
}

// parseV12 parses a record header.
func (rec *Record) parseV12(b []byte) error {
	for rest := b; len(rest) > 0; {
		key, value, tail, err := fields.Next(rest)
		if err != nil {
			var c *fields.CorruptError
			if errors.As(err, &c) {
				return fmt.Errorf("header byte %d: %s", len(b)-len(rest)+c.Offset, c.Reason)
			}
			return err
		}
		if !rec.set(key, value) {
			return fmt.Errorf("header field %s has %d bytes", key, len(value))
		}
		rest = tail
	}
	var need fieldSet
	switch rec.Op {
	case 0:
		return wire.ErrNoOp
	case rosbag.OpMessageDefinition:
		need = hasTopic | hasMD5 | hasType | hasDef
	case rosbag.OpMessage:
		need = hasTopic | hasMD5 | hasType | hasSec | hasNsec
	case rosbag.OpBagHeader:
		need = hasIndexPos
	case rosbag.OpIndexData:
		need = hasTopic // some writers left type out
	case rosbag.OpChunk, rosbag.OpChunkInfo, rosbag.OpConnection: // of version 2.0
		return errNotOld
	default:
		return errNotOld // it may have been a message
	}
	if rec.has&need != need {
		return fmt.Errorf("%s header lacks fields", rec.Op)
	}
	return nil
}

// set stores one field. It reports whether the value has the length of its kind.
func (rec *Record) set(key, value []byte) bool {
	switch string(key) {
	case wire.KeyOp:
		if len(value) != 1 {
			return false
		}
		rec.Op = rosbag.Op(value[0])
	case rosbag.KeyTopic:
		rec.has, rec.Topic = rec.has|hasTopic, value
	case keyMD5:
		rec.has, rec.md5 = rec.has|hasMD5, value
	case rosbag.KeyType:
		rec.has, rec.typ = rec.has|hasType, value
	case keyDef:
		rec.has, rec.def = rec.has|hasDef, value
	case rosbag.KeyCallerID:
		rec.has, rec.callerID = rec.has|hasCallerID, value
	case rosbag.KeyLatching:
		rec.has, rec.latching = rec.has|hasLatching, value
	case keySec:
		return rec.u32(hasSec, &rec.Time.Sec, value)
	case keyNsec:
		return rec.u32(hasNsec, &rec.Time.Nsec, value)
	case wire.KeyCount:
		return rec.u32(0, &rec.Count, value)
	case wire.KeyIndexPos:
		if len(value) != 8 {
			return false
		}
		rec.has, rec.IndexPos = rec.has|hasIndexPos, binary.LittleEndian.Uint64(value)
	}
	return true
}

func (rec *Record) u32(f fieldSet, dst *uint32, value []byte) bool {
	if len(value) != 4 {
		return false
	}
	rec.has |= f
	*dst = binary.LittleEndian.Uint32(value)
	return true
}
