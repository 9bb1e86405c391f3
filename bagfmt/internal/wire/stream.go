package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Sizes of buffers.
const (
	StreamBufferBytes = 64 << 10 // to read all of a file
	ScanBufferBytes   = 16 << 10 // to scan it: most of the file is skipped
	SmallBufferBytes  = 4 << 10  // to read its beginning
	FirstReadBytes    = 1 << 20  // what a length word alone can make us allocate
)

// Stream reads top level records from front to back and knows where it is.
type Stream struct {
	R         *bufio.Reader
	Off       int64             // bytes consumed
	file      *io.SectionReader // what R reads, if that is a whole file: then Skip need not read
	Header    []byte
	Data      []byte     // of Grab
	Word      [4]byte    // of Next and Length: a local one would be allocated each time
	Decrypter *Decrypter // of an encrypted bag
}

// NewStream returns a stream of r, which is at offset off of the file, with a buffer of size bytes.
func NewStream(r io.Reader, off int64, size int) *Stream {
	return &Stream{R: bufio.NewReaderSize(r, size), Off: off}
}

// NewFileStream makes a stream at the start of a file of size bytes.
func NewFileStream(r io.ReaderAt, size int64, buffer int) *Stream {
	file := io.NewSectionReader(r, 0, size)
	s := NewStream(file, 0, int(min(max(size, SmallBufferBytes), int64(buffer))))
	s.file = file
	return s
}

// SeekTo continues at offset off of the file.
func (s *Stream) SeekTo(off int64) {
	_, _ = s.file.Seek(off, io.SeekStart) // it only sets a number
	s.Reset(s.file, off)
}

// Reset continues with other input, in the same memory.
func (s *Stream) Reset(r io.Reader, off int64) {
	s.R.Reset(r)
	s.Off = off
}

// Corrupt makes the error for the record at off.
func Corrupt(off int64, op rosbag.Op, format string, args ...any) *rosbag.CorruptError {
	return &rosbag.CorruptError{Offset: off, Op: op, Reason: fmt.Sprintf(format, args...)}
}

// AsCorrupt returns the CorruptError in err, nil if there is none.
func AsCorrupt(err error) *rosbag.CorruptError {
	var bad *rosbag.CorruptError
	errors.As(err, &bad)
	return bad
}

// IsDamage reports whether err is about the contents of a file that was recognized as
// a bag, so that a scan may find more.
func IsDamage(err error) bool {
	return errors.Is(err, rosbag.ErrCorrupt) || errors.Is(err, rosbag.ErrLimit) ||
		errors.Is(err, rosbag.ErrUnindexed)
}

// Torn makes the error for a file that ends inside the record at off.
func Torn(off int64, op rosbag.Op, what string, got, want int64) *rosbag.CorruptError {
	return &rosbag.CorruptError{
		Offset: off, Op: op, Err: io.ErrUnexpectedEOF,
		Reason: fmt.Sprintf("file ends after %d of %d bytes of its %s", got, want, what),
	}
}

// IsEnd reports whether err means that the input is over.
func IsEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// ReadError makes the error for a failed read that is not the end of the input.
func ReadError(off int64, err error) error {
	return &rosbag.ReadError{Offset: off, Err: err}
}

// readError makes the error of a read that ended with err after got of n bytes, of a part of the record
// at start. It returns nil if err is nil.
func (s *Stream) readError(err error, start int64, op rosbag.Op, what string, got, n int64) error {
	switch {
	case err == nil:
		return nil
	case IsEnd(err):
		return Torn(start, op, what, got, n)
	}
	return ReadError(s.Off, err)
}

// Full fills b for the record at start.
func (s *Stream) Full(b []byte, start int64, op rosbag.Op, what string) error {
	n, err := io.ReadFull(s.R, b)
	s.Off += int64(n)
	return s.readError(err, start, op, what, int64(n), int64(len(b)))
}

// fill reads n bytes for the record at start, as Fill does. If the file ends early it returns what is there.
func (s *Stream) fill(n, start int64, op rosbag.Op, what string, memory []byte) ([]byte, error) {
	b, err := Fill(s.R, n, memory)
	s.Off += int64(len(b))
	return b, s.readError(err, start, op, what, int64(len(b)), n)
}

// Next reads a record header into h, whose slices are valid until the next call.
// At the end of the input it returns io.EOF.
func (s *Stream) Next(h *RecordHeader) error {
	start := s.Off
	h.Framed = false
	if err := s.RawHeader(); err != nil {
		return err
	}
	if err := h.Parse(s.Header); err != nil {
		bad := &rosbag.CorruptError{Offset: start, Op: h.Op, Reason: err.Error()}
		if h.Framed {
			return bad
		}
		if s.Decrypter.openHeader(s.Header, h) {
			return nil
		}
		h.Framed = false
		return bad
	}
	return nil
}

// RawHeader reads a record header, whatever is in it, into s.Header. At the end of the input it
// returns io.EOF.
func (s *Stream) RawHeader() error {
	start := s.Off
	if _, err := s.R.Peek(1); err != nil {
		if IsEnd(err) {
			return io.EOF
		}
		return ReadError(start, err)
	}
	if err := s.Full(s.Word[:], start, 0, "header length"); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(s.Word[:]))
	if n > MaxHeaderBytes {
		return Corrupt(start, 0, "header of %d bytes, limit %d", n, MaxHeaderBytes)
	}
	return s.readHeader(int(n), start)
}

// readHeader reads n bytes into s.Header. A header that fits the read buffer must be
// complete before memory for it is allocated, and a larger one is read piece by piece: a wrong length
// alone allocates nothing.
func (s *Stream) readHeader(n int, start int64) (err error) {
	if n <= s.R.Size() {
		if b, err := s.R.Peek(n); err != nil {
			if IsEnd(err) {
				s.Off += int64(len(b))
			}
			return s.readError(err, start, 0, "header", int64(len(b)), int64(n))
		}
		s.Header = slices.Grow(s.Header[:0], n)
	} else if cap(s.Header) < n {
		s.Header = make([]byte, s.R.Size())
	}
	s.Header, err = s.fill(int64(n), start, 0, "header", s.Header)
	return err
}

// Length reads the length word of the data of the record at start.
func (s *Stream) Length(start int64, op rosbag.Op) (int64, error) {
	if err := s.Full(s.Word[:], start, op, "data length"); err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint32(s.Word[:])), nil
}

// Bytes reads n bytes of data, into memory if that is enough, else into fresh memory.
// If the file ends early it returns what is there, and an error that unwraps to
// io.ErrUnexpectedEOF.
func (s *Stream) Bytes(n, start int64, op rosbag.Op, memory []byte) ([]byte, error) {
	first := min(n, FirstReadBytes)
	if s.file != nil { // no more than the file has
		first = min(first, max(s.file.Size()-s.Off, 1))
	}
	if int64(cap(memory)) < first {
		memory = make([]byte, first)
	}
	return s.fill(n, start, op, "data", memory)
}

// Grab reads n bytes of data into memory that the next call of Grab reuses.
func (s *Stream) Grab(n, start int64, op rosbag.Op) (data []byte, err error) {
	s.Data, err = s.Bytes(n, start, op, s.Data)
	return s.Data, err
}

// Skip passes over n bytes of the data of the record at start.
func (s *Stream) Skip(n, start int64, op rosbag.Op) error {
	if s.file != nil && n > int64(s.R.Buffered()) {
		left := s.file.Size() - s.Off
		s.SeekTo(s.Off + min(n, left))
		if n > left {
			return Torn(start, op, "data", left, n)
		}
		return nil
	}
	for left := n; left > 0; {
		d, err := s.R.Discard(int(min(left, 1<<30)))
		s.Off += int64(d)
		if left -= int64(d); err != nil {
			return s.readError(err, start, op, "data", n-left, n)
		}
	}
	return nil
}

// RecordAhead reports whether what comes next can be a record, or the end.
func (s *Stream) RecordAhead() bool {
	b, err := s.R.Peek(4)
	if err != nil {
		return len(b) == 0 && IsEnd(err)
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < 8 || n > s.R.Size()-4 {
		return false
	}
	b, err = s.R.Peek(4 + n)
	var h RecordHeader
	return err == nil && h.Parse(b[4:]) == nil
}

// BagAhead reports whether another bag comes next: no record can begin like that.
func (s *Stream) BagAhead() bool {
	b, _ := s.R.Peek(len(VersionPrefix)) // the next read returns the error
	return string(b) == VersionPrefix
}

// IndexData reads the length and, into s.Data if keep is set, the entries of an
// index data record. Some stock versions stated a wrong length, and stock readers
// look at the count alone; so the count is believed if a record follows where it
// says. next reports whether a record follows after an error.
func (s *Stream) IndexData(h *RecordHeader, start int64, keep bool) (next bool, err error) {
	n, err := s.Length(start, rosbag.OpIndexData)
	if err != nil {
		return false, err
	}
	return s.IndexEntries(h, n, start, keep)
}

// IndexEntries is IndexData after the length n.
func (s *Stream) IndexEntries(h *RecordHeader, n, start int64, keep bool) (next bool, err error) {
	s.Data = s.Data[:0]
	take := func(n int64) error {
		if !keep {
			return s.Skip(n, start, rosbag.OpIndexData)
		}
		_, err := s.Grab(n, start, rosbag.OpIndexData)
		return err
	}
	want := int64(h.Count) * IndexEntryBytes
	if n == want {
		return false, take(n)
	}
	wrong := Corrupt(start, rosbag.OpIndexData, "claims %d entries in %d bytes", h.Count, n)
	if err := take(min(n, want)); err != nil {
		wrong.Err = errors.Unwrap(err)
		return false, wrong
	}
	if s.RecordAhead() {
		if want < n {
			return false, nil
		}
		return true, wrong
	}
	if want < n {
		if err = s.Skip(n-want, start, rosbag.OpIndexData); err == nil && s.RecordAhead() {
			return true, wrong
		}
	} else {
		entries := s.Data
		s.Data = nil // entries has the memory
		if err = take(want - n); err == nil && s.RecordAhead() {
			s.Data = append(entries, s.Data...)
			return false, nil
		}
	}
	wrong.Err = errors.Unwrap(err)
	return false, wrong
}

// ReadSized is fill with first bytes of fresh memory to begin with.
func ReadSized(r io.Reader, size, first int64) ([]byte, error) {
	return Fill(r, size, make([]byte, min(size, first)))
}

// Fill reads size bytes into buf. If they exceed its capacity, Fill moves to fresh memory, which
// doubles each time that it is full: memory follows what arrives and not what a length claims. With
// an error it returns what it got.
func Fill(r io.Reader, size int64, buf []byte) ([]byte, error) {
	buf = buf[:min(size, int64(cap(buf)))]
	for at := 0; ; {
		n, err := io.ReadFull(r, buf[at:])
		if at += n; err != nil {
			return buf[:at:at], err
		}
		if int64(at) == size {
			return buf, nil
		}
		more := make([]byte, min(size, 2*int64(at)))
		copy(more, buf)
		buf = more
	}
}
