package bagfmt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	streamBufferBytes = 64 << 10
	smallBufferBytes  = 4 << 10
	firstReadBytes    = 1 << 20 // what a length word alone can make us allocate
)

// stream reads top level records from front to back and knows where it is.
type stream struct {
	r         *bufio.Reader
	off       int64             // bytes consumed
	file      *io.SectionReader // what r reads, if that is a whole file: then skip need not read
	header    []byte
	data      []byte     // of grab
	word      [4]byte    // of next and length: a local one would be allocated each time
	decrypter *decrypter // of an encrypted bag
}

func newStream(r io.Reader, off int64, size int) *stream {
	return &stream{r: bufio.NewReaderSize(r, size), off: off}
}

// newFileStream makes a stream at the start of a file of size bytes.
func newFileStream(r io.ReaderAt, size int64, buffer int) *stream {
	file := io.NewSectionReader(r, 0, size)
	s := newStream(file, 0, int(min(max(size, smallBufferBytes), int64(buffer))))
	s.file = file
	return s
}

// seek continues at offset off of the file.
func (s *stream) seek(off int64) {
	_, _ = s.file.Seek(off, io.SeekStart) // it only sets a number
	s.reset(s.file, off)
}

// reset continues with other input, in the same memory.
func (s *stream) reset(r io.Reader, off int64) {
	s.r.Reset(r)
	s.off = off
}

// corrupt makes the error for the record at off.
func corrupt(off int64, op rosbag.Op, format string, args ...any) *rosbag.CorruptError {
	return &rosbag.CorruptError{Offset: off, Op: op, Reason: fmt.Sprintf(format, args...)}
}

// asCorrupt returns the CorruptError in err, nil if there is none.
func asCorrupt(err error) *rosbag.CorruptError {
	var bad *rosbag.CorruptError
	errors.As(err, &bad)
	return bad
}

// torn makes the error for a file that ends inside the record at off.
func torn(off int64, op rosbag.Op, what string, got, want int64) *rosbag.CorruptError {
	return &rosbag.CorruptError{
		Offset: off, Op: op, Err: io.ErrUnexpectedEOF,
		Reason: fmt.Sprintf("file ends after %d of %d bytes of its %s", got, want, what),
	}
}

// isEnd reports whether err means that the input is over.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// readError makes the error for a failed read that is not the end of the input.
func readError(off int64, err error) error {
	return fmt.Errorf("read at %d: %w", off, err)
}

// full fills b for the record at start.
func (s *stream) full(b []byte, start int64, op rosbag.Op, what string) error {
	n, err := io.ReadFull(s.r, b)
	s.off += int64(n)
	switch {
	case err == nil:
		return nil
	case isEnd(err):
		return torn(start, op, what, int64(n), int64(len(b)))
	}
	return readError(s.off, err)
}

// next reads a record header into h, whose slices are valid until the next call.
// At the end of the input it returns io.EOF.
func (s *stream) next(h *recordHeader) error {
	start := s.off
	h.framed = false
	if _, err := s.r.Peek(1); err != nil {
		if isEnd(err) {
			return io.EOF
		}
		return readError(start, err)
	}
	if err := s.full(s.word[:], start, 0, "header length"); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(s.word[:]))
	if n > maxHeaderBytes {
		return corrupt(start, 0, "header of %d bytes, limit %d", n, maxHeaderBytes)
	}
	if err := s.readHeader(int(n), start); err != nil {
		return err
	}
	if err := h.parse(s.header); err != nil {
		bad := &rosbag.CorruptError{Offset: start, Op: h.op, Reason: err.Error()}
		if h.framed {
			return bad
		}
		if s.decrypter.openHeader(s.header, h) {
			return nil
		}
		h.framed = false
		return bad
	}
	return nil
}

// readHeader reads n bytes into s.header. What fits the read buffer is not read
// before it is there, so that a length alone allocates nothing.
func (s *stream) readHeader(n int, start int64) error {
	if n <= s.r.Size() {
		if b, err := s.r.Peek(n); err != nil {
			if isEnd(err) {
				s.off += int64(len(b))
				return torn(start, 0, "header", int64(len(b)), int64(n))
			}
			return readError(s.off, err)
		}
	}
	if cap(s.header) >= n || n <= s.r.Size() {
		s.header = slices.Grow(s.header[:0], n)[:n]
		return s.full(s.header, start, 0, "header")
	}
	b, err := readSized(s.r, int64(n), int64(s.r.Size()))
	s.off += int64(len(b))
	s.header = b
	switch {
	case err == nil:
		return nil
	case isEnd(err):
		return torn(start, 0, "header", int64(len(b)), int64(n))
	}
	return readError(s.off, err)
}

// length reads the length word of the data of the record at start.
func (s *stream) length(start int64, op rosbag.Op) (int64, error) {
	if err := s.full(s.word[:], start, op, "data length"); err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint32(s.word[:])), nil
}

// bytes reads n bytes of data, into memory if that is enough, else into fresh memory.
// If the file ends early it returns what is there, and an error that unwraps to
// io.ErrUnexpectedEOF.
func (s *stream) bytes(n, start int64, op rosbag.Op, memory []byte) ([]byte, error) {
	if int64(cap(memory)) < n {
		memory = make([]byte, min(n, firstReadBytes))
	}
	b, err := fill(s.r, n, memory)
	s.off += int64(len(b))
	switch {
	case err == nil:
		return b, nil
	case isEnd(err):
		return b, torn(start, op, "data", int64(len(b)), n)
	}
	return b, readError(s.off, err)
}

// skip passes over n bytes of the data of the record at start.
func (s *stream) skip(n, start int64, op rosbag.Op) error {
	if s.file != nil && n > int64(s.r.Buffered()) {
		left := s.file.Size() - s.off
		s.seek(s.off + min(n, left))
		if n > left {
			return torn(start, op, "data", left, n)
		}
		return nil
	}
	for left := n; left > 0; {
		d, err := s.r.Discard(int(min(left, 1<<30)))
		s.off += int64(d)
		left -= int64(d)
		switch {
		case err == nil:
		case isEnd(err):
			return torn(start, op, "data", n-left, n)
		default:
			return readError(s.off, err)
		}
	}
	return nil
}

// recordAhead reports whether what comes next can be a record, or the end.
func (s *stream) recordAhead() bool {
	b, err := s.r.Peek(4)
	if err != nil {
		return len(b) == 0 && isEnd(err)
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < 8 || n > s.r.Size()-4 {
		return false
	}
	b, err = s.r.Peek(4 + n)
	var h recordHeader
	return err == nil && h.parse(b[4:]) == nil
}

// bagAhead reports whether another bag comes next: no record can begin like that.
func (s *stream) bagAhead() bool {
	b, _ := s.r.Peek(len(versionPrefix)) // reading on tells the error
	return string(b) == versionPrefix
}

// grab reads n bytes of data into memory that the next call of grab reuses.
func (s *stream) grab(n, start int64, op rosbag.Op) ([]byte, error) {
	s.data = s.data[:0]
	err := s.grabMore(n, start, op)
	return s.data, err
}

// grabMore adds n bytes to what grab got, in s.data.
func (s *stream) grabMore(n, start int64, op rosbag.Op) error {
	for left := n; left > 0; {
		step := int(min(left, int64(max(firstReadBytes, len(s.data)))))
		if s.file != nil { // no more than the file has
			step = int(min(int64(step), max(s.file.Size()-s.off, 1)))
		}
		at := len(s.data)
		s.data = slices.Grow(s.data, step)[:at+step]
		got, err := io.ReadFull(s.r, s.data[at:])
		s.off += int64(got)
		left -= int64(got)
		switch {
		case err == nil:
		case isEnd(err):
			s.data = s.data[:at+got]
			return torn(start, op, "data", n-left, n)
		default:
			return readError(s.off, err)
		}
	}
	return nil
}

// indexData reads the length and, into s.data if keep is set, the entries of an
// index data record. Some stock versions stated a wrong length, and stock readers
// look at the count alone; so the count is believed if a record follows where it
// says. next reports whether a record follows after an error.
func (s *stream) indexData(h *recordHeader, start int64, keep bool) (next bool, err error) {
	n, err := s.length(start, rosbag.OpIndexData)
	if err != nil {
		return false, err
	}
	return s.indexEntries(h, n, start, keep)
}

// indexEntries is indexData behind the length n.
func (s *stream) indexEntries(h *recordHeader, n, start int64, keep bool) (next bool, err error) {
	s.data = s.data[:0]
	take := func(n int64) error {
		if keep {
			return s.grabMore(n, start, rosbag.OpIndexData)
		}
		return s.skip(n, start, rosbag.OpIndexData)
	}
	want := int64(h.count) * indexEntryBytes
	if n == want {
		return false, take(n)
	}
	wrong := corrupt(start, rosbag.OpIndexData, "claims %d entries in %d bytes", h.count, n)
	if err := take(min(n, want)); err != nil {
		wrong.Err = errors.Unwrap(err)
		return false, wrong
	}
	if s.recordAhead() {
		if want < n {
			return false, nil
		}
		return true, wrong
	}
	keep = keep && want > n
	if err := take(max(n, want) - min(n, want)); err != nil {
		wrong.Err = errors.Unwrap(err)
		return false, wrong
	}
	if !s.recordAhead() {
		return false, wrong
	}
	if want > n {
		return false, nil
	}
	return true, wrong
}

// readSized is fill with first bytes of fresh memory to begin with.
func readSized(r io.Reader, size, first int64) ([]byte, error) {
	return fill(r, size, make([]byte, min(size, first)))
}

// fill reads size bytes, into buf as far as its capacity goes, and what is more
// into fresh memory that doubles, so that memory follows what arrives and not what a
// length claims. With an error it returns what it got.
func fill(r io.Reader, size int64, buf []byte) ([]byte, error) {
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
