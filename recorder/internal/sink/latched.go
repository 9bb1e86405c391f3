package sink

import (
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
)

// repeat writes the latched messages of next to the file, and also gives those that came in a pause to the
// snapshots. An error is only logged: if the file has failed, the next chunk gets the same error.
func (s *Sink) repeat(next *command.FileStart) {
	defer s.cfg.Files.ReleaseLatched(next.Latched)
	s.Snapshotter.KeepMissed(next)
	if s.err != nil || s.Bags.OnlySnapshots {
		return
	}
	if err := s.repeatLatched(next); err != nil {
		s.cfg.Log.Warn("latched messages not repeated", zap.String("file", s.Current().Target()), zap.Error(err))
	}
}

// repeatLatched writes the latched messages of next to the file, on their own connections and with the time
// at which the file begins. At the start of a file, the bag header marks them as repeated.
func (s *Sink) repeatLatched(next *command.FileStart) error {
	write := s.Current().WriteRepeated
	if next.Resumed {
		write = s.Current().WriteChunk
	}
	return s.packer.Pack(next.Latched, next.Stamp, func(c *chunk.Sealed) error {
		if err := write(c); err != nil {
			return err
		}
		s.cfg.Files.RepeatedInFile(c, next.Part)
		return nil
	})
}
