package bagfmt

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/old"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// startOld reads what a bag of an old version has before its messages.
func (s *Scanner) startOld() error {
	s.old = old.New(s.version)
	return s.old.Start(s.s)
}

// nextOld is Next for a bag of an old version.
func (s *Scanner) nextOld() (*rosbag.Message, error) {
	rec := &s.old.Rec
	for !s.final {
		if s.skip.n > 0 {
			skip := s.skip
			s.skip = skipData{}
			if err := s.s.Skip(skip.n, skip.record, rosbag.OpMessage); err != nil {
				s.final = true
				return nil, err
			}
			s.good = s.s.Off
		}
		if rec.NeedsResync {
			rec.NeedsResync = false
			if err := s.old.Resync(s.s); err != nil {
				s.final = true
				return nil, err // also io.EOF
			}
		}
		start := s.s.Off
		err := s.old.Next(s.s, rec)
		if err != nil {
			s.final = !rec.Framed && !rec.NeedsResync
			s.skip = skipData{rec.Length, start}
			return nil, err // also io.EOF
		}
		m, err := s.oldRecord(rec, start)
		if m != nil || err != nil {
			return m, err
		}
	}
	return nil, io.EOF
}

// oldRecord reads the data of a record. It returns a message only if that is one.
func (s *Scanner) oldRecord(rec *old.Record, start int64) (*rosbag.Message, error) {
	var err error
	conn := int32(-1)
	switch {
	case rec.Op == rosbag.OpMessage && rec.Length > wire.MaxMessageBytes:
		err = wire.CheckMessageBytes(start, rec.Length)
	case rec.Op == rosbag.OpMessage:
		conn, err = s.old.Connection(rec, start)
	case rec.Op == rosbag.OpMessageDefinition:
		s.old.Define(rec)
	}
	if conn < 0 {
		s.skip = skipData{rec.Length, start}
		if rec.Length == 0 {
			s.good = s.s.Off
		}
		return nil, err
	}
	at := rec.Time
	frame, err := s.arena.Frame(s.s, rec.Length, start)
	if err != nil {
		s.final = true
		return nil, err
	}
	s.good = s.s.Off
	s.msg = rosbag.Message{Conn: s.old.Conns[conn], Time: at, Frame: frame}
	return &s.msg, nil
}
