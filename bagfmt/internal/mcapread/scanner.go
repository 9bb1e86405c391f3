package mcapread

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options limits what a Scanner does.
type Options struct {
	MaxChunkBytes int64 // largest compressed chunk, stored or unpacked
	Reuse         bool  // a Frame of a chunk is valid until the next call only
	Interrupted   func() error
}

// Scanner reads an MCAP file from front to back.
type Scanner struct {
	s        *wire.Stream
	o        Options
	file     mcap.File
	load     load.Loader
	arena    wire.Arena
	skip     skipData        // to do before the next record
	good     int64           // end of the last whole record
	reported map[uint16]bool // channels without a connection, for which Next has returned the error
	found    mcap.Found      // messages, those of other encodings included
	lost     bool            // damage was reported
	ends     bool            // the end of the data section was read: no message follows
	final    bool            // the end is reached, or the next record cannot be found
	msg      rosbag.Message

	chunk    mcap.Walk // over the data of the chunk that was read last
	chunkPos int64     // of its record
	chunkErr error     // to return at its end; before the first chunk, of the header
}

// skipData is data of a record that a Scanner has not skipped yet.
type skipData struct {
	n      int64 // bytes
	record int64 // offset of the record
}

// New reads the header of the file. s is after the magic. Next returns damage of the header, which loses
// no message.
func New(s *wire.Stream, o Options) (*Scanner, error) {
	x := &Scanner{s: s, o: o, reported: make(map[uint16]bool)}
	x.load.Unpack.Interrupted = o.Interrupted
	x.good = s.Off
	if err := x.header(); err != nil {
		if !wire.IsDamage(err) {
			return nil, err
		}
		x.chunkErr = err
	}
	return x, nil
}

// header reads the first record, unless that is no header.
func (s *Scanner) header() error {
	start := s.s.Off
	head, _ := s.s.R.Peek(mcap.HeadBytes) // ReadSmall reports what is missing
	var n int64
	if len(head) == mcap.HeadBytes {
		op, length := mcap.ParseHead(head)
		if op != mcap.OpHeader {
			return wire.Corrupt(start, rosbag.OpBagHeader, "record of kind %#02x, not %#02x", byte(op),
				byte(mcap.OpHeader))
		}
		n = int64(min(length, math.MaxInt64))
	}
	b, err := mcap.ReadSmall(s.s, mcap.OpHeader)
	switch {
	case errors.Is(err, rosbag.ErrLimit):
		return s.pass(n, start, err)
	case err != nil:
		return s.stop(err)
	}
	s.good = s.s.Off
	if s.file.Profile, s.file.Library, err = mcap.ParseHeader(b); err != nil {
		return wire.Corrupt(start, rosbag.OpBagHeader, "%v", err)
	}
	return nil
}

// Connections returns the connections of the channels read so far, by ascending id.
func (s *Scanner) Connections() []*rosbag.Connection {
	list, _ := s.file.Channels.Connections(func(uint16) bool { return false }) // Next returns the errors
	return list
}

// Offset returns the end of the last record that was read wholly.
func (s *Scanner) Offset() int64 { return s.good }

// Next is bagfmt.Scanner.Next.
func (s *Scanner) Next() (*rosbag.Message, error) {
	m, err := s.next()
	s.lost = s.lost || errors.Is(err, rosbag.ErrCorrupt) || errors.Is(err, rosbag.ErrLimit)
	return m, err
}

func (s *Scanner) next() (*rosbag.Message, error) {
	for {
		m, err := s.fromChunk()
		if m != nil || err != nil {
			return m, err
		}
		if err := s.chunkErr; err != nil {
			s.chunkErr = nil
			return nil, err
		}
		if s.final {
			return nil, io.EOF
		}
		if m, err = s.record(); m != nil || err != nil {
			return m, err
		}
	}
}

// fromChunk returns the next message of the current chunk, nil at its end.
func (s *Scanner) fromChunk() (*rosbag.Message, error) {
	for {
		at := s.chunk.At
		op, content, err := s.chunk.Next()
		switch {
		case errors.Is(err, io.EOF):
			s.chunk = mcap.Walk{}
			return nil, nil // the caller goes on with the next record
		case err != nil && s.chunkErr != nil:
			continue // a torn chunk, which is reported later
		case err != nil:
			return nil, wire.Corrupt(s.chunkPos, rosbag.OpChunk, "%v", err)
		case op == mcap.OpSchema:
			err = s.file.Channels.AddSchema(content, s.chunkPos)
		case op == mcap.OpChannel:
			err = s.file.Channels.AddChannel(content, s.chunkPos)
		case op == mcap.OpMessage:
			m, wrong := mcap.MessageAt(s.chunk.Data, int64(at))
			if s.found.Add(m.Channel, 1); wrong != nil {
				return nil, wire.Corrupt(s.chunkPos, rosbag.OpChunk, "record at %d: message of %d bytes", at,
					len(content))
			}
			conn, err := s.connection(m.Channel, s.chunkPos)
			if conn == nil && err == nil {
				continue
			}
			var t rosbag.Time
			if err == nil {
				t, err = mcap.MessageTime(m.Channel, m.LogTime, s.chunkPos)
			}
			if err != nil {
				return nil, err
			}
			mcap.MakeFrame(s.chunk.Data, uint32(m.Frame))
			s.msg = rosbag.Message{Conn: conn, Time: t, Frame: wire.FrameAt(s.chunk.Data, uint32(m.Frame))}
			return &s.msg, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// connection returns the connection of a message in the record at offset at, nil if the
// message is passed over. Of each channel, only the first such message is an error.
func (s *Scanner) connection(channel uint16, at int64) (*rosbag.Connection, error) {
	conn, err := s.file.Channels.Connection(channel)
	if conn == nil && err == nil {
		err = wire.Corrupt(at, rosbag.OpMessage, "messages of unknown channel %d", channel)
	}
	if err != nil {
		if s.reported[channel] {
			return nil, nil // Next has returned err before
		}
		s.reported[channel] = true
	}
	return conn, err
}

// record reads the next record of the file. It returns a message only if that is one.
func (s *Scanner) record() (*rosbag.Message, error) {
	if s.skip.n > 0 {
		skip := s.skip
		s.skip = skipData{}
		if err := s.s.Skip(skip.n, skip.record, 0); err != nil {
			return nil, s.stop(err)
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
		if !s.ends && wire.AsCorrupt(err) == nil && wire.IsEnd(err) {
			err = mcap.NoEnd(start)
		}
		return nil, s.stop(err)
	}
	if s.ends {
		return nil, s.summary(op, n, start)
	}
	if err := op.Misplaced(n, start); err != nil {
		return nil, s.pass(n, start, err)
	}
	switch op { //nolint:exhaustive // the others are passed over
	case mcap.OpChunk:
		return nil, s.startChunk(n, start)
	case mcap.OpMessage:
		return s.message(n, start)
	case mcap.OpSchema, mcap.OpChannel:
		return nil, s.definition(op, n, start)
	case mcap.OpDataEnd:
		s.ends = true
	case mcap.OpFooter: // a wrong length led past the end of the messages, and past the statistics
		if err := s.footer(n, start); err != nil || s.lost {
			return nil, err
		}
		return nil, wire.Corrupt(start, 0,
			"no record ends the messages before the footer: messages may be missing")
	}
	return nil, s.done(s.s.Skip(n, start, op.Bag()))
}

// summary passes over a record of the summary. The statistics show whether messages are missing.
func (s *Scanner) summary(op mcap.Op, n, start int64) error {
	if op == mcap.OpFooter {
		return s.footer(n, start)
	}
	if op == mcap.OpStatistics {
		b, err := mcap.Grab(s.s, op, n, start)
		if err != nil {
			return s.stop(err)
		}
		s.good = s.s.Off
		stated, err := mcap.ParseStatistics(b)
		if err == nil && !s.lost {
			return s.found.Compare(stated, &s.file.Channels, start)
		}
		return nil
	}
	return s.done(s.s.Skip(n, start, op.Bag()))
}

// footer passes over the footer and the magic after it, which end the file.
func (s *Scanner) footer(n, start int64) error {
	s.final = true
	if err := s.done(s.s.Skip(n, start, 0)); err != nil {
		return err
	}
	if b, _ := s.s.R.Peek(len(wire.MCAPMagic)); string(b) == wire.MCAPMagic {
		return s.done(s.s.Skip(int64(len(b)), start, 0))
	}
	return nil
}

// done ends a record: with an error the rest of the file cannot be read.
func (s *Scanner) done(err error) error {
	if err != nil {
		return s.stop(err)
	}
	s.good = s.s.Off
	return nil
}

// stop makes io.EOF follow err, which ends the scan.
func (s *Scanner) stop(err error) error {
	s.final = true
	if s.ends && wire.AsCorrupt(err) != nil {
		return io.EOF
	}
	return err
}

// pass passes over n bytes of the record at start before the next record, and returns err.
func (s *Scanner) pass(n, start int64, err error) error {
	s.skip = skipData{n, start}
	return err
}

// definition reads a schema or a channel of n bytes.
func (s *Scanner) definition(op mcap.Op, n, start int64) error {
	b, err := mcap.Grab(s.s, op, n, start)
	switch {
	case errors.Is(err, rosbag.ErrLimit):
		return s.pass(n, start, err)
	case err != nil:
		return s.stop(err)
	}
	s.good = s.s.Off
	if op == mcap.OpSchema {
		return s.file.Channels.AddSchema(b, start)
	}
	return s.file.Channels.AddChannel(b, start)
}

// message reads a message outside chunks, whose record has n bytes.
func (s *Scanner) message(n, start int64) (*rosbag.Message, error) {
	if err := mcap.CheckMessageBytes(start, n); err != nil {
		return nil, s.pass(n, start, err)
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
		return nil, s.stop(err)
	}
	channel := binary.LittleEndian.Uint16(head[:])
	s.found.Add(channel, 1)
	n -= int64(len(head))
	conn, err := s.connection(channel, start)
	if conn == nil {
		if err == nil && n == 0 {
			s.good = s.s.Off
		}
		return nil, s.pass(n, start, err)
	}
	t, err := mcap.MessageTime(channel, binary.LittleEndian.Uint64(head[6:]), start)
	if err != nil {
		return nil, s.pass(n, start, err)
	}
	frame, err := s.arena.Frame(s.s, n, start)
	if err != nil {
		return nil, s.stop(err)
	}
	s.good = s.s.Off
	s.msg = rosbag.Message{Conn: conn, Time: t, Frame: frame}
	return &s.msg, nil
}

// startChunk reads a chunk record of n bytes and makes it the current chunk.
func (s *Scanner) startChunk(n, start int64) error {
	s.chunkPos = start
	b, short := s.s.R.Peek(int(min(n, mcap.MaxChunkHeadBytes)))
	if short != nil && !wire.IsEnd(short) {
		return s.stop(wire.ReadError(s.s.Off, short))
	}
	p := wire.ChunkPlace{Pos: start}
	err := mcap.ParseChunkHead(b, n, &p)
	switch {
	case err != nil && short != nil:
		return s.stop(wire.Torn(start, rosbag.OpChunk, "content", int64(len(b)), n))
	case err != nil:
		return s.pass(n, start, wire.Corrupt(start, rosbag.OpChunk, "%v", err))
	}
	if err = p.CheckSize(s.o.MaxChunkBytes); !mcap.KnownCompression(p.Compression) {
		err = wire.Corrupt(start, rosbag.OpChunk, "unknown compression %q", p.Compression)
	}
	if err != nil {
		return s.pass(n, start, err)
	}
	if err := s.s.Skip(p.Data-s.s.Off, start, rosbag.OpChunk); err != nil {
		return s.stop(err)
	}
	data, ended, err := s.load.FromStream(s.s, &p, s.o.Reuse)
	if ended != nil {
		s.chunkErr = s.stop(ended) // after the messages that are there
	} else {
		s.good = s.s.Off
		s.skip = skipData{start + mcap.HeadBytes + n - s.s.Off, start} // what newer writers have added
	}
	s.chunk = mcap.Walk{Data: data}
	return err
}
