package bagfmt

import (
	"errors"
	"fmt"
	"io"
)

// AppendSealed adds the messages of c that are not before from, in their order. The
// connection records of c are not taken over: what is needed is written anew.
func (b *ChunkBuilder) AppendSealed(c *SealedChunk, from Time) error {
	head := chunkHeaderBytes(c.Compression)
	data := c.Record[head : head+int(c.StoredBytes)]
	if c.Compression != CompressionNone {
		var err error
		var d decompressor
		if data, err = d.unpack(c.Compression, data, c.UncompressedBytes, nil); err != nil {
			return fmt.Errorf("bagfmt: sealed chunk: %w", err)
		}
	}
	conns := make(map[ConnID]*Connection, len(c.Counts))
	for _, n := range c.Counts {
		conns[n.Conn.ID] = n.Conn
	}
	walk := chunkWalk{data: data}
	for {
		h, frame, err := walk.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("bagfmt: sealed chunk: %w", err)
		case h.op == OpMessage && !h.time.Before(from):
			b.AppendRun(conns[h.conn], h.time, frame, 1)
		}
	}
}
