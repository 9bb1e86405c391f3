package sink

import (
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
	"github.com/gorosbag/gorosbag/recorder/internal/filling"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/rosbag"
)

// repeat is repeatLatched with all that goes with it. If it fails the next chunk meets
// the same trouble.
func (s *Sink) repeat(next *command.FileStart) {
	defer s.In.Unpin(next.Latched)
	s.Snapshotter.KeepMissed(next)
	if s.err != nil || s.In.OnlySnapshots() {
		return
	}
	if err := s.repeatLatched(next); err != nil {
		s.Log.Warn("latched messages not repeated", zap.String("file", s.Out.Target()), zap.Error(err))
	}
}

// repeatLatched writes the latched messages at the start of a file, under their own
// connections and with the time at which the file begins. The bag header
// marks them, unless recording resumes within a file.
func (s *Sink) repeatLatched(next *command.FileStart) error {
	write := s.Out.WriteRepeated
	if next.Resumed {
		write = s.Out.WriteChunk
	}
	return s.PackLatched(next.Latched, next.Stamp, func(c *chunk.Sealed) error {
		if err := write(c); err != nil {
			return err
		}
		s.In.RepeatedInFile(c, next.Part)
		return nil
	})
}

// PackLatched makes chunks of latched messages, with the time at, and hands them to
// write, valid during the call only. It goes on behind a message that cannot be had.
func (s *Sink) PackLatched(all []latch.Pinned, at rosbag.Time, write func(*chunk.Sealed) error) error {
	if len(all) == 0 {
		return nil
	}
	z, err := chunk.NewCompressor(s.Compression)
	if err != nil {
		return err
	}
	var b chunk.Builder
	b.Reset(nil)
	var packed []byte
	var missing error
	for i, l := range slices.Backward(all) { // oldest connection first
		frame, claimed, err := s.In.FrameOf(l)
		if err != nil {
			missing = errors.Join(missing, fmt.Errorf("%s of %s: %w", l.Conn.Topic, l.Conn.Header.CallerID(), err))
		} else {
			b.AppendRun(l.Conn, at, frame, 1)
			s.In.UnclaimLatched(claimed) // the builder has a copy
		}
		if b.Messages() == 0 || b.Len() <= s.In.ChunkBytes() && i > 0 {
			continue
		}
		c, err := b.Seal(z, packed)
		if err != nil {
			return err
		}
		if c.Compression != rosbag.CompressionNone {
			packed = c.Record[:0]
		}
		if err := write(c); err != nil {
			return err
		}
		b.Reset(nil)
	}
	return missing
}

// KeepMissed is keep for latched messages that came while nothing was recorded: they count from
// then on as if they had come now.
func (w *SnapshotWriter) KeepMissed(next *command.FileStart) {
	if w == nil {
		return
	}
	for _, l := range next.Missed {
		c := w.In.FreshChunk(len(l.Frame) + l.Bytes + filling.RecordOverhead)
		if c == nil {
			w.Log.Warn("no memory to keep a latched message for a snapshot", zap.String("topic", l.Conn.Topic))
			continue
		}
		c.Builder.Reset(nil)
		c.Builder.AppendRun(l.Conn, next.Stamp, l.Frame, 1)
		c.FirstAt, c.LastAt = next.At, next.At
		w.In.Count(c)
		w.keep(c)
	}
}
