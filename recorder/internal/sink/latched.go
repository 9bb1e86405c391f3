package sink

import (
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
)

// repeat writes the latched messages of next into the file and gives those from a pause to the snapshots,
// too. An error is only logged: the next chunk meets the same trouble.
func (s *Sink) repeat(next *command.FileStart) {
	defer s.In.ReleaseLatched(next.Latched)
	s.Snapshotter.KeepMissed(next)
	if s.err != nil || s.Bags.OnlySnapshots {
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
	return s.packer.Pack(next.Latched, next.Stamp, func(c *chunk.Sealed) error {
		if err := write(c); err != nil {
			return err
		}
		s.In.RepeatedInFile(c, next.Part)
		return nil
	})
}
