package bagfmt

import (
	"errors"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/mcapread"
	"github.com/gorosbag/gorosbag/bagfmt/internal/old"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ScannerOptions limits what a Scanner does. The zero value is ready to use.
type ScannerOptions struct {
	// largest compressed chunk, stored or unpacked; zero means 512 MiB, 2 GiB - 1 is the most
	MaxChunkBytes int64
	// read any version 2.x as if it were 2.0
	FutureVersion bool
	// a Frame of a chunk is valid until the next call only, so that memory of chunks is used again
	Reuse bool
	// Interrupted is as in ReaderOptions.
	Interrupted func() error
	// UnwrapKey is as in ReaderOptions.
	UnwrapKey func(rosbag.Encryption) (key []byte, err error)
}

// Scanner reads a bag of any version, or an MCAP file, from front to back without its index: any prefix
// of a bag, closed or not, also what stock's recorder leaves when it is killed.
type Scanner struct {
	s        *wire.Stream
	o        ScannerOptions
	version  wire.BagVersion
	old      *old.Format       // of a bag of a version before 2.0
	mcap     *mcapread.Scanner // of an MCAP file
	header   wire.RecordHeader
	conns    wire.ConnTable
	load     load.Loader
	chunk    scannedChunk
	skip     skipData // to do before the next record
	good     int64    // end of the last whole record
	chunks   int      // seen so far
	infos    int
	orphans  map[rosbag.ConnID]int64 // unknown connections, with the last chunk that has messages of them
	arena    wire.Arena              // of messages outside chunks
	closed   bool
	msg      rosbag.Message
	repeated rosbag.Repeated
	final    bool // the end is reached, or the next record cannot be found
}

// scannedChunk is the last chunk that a Scanner has read.
type scannedChunk struct {
	pos       int64          // of its record
	walk      wire.ChunkWalk // over its data; at the end if its records follow it instead
	err       error          // to return at the end of walk
	unindexed int64          // messages that no index data has counted yet
	complete  bool           // all of it was read, and so unindexed is exact
}

// skipData is data of a record that a Scanner has not skipped yet.
type skipData struct {
	n      int64 // bytes
	record int64 // offset of the record
}

// NewScanner reads what comes before the messages: the version line and the bag header or, in a 1.0
// bag, the table of topics; in an MCAP file, the header. What is no bag matches rosbag.ErrNotBag, a bag of an
// unknown version ErrVersion, and one that is encrypted and whose key is missing ErrEncrypted.
func NewScanner(r io.Reader, o ScannerOptions) (*Scanner, error) {
	var err error
	if o.MaxChunkBytes, err = wire.ChunkLimit(o.MaxChunkBytes); err != nil {
		return nil, err
	}
	s := &Scanner{o: o, chunk: scannedChunk{complete: true}}
	s.load.Unpack.Interrupted = o.Interrupted
	s.s = wire.NewStream(r, 0, wire.StreamBufferBytes)
	v, err := s.s.Version(o.FutureVersion)
	if err != nil {
		return nil, err
	}
	s.version = v
	switch v.Layout {
	case wire.LayoutV2:
		err = s.start()
	case wire.LayoutMCAP:
		s.mcap, err = mcapread.New(s.s, mcapread.Options{
			MaxChunkBytes: o.MaxChunkBytes, Reuse: o.Reuse, Interrupted: o.Interrupted,
		})
	case wire.LayoutV0, wire.LayoutV10, wire.LayoutV11, wire.LayoutV12:
		err = s.startOld()
	}
	if err != nil {
		return nil, err
	}
	s.good = s.s.Off
	return s, nil
}

// start reads the bag header of a 2.0 bag.
func (s *Scanner) start() error {
	at := s.s.Off
	h, err := s.s.BagHeader()
	if err == nil {
		s.s.Decrypter, err = wire.NewDecrypter(wire.ParseEncryption(s.s.Header), s.o.UnwrapKey)
	}
	if err != nil {
		return err
	}
	s.repeated = h.Repeats()
	n, err := s.s.Length(at, h.Op)
	if err != nil {
		return err
	}
	return s.s.Skip(n, at, h.Op)
}

// Version returns the version of the bag, as Reader.Info does, and "mcap" for an MCAP file.
func (s *Scanner) Version() string { return s.version.Name }

// Encryption returns what an encrypted bag says about itself, as Reader.Encryption does.
func (s *Scanner) Encryption() *rosbag.Encryption { return s.s.Decrypter.Encryption() }

// Elapsed reports whether times count from the start of the recording, as
// Reader.Info does.
func (s *Scanner) Elapsed() bool { return s.version.Elapsed }

// Connections returns the connections seen so far, by ascending id.
func (s *Scanner) Connections() []*rosbag.Connection {
	if s.mcap != nil {
		return s.mcap.Connections()
	}
	if s.old != nil {
		return slices.Clone(s.old.Conns)
	}
	return s.conns.All()
}

// Offset returns the end of the last top level record that was read wholly.
func (s *Scanner) Offset() int64 {
	if s.mcap != nil {
		return s.mcap.Offset()
	}
	return s.good
}

// Next returns the next message in file order, io.EOF at a clean end. The Message
// is valid until the next call; its Frame must not be modified and stays valid for
// as long as it is referenced, without ScannerOptions.Reuse.
//
// Another error says what could not be read. A file that ends inside a record is a
// *CorruptError that unwraps to io.ErrUnexpectedEOF, after all whole messages. The
// next call continues after the damaged record or, if that cannot be found or reading
// failed, returns io.EOF. Each fault is reported once, so that the end is always
// reached.
func (s *Scanner) Next() (*rosbag.Message, error) {
	if s.closed {
		return nil, errScannerClosed
	}
	if s.mcap != nil {
		return s.mcap.Next()
	}
	if s.old != nil {
		return s.nextOld()
	}
	for {
		m, err := s.fromChunk()
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
		m, err = s.record()
		if m != nil || err != nil {
			return m, err
		}
	}
}

// fromChunk returns the next message of the current chunk, nil at its end.
func (s *Scanner) fromChunk() (*rosbag.Message, error) {
	for {
		h, tail, err := s.chunk.walk.Next()
		switch {
		case errors.Is(err, io.EOF):
			s.chunk.walk.Data = nil
			return nil, nil // the caller goes on with the next record
		case err != nil && errors.Is(err, io.ErrUnexpectedEOF) && s.chunk.err != nil:
			continue // a torn chunk, which later reports
		case err != nil:
			s.chunk.complete = false
			return nil, wire.Corrupt(s.chunk.pos, rosbag.OpChunk, "%v", err)
		case h.Op == rosbag.OpConnection:
			if err := s.conns.Add(h, tail[4:], s.chunk.pos); err != nil {
				return nil, err
			}
		case h.Op == rosbag.OpMessage:
			s.chunk.unindexed++
			if m, err := s.message(h, tail, s.chunk.pos); m != nil || err != nil {
				return m, err
			}
		}
	}
}

// message returns a message from the record at offset at, nil if its connection is
// unknown. Of many such messages of a connection in a chunk, or bare ones after the
// record of a chunk that was never completed, only the first is an error.
func (s *Scanner) message(h *wire.RecordHeader, frame []byte, at int64) (*rosbag.Message, error) {
	c := s.conns.Get(h.Conn)
	if c == nil {
		if s.orphans == nil {
			s.orphans = make(map[rosbag.ConnID]int64)
		}
		if last, ok := s.orphans[h.Conn]; ok && last == s.chunk.pos {
			return nil, nil // reported before
		}
		s.orphans[h.Conn] = s.chunk.pos
		return nil, wire.Corrupt(at, rosbag.OpMessage, "messages of unknown connection %d", h.Conn)
	}
	s.msg = rosbag.Message{Conn: c, Time: h.Time, Frame: frame}
	return &s.msg, nil
}

// record reads the next top level record. It returns a message only if that is one.
func (s *Scanner) record() (*rosbag.Message, error) {
	if s.skip.n > 0 {
		skip := s.skip
		s.skip = skipData{}
		if err := s.s.Skip(skip.n, skip.record, rosbag.OpChunk); err != nil {
			return nil, s.stop(err)
		}
		s.good = s.s.Off
	}
	if s.s.BagAhead() {
		s.final = true
		return nil, wire.Corrupt(s.s.Off, 0, "another bag starts here")
	}
	start := s.s.Off
	h := &s.header
	if err := s.s.Next(h); err != nil {
		if !h.Framed {
			return nil, s.stop(err)
		}
		n, end := s.s.Length(start, h.Op)
		if end != nil {
			s.final = true
		}
		s.skip = skipData{n, start} // the header alone is bad
		return nil, err
	}
	switch h.Op {
	case rosbag.OpChunk:
		return nil, s.startChunk(h, start)
	case rosbag.OpMessage:
		return s.rawMessage(h, start)
	case rosbag.OpConnection:
		return nil, s.connection(h, start)
	case rosbag.OpIndexData:
		if h.Ver == wire.IndexVersion {
			return nil, s.indexData(h, start)
		}
	case rosbag.OpChunkInfo:
		s.infos++
	case rosbag.OpBagHeader, rosbag.OpMessageDefinition:
	}
	n, err := s.s.Length(start, h.Op)
	if err == nil {
		err = s.s.Skip(n, start, h.Op)
	}
	return nil, s.done(err)
}

// done ends a record: with an error the rest of the file cannot be read.
func (s *Scanner) done(err error) error {
	if err != nil {
		return s.stop(err)
	}
	s.good = s.s.Off
	return nil
}

// complete reports whether the index section has been read. What follows is not
// part of the bag and, as for stock readers, may be anything.
func (s *Scanner) complete() bool { return s.chunks > 0 && s.infos == s.chunks }

// stop makes io.EOF follow err, which ends the scan.
func (s *Scanner) stop(err error) error {
	s.final = true
	var bad *rosbag.CorruptError
	if errors.As(err, &bad) && s.complete() {
		return io.EOF
	}
	return err
}

// startChunk reads a chunk record and makes it the current chunk.
func (s *Scanner) startChunk(h *wire.RecordHeader, start int64) error {
	p := h.ChunkPlace(start)
	p.Decrypter = s.s.Decrypter
	n, err := s.s.Length(start, rosbag.OpChunk)
	if err != nil {
		return s.stop(err)
	}
	p.Stored = n
	s.chunks++
	s.chunk.pos = start
	s.chunk.unindexed, s.chunk.complete = 0, false
	if n == 0 && p.Size == 0 {
		// Stock's recorder starts a chunk like this and completes the header when the
		// chunk is full. If it was killed before, the records follow bare.
		return s.done(nil)
	}
	_, err = rosbag.ParseCompression(string(p.Compression))
	if err != nil {
		err = wire.Corrupt(start, rosbag.OpChunk, "unknown compression %q", p.Compression)
	} else {
		err = p.CheckSize(s.o.MaxChunkBytes)
	}
	if err != nil {
		s.skip = skipData{n, start}
		return err
	}
	data, ended, err := s.load.FromStream(s.s, &p, s.o.Reuse)
	s.chunk.walk = wire.ChunkWalk{Data: data}
	if ended != nil {
		s.chunk.err = s.stop(ended) // after the messages that are there
		return nil
	}
	s.good, s.chunk.complete = s.s.Off, err == nil
	return err
}

// rawMessage reads a message record outside chunks.
func (s *Scanner) rawMessage(h *wire.RecordHeader, start int64) (*rosbag.Message, error) {
	n, err := s.s.Length(start, rosbag.OpMessage)
	if err != nil {
		return nil, s.stop(err)
	}
	if err := wire.CheckMessageBytes(start, n); err != nil {
		s.skip = skipData{n, start}
		return nil, err
	}
	frame, err := s.arena.Frame(s.s, n, start)
	if err != nil {
		return nil, s.stop(err)
	}
	s.good = s.s.Off
	return s.message(h, frame, start)
}

// connection reads a connection record outside chunks.
func (s *Scanner) connection(h *wire.RecordHeader, start int64) error {
	n, err := s.s.Length(start, rosbag.OpConnection)
	if err != nil {
		return s.stop(err)
	}
	if err := wire.CheckConnectionBytes(start, n); err != nil {
		s.skip = skipData{n, start}
		return err
	}
	data, err := s.s.Grab(n, start, rosbag.OpConnection)
	if err != nil {
		return s.stop(err)
	}
	s.good = s.s.Off
	if data, err = s.s.Decrypter.OpenConnection(h, data, start); err != nil {
		return err
	}
	return s.conns.Add(h, data, start)
}

// indexData passes over an index data record. If it counts messages that the chunk
// before it does not hold, it belongs to another chunk, whose record is so damaged
// that it was skipped as unknown.
func (s *Scanner) indexData(h *wire.RecordHeader, start int64) error {
	count := int64(h.Count)
	next, err := s.s.IndexData(h, start, false)
	if err != nil && !next {
		return s.stop(err)
	}
	s.good = s.s.Off
	if s.chunk.unindexed -= count; err == nil && s.chunk.complete && s.chunk.unindexed < 0 {
		s.chunk.complete = false
		return wire.Corrupt(start, rosbag.OpIndexData, "%d messages more than the chunk before it holds",
			-s.chunk.unindexed)
	}
	return err
}

var errScannerClosed = errors.New("scanner closed")

// Close makes Next return an error. It does not close the reader.
func (s *Scanner) Close() { s.closed = true }

// Repeated returns what the bag says about its repeated messages.
func (s *Scanner) Repeated() rosbag.Repeated { return s.repeated }
