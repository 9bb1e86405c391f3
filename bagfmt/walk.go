package bagfmt

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/rosbag"
)

// frameAt returns the frame at offset, which resolve or a derivation has checked.
func frameAt(data []byte, offset uint32) []byte {
	b := data[offset:]
	n := int64(binary.LittleEndian.Uint32(b)) + 4
	return b[:n:n]
}

// chunkWalk goes over the records of chunk data.
type chunkWalk struct {
	data   []byte
	at     int // of the next record
	header recordHeader
}

// next returns the header and the length-prefixed data of the next record, io.EOF
// at the end. After an error the walk goes on behind the damaged record or, if
// that cannot be found, is at its end.
func (w *chunkWalk) next() (*recordHeader, []byte, error) {
	if w.at >= len(w.data) {
		return nil, nil, io.EOF
	}
	b := w.data[w.at:]
	if id, t, frame, rest, ok := cutMessage(b); ok {
		w.header.op, w.header.conn, w.header.time = rosbag.OpMessage, id, t
		w.at = len(w.data) - len(rest)
		return &w.header, frame, nil
	}
	at := w.at
	tail, rest, err := cutRecord(b, &w.header)
	w.at = len(w.data)
	if w.header.framed {
		w.at -= len(rest)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("record at %d: %w", at, err)
	}
	return &w.header, tail, nil
}
