package bagfmt

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/gorosbag/gorosbag/rosbag"
)

// errShort says that what was given ends inside a record.
var errShort = errors.New("ends inside the record")

const (
	stampBytes     = 12     // time and length of a message
	maxCountDigits = 10     // digits of the number of topics
	anyOf          = "*"    // md5sum or type of a recorder that took anything
	maxZeroBytes   = 1 << 8 // one of the three lines of version 0
	md5Digits      = 16 * 2 // hexadecimal
	zeroPeek       = 3 << 8 // bytes in which the three lines end
)

// cutLines is oldFormat.cut for the versions whose messages start with lines: none in
// version 0, the topic in 1.0, topic, md5sum and type in 1.1.
func (rec *oldRecord) cutLines(b []byte, l layout) (head int, err error) {
	*rec = oldRecord{op: rosbag.OpMessage}
	for _, line := range [...]struct {
		value *[]byte
		what  string
		from  layout
	}{{&rec.topic, "topic", layoutV10}, {&rec.md5, "md5sum", layoutV11}, {&rec.typ, "type", layoutV11}} {
		if l < line.from {
			break
		}
		rest := b[head:]
		n := bytes.IndexByte(rest[:min(len(rest), maxTextLineBytes+1)], '\n')
		switch {
		case n < 0 && len(rest) <= maxTextLineBytes:
			return head, errShort
		case n < 0:
			return head, fmt.Errorf("%s of more than %d bytes", line.what, maxTextLineBytes)
		}
		*line.value = rest[:n:n]
		if err := checkText(line.what, rest[:n]); err != nil {
			return head, err
		}
		head += n + 1
	}
	// These lines are all there is to see that the length before was right.
	if l == layoutV11 && !isMD5(rec.md5) {
		return head, fmt.Errorf("md5sum %q", rec.md5)
	}
	if l == layoutV11 && string(rec.typ) != anyOf && bytes.IndexByte(rec.typ, '/') < 0 {
		return head, fmt.Errorf("type %q", rec.typ)
	}
	if len(b)-head < stampBytes {
		return head, errShort
	}
	rec.time = getTime(b[head:])
	rec.length = int64(binary.LittleEndian.Uint32(b[head+8:]))
	rec.framed = true
	return head + stampBytes, nil
}

// isMD5 reports whether b is an md5sum as text, or the wildcard.
func isMD5(b []byte) bool { return string(b) == anyOf || isHexMD5(b) }

func isHexMD5(b []byte) bool {
	if len(b) != md5Digits {
		return false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// readLines is oldFormat.next for messages that start with lines.
func (rec *oldRecord) readLines(s *stream, l layout) error {
	start := s.off
	*rec = oldRecord{}
	for {
		b, err := s.r.Peek(max(s.r.Buffered(), 1))
		if len(b) == 0 {
			if isEnd(err) {
				return io.EOF
			}
			return readError(start, err)
		}
		head, wrong := rec.cutLines(b, l)
		if wrong == nil {
			// The slices of rec must outlive the buffer of the stream.
			s.header = append(s.header[:0], b[:head]...)
			if _, err := rec.cutLines(s.header, l); err != nil {
				return corrupt(start, rosbag.OpMessage, "%v", err)
			}
			return s.skip(int64(head), start, rosbag.OpMessage)
		}
		if !errors.Is(wrong, errShort) {
			rec.needsResync = true
			return corrupt(start, rosbag.OpMessage, "%v", wrong)
		}
		if _, err := s.r.Peek(len(b) + 1); err != nil {
			if isEnd(err) {
				return cutOff(start, rosbag.OpMessage, "message", len(b))
			}
			return readError(start, err)
		}
	}
}

// cutOff makes the error for a file that ends where only a line end would tell how long
// something is.
func cutOff(off int64, op rosbag.Op, what string, got int) *rosbag.CorruptError {
	e := corrupt(off, op, "file ends after %d bytes of the %s", got, what)
	e.Err = io.ErrUnexpectedEOF
	return e
}

// readLine reads one line of at most maxTextLineBytes. It is valid until the next read.
func readLine(s *stream, start int64, what string) ([]byte, error) {
	b, err := s.r.ReadSlice('\n')
	s.off += int64(len(b))
	switch {
	case err == nil && len(b) <= maxTextLineBytes+1:
		return b[:len(b)-1], nil
	case err == nil || errors.Is(err, bufio.ErrBufferFull):
		return nil, corrupt(start, 0, "%s of more than %d bytes", what, maxTextLineBytes)
	case isEnd(err):
		return nil, cutOff(start, 0, what, len(b))
	}
	return nil, readError(s.off, err)
}

// readTable reads the table of topics of version 1.0.
func (f *oldFormat) readTable(s *stream) error {
	start := s.off
	line, err := readLine(s, start, "number of topics")
	if err != nil {
		return err
	}
	n, ok := parseTopicCount(line)
	if !ok {
		return corrupt(start, 0, "number of topics %q", clip(line))
	}
	for range n {
		start := s.off
		if err := f.room(start); err != nil {
			return err
		}
		if err := f.declare(s, start); err != nil {
			return err
		}
	}
	return nil
}

// declare reads one entry of the table.
func (f *oldFormat) declare(s *stream, start int64) error {
	var lines [3][]byte
	for i, what := range [...]string{"topic", "md5sum", "type"} {
		b, err := readLine(s, start, what)
		if err == nil {
			if wrong := checkText(what, b); wrong != nil {
				err = corrupt(start, 0, "%v", wrong)
			}
		}
		if err != nil {
			return err
		}
		lines[i] = bytes.Clone(b)
	}
	md5, typ := orderLines(lines[1], lines[2])
	rec := oldRecord{topic: lines[0], md5: md5, typ: typ}
	f.key = rec.appendKey(f.key[:0], f.layout)
	if _, twice := f.keys[string(f.key)]; !twice { // players keep the first
		f.add(&rec)
	}
	return nil
}

// orderLines says which of two lines of a version 0 or 1.0 bag is the md5sum. Its
// writer put the type first, and the description of the format, which came later, the
// md5sum.
func orderLines(a, b []byte) (md5, typ []byte) {
	if isHexMD5(b) && !isHexMD5(a) {
		return b, a
	}
	return a, b
}

// parseTopicCount parses the number of topics.
func parseTopicCount(line []byte) (n int, ok bool) {
	if len(line) == 0 || len(line) > maxCountDigits {
		return 0, false
	}
	for _, c := range line {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	v, err := strconv.ParseInt(string(line), 10, 32)
	return int(v), err == nil
}

// topicCountFollows reports whether the line at offset at is a number of topics. Nothing
// may have been read before.
func topicCountFollows(s *stream, at int) bool {
	b, _ := s.r.Peek(at + maxCountDigits + 1)
	if len(b) <= at {
		return false
	}
	n := bytes.IndexByte(b[at:], '\n')
	if n < 0 {
		return false
	}
	_, ok := parseTopicCount(b[at : at+n])
	return ok
}

var (
	zeroTopicRE = regexp.MustCompile(`^[/~A-Za-z][\w/]*$`)
	zeroTypeRE  = regexp.MustCompile(`^([A-Za-z]\w*/[A-Za-z]\w*|\*)$`)
)

// readVersionZero reads the three lines at the start of a version 0 bag. The checks are
// strict, because nothing else identifies such a file.
func readVersionZero(s *stream) (bagVersion, error) {
	b, err := s.r.Peek(zeroPeek)
	if err != nil && !isEnd(err) {
		return bagVersion{}, readError(0, err)
	}
	lines := bytes.SplitN(b, []byte{'\n'}, 4)
	if len(lines) != 4 || len(lines[0]) >= maxZeroBytes || len(lines[1]) >= maxZeroBytes || len(lines[2]) >= maxZeroBytes {
		return bagVersion{}, notBag(b)
	}
	md5, typ := orderLines(lines[1], lines[2])
	if !isMD5(md5) || !zeroTopicRE.Match(lines[0]) || !zeroTypeRE.Match(typ) {
		return bagVersion{}, notBag(b)
	}
	c := oldConnection(0, string(lines[0]), string(typ), string(md5))
	v := bagVersion{name: "0", layout: layoutV0, elapsed: true, single: c}
	return v, s.skip(int64(len(b)-len(lines[3])), 0, 0)
}

// clip shortens text of the file for an error.
func clip(b []byte) []byte { return b[:min(len(b), 32)] }
