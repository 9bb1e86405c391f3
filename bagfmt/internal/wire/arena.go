package wire

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	arenaBytes      = 256 << 10 // memory for messages outside chunks, many at a time
	maxArenaMessage = arenaBytes / 4
)

// Arena gives memory to messages outside chunks.
type Arena struct{ free []byte }

// Frame reads the n bytes of the message of the record at start, and puts their number in front. No
// later call uses their memory.
func (a *Arena) Frame(s *Stream, n, start int64) (frame []byte, err error) {
	if n > maxArenaMessage {
		word := binary.LittleEndian.AppendUint32(nil, uint32(n))
		frame, err = ReadSized(io.MultiReader(bytes.NewReader(word), s.R), n+4, arenaBytes)
		s.Off += int64(len(frame)) - 4
		err = s.readError(err, start, rosbag.OpMessage, "data", int64(len(frame))-4, n)
	} else {
		if int64(cap(a.free)-len(a.free)) < n+4 {
			a.free = make([]byte, 0, arenaBytes)
		}
		at := len(a.free)
		a.free = binary.LittleEndian.AppendUint32(a.free, uint32(n))[:at+4+int(n)]
		frame = a.free[at:len(a.free):len(a.free)]
		err = s.Full(frame[4:], start, rosbag.OpMessage, "data")
	}
	return frame, err
}
