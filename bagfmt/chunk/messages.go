package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Messages gives out the messages of c in the order in which they were added, and an error
// at the end if the rest cannot be read. A Message is valid until the next one; its Frame
// must not be modified, and shares memory with others and, without compression, with
// c.Record. Share is 0.
func (c *Sealed) Messages() iter.Seq2[*rosbag.Message, error] {
	return func(yield func(*rosbag.Message, error) bool) {
		head := wire.ChunkHeaderBytes(c.Compression)
		data := c.Record[head : head+int(c.StoredBytes)]
		if c.Compression != rosbag.CompressionNone {
			var err error
			var d codec.Decompressor
			if data, err = d.Unpack(c.Compression, data, c.UncompressedBytes, nil); err != nil {
				yield(nil, fmt.Errorf("sealed chunk: %w", err))
				return
			}
		}
		conns := make(map[rosbag.ConnID]*rosbag.Connection, len(c.Counts))
		for _, n := range c.Counts {
			conns[n.Conn.ID] = n.Conn
		}
		walk := wire.ChunkWalk{Data: data}
		var m rosbag.Message
		for {
			h, frame, err := walk.Next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, fmt.Errorf("sealed chunk: %w", err))
				return
			case h.Op != rosbag.OpMessage:
				continue
			}
			m = rosbag.Message{Conn: conns[h.Conn], Time: h.Time, Frame: frame}
			if !yield(&m, nil) {
				return
			}
		}
	}
}

// LastFrames gives out the last message of each connection that want selects, the latest
// first. A frame is valid until the next call of another method but Seal.
func (b *Builder) LastFrames(want func(*rosbag.Connection) bool) iter.Seq2[*rosbag.Connection, []byte] {
	return func(yield func(*rosbag.Connection, []byte) bool) {
		wanted := make([]bool, len(b.index.Slots))
		left := 0
		for _, s := range b.index.Used {
			if slot := &b.index.Slots[s]; slot.Count > 0 && want(slot.Conn) {
				wanted[s] = true
				left++
			}
		}
		for i := len(b.index.Entries) - 1; left > 0; i-- {
			e := &b.index.Entries[i]
			if !wanted[e.Slot] {
				continue
			}
			wanted[e.Slot] = false
			left--
			frame := b.buf[wire.ChunkHeadroom+int(e.Offset)+wire.MessageHeaderBytes:]
			n := 4 + int(binary.LittleEndian.Uint32(frame))
			if !yield(b.index.Slots[e.Slot].Conn, frame[:n:n]) {
				return
			}
		}
	}
}
