package bagfmt

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	arenaBytes      = 256 << 10 // memory for messages outside chunks, many at a time
	maxArenaMessage = arenaBytes / 4
)

// frame reads the n bytes of a message outside chunks, and puts their number in front.
func (s *Scanner) frame(n, start int64) (frame []byte, err error) {
	if n > maxArenaMessage {
		word := binary.LittleEndian.AppendUint32(nil, uint32(n))
		frame, err = wire.ReadSized(io.MultiReader(bytes.NewReader(word), s.s.R), n+4, arenaBytes)
		s.s.Off += int64(len(frame)) - 4
		switch {
		case err != nil && wire.IsEnd(err):
			err = wire.Torn(start, rosbag.OpMessage, "data", int64(len(frame))-4, n)
		case err != nil:
			err = wire.ReadError(s.s.Off, err)
		}
	} else {
		if int64(cap(s.arena)-len(s.arena)) < n+4 {
			s.arena = make([]byte, 0, arenaBytes)
		}
		at := len(s.arena)
		s.arena = binary.LittleEndian.AppendUint32(s.arena, uint32(n))[:at+4+int(n)]
		frame = s.arena[at:len(s.arena):len(s.arena)]
		err = s.s.Full(frame[4:], start, rosbag.OpMessage, "data")
	}
	return frame, err
}
