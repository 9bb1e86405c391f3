package mcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A frame is the length of the payload, 4 bytes, and the payload. In the data of a chunk, which
// belongs to who unpacked it, that length overwrites the end of the publish time, which is before the
// payload: nothing needs to be copied.

var errNoMessage = errors.New("no message record is there")

// Message is a message record in the data of a chunk.
type Message struct {
	Channel  uint16
	Sequence uint32
	LogTime  uint64 // see TimeOf
	Frame    int    // offset of its frame in the data, once Frame has made it
}

// MessageAt parses the message record at offset at of data.
func MessageAt(data []byte, at int64) (m Message, err error) {
	if at < 0 || at > int64(len(data))-HeadBytes-MessageHeadBytes {
		return m, errNoMessage
	}
	b := data[at:]
	op, n := ParseHead(b)
	if op != OpMessage || n < MessageHeadBytes || n > uint64(len(b)-HeadBytes) ||
		n-MessageHeadBytes > math.MaxUint32 {
		return m, errNoMessage
	}
	m.Channel = binary.LittleEndian.Uint16(b[HeadBytes:])
	m.Sequence = binary.LittleEndian.Uint32(b[HeadBytes+2:])
	m.LogTime = binary.LittleEndian.Uint64(b[HeadBytes+6:])
	m.Frame = int(at) + frameAt
	return m, nil
}

// MakeFrame makes the frame of the message whose frame starts at offset frame of data, which MessageAt or
// a Walk has returned, and returns what was there. It reports false if there is no frame.
func MakeFrame(data []byte, frame uint32) (was uint32, ok bool) {
	if int64(frame) < frameAt || int64(frame)+4 > int64(len(data)) {
		return 0, false
	}
	n := binary.LittleEndian.Uint64(data[frame-frameAt+1:]) - MessageHeadBytes
	if n > uint64(len(data)-int(frame)-4) {
		return 0, false
	}
	was = binary.LittleEndian.Uint32(data[frame:])
	binary.LittleEndian.PutUint32(data[frame:], uint32(n))
	return was, true
}

// UndoFrame puts back what a frame, which MakeFrame has made, has overwritten.
func UndoFrame(data []byte, frame, was uint32) { binary.LittleEndian.PutUint32(data[frame:], was) }

// IsFrame reports whether the frame at an offset of data is in it wholly. Records that overlap, which
// no writer makes, could spoil each other's frames.
func IsFrame(data []byte, frame uint32) bool {
	left := int64(len(data)) - int64(frame) - 4
	return left >= 0 && int64(binary.LittleEndian.Uint32(data[frame:])) <= left
}

// Walk goes over the records in the data of a chunk.
type Walk struct {
	Data []byte
	At   int // of the next record
}

// Next returns the kind and the content of the next record, io.EOF at the end. After another error
// the walk is at its end: the next record cannot be found.
func (w *Walk) Next() (op Op, content []byte, err error) {
	left := len(w.Data) - w.At
	if left <= 0 {
		return 0, nil, io.EOF
	}
	at := w.At
	w.At = len(w.Data)
	if left < HeadBytes {
		return 0, nil, fmt.Errorf("record at %d: %w after %d bytes", at, io.ErrUnexpectedEOF, left)
	}
	op, n := ParseHead(w.Data[at:])
	if n > uint64(left-HeadBytes) {
		return op, nil, fmt.Errorf("record at %d: %w after %d of %d bytes", at, io.ErrUnexpectedEOF,
			left-HeadBytes, n)
	}
	w.At = at + HeadBytes + int(n)
	return op, w.Data[at+HeadBytes : w.At : w.At], nil
}
