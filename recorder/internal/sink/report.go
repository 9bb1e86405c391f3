package sink

import (
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// writeReport writes the account of losses at the end of a file: all messages that were queued before are
// in the file, or counted as lost. After a fault the file gets no account, because its index needs the
// room.
func (s *Sink) writeReport() error {
	if s.cfg.Report == nil || s.Current() == nil {
		return nil
	}
	if s.err != nil {
		return s.err
	}
	at := s.newest // the time of the last message, so that the account does not make the bag longer
	if at.IsZero() {
		at = rosbag.TimeOf(s.cfg.Sim.At(time.Now()))
	}
	frame := s.cfg.Report(at.Std())
	if frame == nil {
		return nil
	}
	conn := s.cfg.In.OpenReport(s.cfg.ReportTopic,
		intake.OwnType{
			Name: stdmsg.DiagnosticArrayType, MD5Sum: stdmsg.DiagnosticArrayMD5Sum(),
			Definition: stdmsg.DiagnosticArrayDefinition,
		})
	if err := s.writeOwn(conn, at, frame); err != nil {
		s.cfg.Log.Warn("the account of losses is not in the bag", zap.String("file", s.Current().Target()),
			zap.Error(err))
	}
	return nil
}

// writeOwn writes one message as a chunk.
func (s *Sink) writeOwn(c *rosbag.Connection, at rosbag.Time, frame []byte) error {
	own := new(memory.Chunk)
	own.Builder().Reset(nil)
	own.Builder().AppendRun(c, at, frame, 1)
	if err := own.Seal(encode.NewCompressor(s.cfg.Compression, s.cfg.Log)); err != nil {
		encode.WarnUncompressed(s.cfg.Log, err)
	}
	if err := s.Bags.WriteChunk(s.Current(), own.Sealed()); err != nil {
		return err
	}
	s.cfg.In.OwnWritten(c, own.Sealed(), len(frame)-4, s.Current().Part)
	s.noteWritten(own.Sealed())
	return nil
}
