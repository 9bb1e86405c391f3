package latch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Claims counts the memory that chunks of latched messages take while they are unpacked.
type Claims interface {
	ClaimLatched(unpacked int64) (claimed int64, ok bool)
	UnclaimLatched(claimed int64)
}

// Packer makes chunks of latched messages. It needs no lock.
type Packer struct {
	Claims       Claims
	Compression  rosbag.Compression
	ChunkBytes   int             // a chunk is sealed at this size
	Uncompressed func(err error) // is told why chunks are not compressed
}

// Pack makes chunks of latched messages, with the time at, and hands them to write. A chunk is valid
// during the call only. A message that cannot be had is left out and named in the error.
func (p *Packer) Pack(all []*Message, at rosbag.Time, write func(*chunk.Sealed) error) error {
	if len(all) == 0 {
		return nil
	}
	z, err := chunk.NewCompressor(p.Compression)
	if err != nil {
		p.Uncompressed(err)
	}
	var c memory.Chunk
	b := c.Builder()
	b.Reset(nil)
	var missing error
	for i, l := range slices.Backward(all) { // oldest connection first
		frame, claimed, err := p.frame(l)
		if err != nil {
			missing = errors.Join(missing,
				fmt.Errorf("%s of %s: %w", l.Conn().Topic, l.Conn().Header.CallerID(), err))
		} else {
			b.AppendRun(l.Conn(), at, frame, 1)
			p.Claims.UnclaimLatched(claimed) // the builder has a copy
		}
		if b.Messages() == 0 || b.Len() <= p.ChunkBytes && i > 0 {
			continue
		}
		if err := c.Seal(z); err != nil {
			z = nil
			p.Uncompressed(err)
		}
		if err := write(c.Sealed()); err != nil {
			return err
		}
		b.Reset(nil)
	}
	return missing
}

// frame returns the frame of a message, and how many bytes are claimed for that.
func (p *Packer) frame(l *Message) (frame []byte, claimed int64, err error) {
	if l.chunk == nil {
		return l.frame, 0, nil
	}
	claimed, ok := p.Claims.ClaimLatched(l.chunk.sealed.UncompressedBytes)
	if !ok {
		return nil, 0, ErrNoMemory
	}
	for m, err := range l.chunk.sealed.Messages() {
		if err != nil {
			p.Claims.UnclaimLatched(claimed)
			return nil, 0, err
		}
		if m.Conn.ID == l.Conn().ID {
			frame = m.Frame
		}
	}
	return frame, claimed, nil
}
