package bagfmt

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// startOld reads what a bag of an old version has before its messages.
func (s *Scanner) startOld() error {
	s.old = newOldFormat(s.version)
	if err := s.old.start(s.s); err != nil {
		return err
	}
	s.good = s.s.Off
	return nil
}

// nextOld is Next for a bag of an old version.
func (s *Scanner) nextOld() (*rosbag.Message, error) {
	rec := &s.old.rec
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
		if rec.needsResync {
			rec.needsResync = false
			if err := s.old.resync(s.s); err != nil {
				s.final = true
				return nil, err // also io.EOF
			}
		}
		start := s.s.Off
		err := s.old.next(s.s, rec)
		if err != nil {
			s.final = !rec.framed && !rec.needsResync
			s.skip = skipData{rec.length, start}
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
func (s *Scanner) oldRecord(rec *oldRecord, start int64) (*rosbag.Message, error) {
	var err error
	conn := int32(-1)
	switch {
	case rec.op == rosbag.OpMessage && rec.length > wire.MaxMessageBytes:
		err = &rosbag.LimitError{Offset: start, Op: rosbag.OpMessage, What: "message", Got: rec.length, Limit: wire.MaxMessageBytes}
	case rec.op == rosbag.OpMessage:
		conn, err = s.old.connection(rec, start)
	case rec.op == rosbag.OpMessageDefinition:
		s.old.define(rec)
	}
	if conn < 0 {
		s.skip = skipData{rec.length, start}
		if rec.length == 0 {
			s.good = s.s.Off
		}
		return nil, err
	}
	at := rec.time
	frame, err := s.frame(rec.length, start)
	if err != nil {
		s.final = true
		return nil, err
	}
	s.good = s.s.Off
	s.msg = rosbag.Message{Conn: s.old.conns[conn], Time: at, Frame: frame}
	return &s.msg, nil
}
