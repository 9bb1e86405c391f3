package recorder

import (
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// repeat is repeatLatched with all that goes with it. If it fails the next chunk meets
// the same trouble.
func (s *sink) repeat(next *fileStart) {
	defer s.in.unpin(next.latched)
	s.snapshots.keepMissed(next)
	if s.err != nil || s.in.ring.isOnly() {
		return
	}
	if err := s.repeatLatched(next); err != nil {
		s.log.Warn("latched messages not repeated", zap.String("file", s.out.Target()), zap.Error(err))
	}
}

// repeatLatched writes the latched messages at the start of a file, under their own
// connections and with the time at which the file begins. The bag header
// marks them, unless recording resumes within a file.
func (s *sink) repeatLatched(next *fileStart) error {
	write := s.out.WriteRepeated
	if next.resumed {
		write = s.out.WriteChunk
	}
	return s.packLatched(next.latched, next.stamp, func(c *bagfmt.SealedChunk) error {
		if err := write(c); err != nil {
			return err
		}
		s.in.repeatedInFile(c, next.part)
		return nil
	})
}

// packLatched makes chunks of latched messages, with the time at, and hands them to
// write, valid during the call only. It goes on behind a message that cannot be had.
func (s *sink) packLatched(all []pinned, at bagfmt.Time, write func(*bagfmt.SealedChunk) error) error {
	if len(all) == 0 {
		return nil
	}
	z, err := bagfmt.NewCompressor(s.compression)
	if err != nil {
		return err
	}
	var b bagfmt.ChunkBuilder
	b.Reset(nil)
	var packed []byte
	var missing error
	for i, l := range slices.Backward(all) { // oldest connection first
		frame, claimed, err := s.in.frameOf(l)
		if err != nil {
			missing = errors.Join(missing, fmt.Errorf("%s of %s: %w", l.conn.Topic, l.conn.Header.CallerID(), err))
		} else {
			b.AppendRun(l.conn, at, frame, 1)
			s.in.unclaimLatched(claimed) // the builder has a copy
		}
		if b.Messages() == 0 || b.Len() <= s.in.pool.ChunkBytes && i > 0 {
			continue
		}
		c, err := b.Seal(z, packed)
		if err != nil {
			return err
		}
		if c.Compression != bagfmt.CompressionNone {
			packed = c.Record[:0]
		}
		if err := write(c); err != nil {
			return err
		}
		b.Reset(nil)
	}
	return missing
}

// keepMissed is keep for latched messages that came while nothing was recorded: they count from
// then on as if they had come now.
func (w *snapshotWriter) keepMissed(next *fileStart) {
	if w == nil {
		return
	}
	for _, l := range next.missed {
		c := w.in.freshChunk(len(l.frame) + l.bytes + recordOverhead)
		if c == nil {
			w.log.Warn("no memory to keep a latched message for a snapshot", zap.String("topic", l.conn.Topic))
			continue
		}
		c.Builder.Reset(nil)
		c.Builder.AppendRun(l.conn, next.stamp, l.frame, 1)
		c.FirstAt, c.LastAt = next.at, next.at
		w.in.count(c)
		w.keep(c)
	}
}
