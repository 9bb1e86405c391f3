package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/rosbag"
)

// FrameAt returns the frame at offset, which package load has checked.
func FrameAt(data []byte, offset uint32) []byte {
	b := data[offset:]
	n := int64(binary.LittleEndian.Uint32(b)) + 4
	return b[:n:n]
}

// ChunkWalk goes over the records of chunk data.
type ChunkWalk struct {
	Data   []byte
	At     int // of the next record
	header RecordHeader
}

// Next returns the header and the length-prefixed data of the next record, io.EOF
// at the end. After an error the walk continues after the damaged record or, if
// that cannot be found, is at its end.
func (w *ChunkWalk) Next() (*RecordHeader, []byte, error) {
	if w.At >= len(w.Data) {
		return nil, nil, io.EOF
	}
	b := w.Data[w.At:]
	if id, t, frame, rest, ok := CutMessage(b); ok {
		w.header.Op, w.header.Conn, w.header.Time = rosbag.OpMessage, id, t
		w.At = len(w.Data) - len(rest)
		return &w.header, frame, nil
	}
	at := w.At
	tail, rest, err := CutRecord(b, &w.header)
	w.At = len(w.Data)
	if w.header.Framed {
		w.At -= len(rest)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("record at %d: %w", at, err)
	}
	return &w.header, tail, nil
}
