package bagfmt

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// mcapScanner is what a Scanner knows of an MCAP file.
type mcapScanner struct {
	file  mcap.File
	walk  mcap.Walk       // over the data of the chunk in Scanner.chunk
	told  map[uint16]bool // channels whose messages are not given out, which was told
	ends  bool            // the end of the data section was read: no message follows
	found uint64          // messages, those of other encodings included
	lost  bool            // damage was told
}

// startMCAP reads the header of an MCAP file.
func (s *Scanner) startMCAP() error {
	s.mcap = &mcapScanner{file: mcap.File{Channels: mcap.Channels{KeepForeign: s.o.KeepForeign}}, told: make(map[uint16]bool)}
	start := s.s.Off
	b, err := mcap.ReadSmall(s.s, mcap.OpHeader)
	if err != nil {
		return err
	}
	if s.mcap.file.Header, err = mcap.ParseHeader(b); err != nil {
		return wire.Corrupt(start, rosbag.OpBagHeader, "%v", err)
	}
	return nil
}

// nextMCAP is Next for an MCAP file.
func (s *Scanner) nextMCAP() (*rosbag.Message, error) {
	m, err := s.nextOfMCAP()
	s.mcap.lost = s.mcap.lost || errors.Is(err, rosbag.ErrCorrupt) || errors.Is(err, rosbag.ErrLimit)
	return m, err
}

func (s *Scanner) nextOfMCAP() (*rosbag.Message, error) {
	for {
		m, err := s.fromMCAPChunk()
		if m != nil || err != nil {
			return m, err
		}
		if err := s.chunk.err; err != nil {
			s.chunk.err = nil
			return nil, err
		}
		if s.final {
			return nil, io.EOF
		}
		if m, err = s.mcapRecord(); m != nil || err != nil {
			return m, err
		}
	}
}

// fromMCAPChunk returns the next message of the current chunk, nil at its end.
func (s *Scanner) fromMCAPChunk() (*rosbag.Message, error) {
	f := s.mcap
	for {
		at := f.walk.At
		op, content, err := f.walk.Next()
		switch {
		case errors.Is(err, io.EOF):
			f.walk = mcap.Walk{}
			return nil, nil //nolint:nilnil // the caller goes on with the next record
		case err != nil && s.chunk.err != nil:
			continue // a torn chunk, which is told later
		case err != nil:
			return nil, wire.Corrupt(s.chunk.pos, rosbag.OpChunk, "%v", err)
		case op == mcap.OpSchema:
			err = f.file.Channels.AddSchema(content, s.chunk.pos)
		case op == mcap.OpChannel:
			err = f.file.Channels.AddChannel(content, s.chunk.pos)
		case op == mcap.OpMessage:
			f.found++
			m, wrong := mcap.MessageAt(f.walk.Data, int64(at))
			if wrong != nil {
				return nil, wire.Corrupt(s.chunk.pos, rosbag.OpChunk, "record at %d: message of %d bytes", at, len(content))
			}
			conn, err := s.mcapConnection(m.Channel, s.chunk.pos)
			if conn == nil && err == nil {
				continue
			}
			var t rosbag.Time
			if err == nil {
				t, err = mcap.MessageTime(m.Channel, m.LogTime, s.chunk.pos)
			}
			if err != nil {
				return nil, err
			}
			mcap.MakeFrame(f.walk.Data, uint32(m.Frame))
			s.msg = rosbag.Message{Conn: conn, Time: t, Frame: wire.FrameAt(f.walk.Data, uint32(m.Frame))}
			return &s.msg, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// mcapConnection returns the connection of a message in the record at offset at, nil if the
// message is passed over. Of each channel, only the first such message is an error.
func (s *Scanner) mcapConnection(channel uint16, at int64) (*rosbag.Connection, error) {
	conn, err := s.mcap.file.Channels.Connection(channel)
	if conn == nil && err == nil {
		err = wire.Corrupt(at, rosbag.OpMessage, "messages of unknown channel %d", channel)
	}
	if err != nil {
		if s.mcap.told[channel] {
			return nil, nil //nolint:nilnil // it was told
		}
		s.mcap.told[channel] = true
	}
	return conn, err
}

// mcapRecord reads the next record of the file. It returns a message only if that is one.
func (s *Scanner) mcapRecord() (*rosbag.Message, error) {
	if s.skip.n > 0 {
		skip := s.skip
		s.skip = skipData{}
		if err := s.s.Skip(skip.n, skip.record, 0); err != nil {
			return nil, s.stopMCAP(err)
		}
		s.good = s.s.Off
	}
	start := s.s.Off
	if b, _ := s.s.R.Peek(len(wire.MCAPMagic)); string(b) == wire.MCAPMagic {
		s.final = true
		return nil, wire.Corrupt(start, 0, "another MCAP file starts here")
	}
	op, n, err := mcap.ReadHead(s.s)
	if err != nil {
		return nil, s.stopMCAP(err)
	}
	if s.mcap.ends {
		return nil, s.mcapSummary(op, n, start)
	}
	if err := op.Misplaced(n, start); err != nil {
		return nil, s.passMCAP(n, start, err)
	}
	switch op {
	case mcap.OpChunk:
		return nil, s.startMCAPChunk(n, start)
	case mcap.OpMessage:
		return s.mcapMessage(n, start)
	case mcap.OpSchema, mcap.OpChannel:
		return nil, s.mcapDefinition(op, n, start)
	case mcap.OpDataEnd:
		s.mcap.ends = true
	case mcap.OpFooter:
		s.final = true
	}
	return nil, s.doneMCAP(s.s.Skip(n, start, op.Bag()))
}

// mcapSummary passes over a record of the summary. The statistics tell whether messages are missing.
func (s *Scanner) mcapSummary(op mcap.Op, n, start int64) error {
	s.final = op == mcap.OpFooter
	if op == mcap.OpStatistics {
		b, err := mcap.Grab(s.s, op, n, start)
		if err != nil {
			return s.stopMCAP(err)
		}
		stated, err := mcap.ParseStatistics(b)
		if err == nil && stated != s.mcap.found && !s.mcap.lost {
			return mcap.CountDiffers(s.mcap.found, stated, start)
		}
		return nil
	}
	return s.doneMCAP(s.s.Skip(n, start, op.Bag()))
}

// doneMCAP ends a record: with an error the rest of the file cannot be read.
func (s *Scanner) doneMCAP(err error) error {
	if err != nil {
		return s.stopMCAP(err)
	}
	s.good = s.s.Off
	return nil
}

// stopMCAP makes io.EOF follow err, which ends the scan.
func (s *Scanner) stopMCAP(err error) error {
	s.final = true
	if s.mcap.ends && wire.AsCorrupt(err) != nil {
		return io.EOF
	}
	return err
}

// passMCAP passes over n bytes of the record at start before the next record, and returns err.
func (s *Scanner) passMCAP(n, start int64, err error) error {
	s.skip = skipData{n, start}
	return err
}

// mcapDefinition reads a schema or a channel of n bytes.
func (s *Scanner) mcapDefinition(op mcap.Op, n, start int64) error {
	b, err := mcap.Grab(s.s, op, n, start)
	switch {
	case errors.Is(err, rosbag.ErrLimit):
		return s.passMCAP(n, start, err)
	case err != nil:
		return s.stopMCAP(err)
	}
	s.good = s.s.Off
	if op == mcap.OpSchema {
		return s.mcap.file.Channels.AddSchema(b, start)
	}
	return s.mcap.file.Channels.AddChannel(b, start)
}

// mcapMessage reads a message outside chunks, whose record has n bytes.
func (s *Scanner) mcapMessage(n, start int64) (*rosbag.Message, error) {
	s.mcap.found++
	switch size := n - mcap.MessageHeadBytes; {
	case size < 0:
		return nil, s.passMCAP(n, start, wire.Corrupt(start, rosbag.OpMessage, "record of %d bytes", n))
	case size > wire.MaxMessageBytes:
		return nil, s.passMCAP(n, start, &rosbag.LimitError{Offset: start, Op: rosbag.OpMessage, What: "message", Got: size, Limit: wire.MaxMessageBytes})
	}
	var head [mcap.MessageHeadBytes]byte
	b, err := s.s.R.Peek(len(head)) // s.s.Full would let head escape
	copy(head[:], b)
	if err == nil {
		err = s.s.Skip(int64(len(head)), start, rosbag.OpMessage)
	} else if wire.IsEnd(err) {
		err = wire.Torn(start, rosbag.OpMessage, "content", int64(len(b)), n)
	}
	if err != nil {
		return nil, s.stopMCAP(err)
	}
	channel := binary.LittleEndian.Uint16(head[:])
	n -= int64(len(head))
	conn, err := s.mcapConnection(channel, start)
	if conn == nil {
		if err == nil && n == 0 {
			s.good = s.s.Off
		}
		return nil, s.passMCAP(n, start, err)
	}
	t, err := mcap.MessageTime(channel, binary.LittleEndian.Uint64(head[6:]), start)
	if err != nil {
		return nil, s.passMCAP(n, start, err)
	}
	frame, err := s.frame(n, start)
	if err != nil {
		return nil, s.stopMCAP(err)
	}
	s.good = s.s.Off
	s.msg = rosbag.Message{Conn: conn, Time: t, Frame: frame}
	return &s.msg, nil
}

// startMCAPChunk reads a chunk record of n bytes and makes it the current chunk.
func (s *Scanner) startMCAPChunk(n, start int64) error {
	s.chunks++
	s.chunk.pos = start
	b, short := s.s.R.Peek(int(min(n, mcap.MaxChunkHeadBytes)))
	if short != nil && !wire.IsEnd(short) {
		return s.stopMCAP(wire.ReadError(s.s.Off, short))
	}
	p := wire.ChunkPlace{Pos: start}
	err := mcap.ParseChunkHead(b, n, &p)
	switch {
	case err != nil && short != nil:
		return s.stopMCAP(wire.Torn(start, rosbag.OpChunk, "content", int64(len(b)), n))
	case err != nil:
		return s.passMCAP(n, start, wire.Corrupt(start, rosbag.OpChunk, "%v", err))
	}
	if err = p.CheckSize(s.o.MaxChunkBytes); !mcap.Packed(p.Compression) {
		err = wire.Corrupt(start, rosbag.OpChunk, "unknown compression %q", p.Compression)
	}
	if err != nil {
		return s.passMCAP(n, start, err)
	}
	if err := s.s.Skip(p.Data-s.s.Off, start, rosbag.OpChunk); err != nil {
		return s.stopMCAP(err)
	}
	data, err := s.mcapData(&p)
	s.mcap.walk = mcap.Walk{Data: data}
	return err
}

// mcapData reads the data of a chunk and unpacks it.
func (s *Scanner) mcapData(p *wire.ChunkPlace) ([]byte, error) {
	memory := s.reusable
	s.reusable = nil
	if p.Compression != rosbag.CompressionNone {
		stored, err := s.s.Grab(p.Stored, p.Pos, rosbag.OpChunk)
		if err != nil {
			return nil, s.stopMCAP(err)
		}
		s.good = s.s.Off
		s.load.Memory = memory
		data, err := s.load.Open(p, stored)
		s.keep(data)
		if err != nil {
			return nil, err
		}
		return data, nil
	}
	stored, err := s.s.Bytes(p.Stored, p.Pos, rosbag.OpChunk, memory)
	s.keep(stored)
	if err != nil { // what is there was written in order: its whole messages are good
		s.chunk.err = s.stopMCAP(err)
		return stored, nil
	}
	s.good = s.s.Off
	if stored, err = s.load.Open(p, stored); err != nil {
		return nil, err
	}
	return stored, nil
}
