package old

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// errShort says that what was given ends inside a record.
var errShort = errors.New("ends inside the record")

const stampBytes = 12 // time and length of a message

// cutLines is Format.Cut for the versions whose messages start with lines: none in
// version 0, the topic in 1.0, topic, md5sum and type in 1.1.
func (rec *Record) cutLines(b []byte, l wire.Layout) (head int, err error) {
	*rec = Record{Op: rosbag.OpMessage}
	for _, line := range [...]struct {
		value *[]byte
		what  string
		from  wire.Layout
	}{
		{&rec.Topic, "topic", wire.LayoutV10},
		{&rec.md5, "md5sum", wire.LayoutV11},
		{&rec.typ, "type", wire.LayoutV11},
	} {
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
	if l == wire.LayoutV11 && !wire.IsMD5(rec.md5) {
		return head, fmt.Errorf("md5sum %q", rec.md5)
	}
	if l == wire.LayoutV11 && string(rec.typ) != wire.AnyOf && bytes.IndexByte(rec.typ, '/') < 0 {
		return head, fmt.Errorf("type %q", rec.typ)
	}
	if len(b)-head < stampBytes {
		return head, errShort
	}
	rec.Time = wire.GetTime(b[head:])
	rec.Length = int64(binary.LittleEndian.Uint32(b[head+8:]))
	rec.Framed = true
	return head + stampBytes, nil
}

// readLines is Format.Next for messages that start with lines.
func (rec *Record) readLines(s *wire.Stream, l wire.Layout) error {
	start := s.Off
	*rec = Record{}
	for {
		b, err := s.R.Peek(max(s.R.Buffered(), 1))
		if len(b) == 0 {
			if wire.IsEnd(err) {
				return io.EOF
			}
			return wire.ReadError(start, err)
		}
		head, wrong := rec.cutLines(b, l)
		if wrong == nil {
			// The slices of rec must outlive the buffer of the stream.
			s.Header = append(s.Header[:0], b[:head]...)
			if _, err := rec.cutLines(s.Header, l); err != nil {
				return wire.Corrupt(start, rosbag.OpMessage, "%v", err)
			}
			return s.Skip(int64(head), start, rosbag.OpMessage)
		}
		if !errors.Is(wrong, errShort) {
			rec.NeedsResync = true
			return wire.Corrupt(start, rosbag.OpMessage, "%v", wrong)
		}
		if _, err := s.R.Peek(len(b) + 1); err != nil {
			if wire.IsEnd(err) {
				return cutOff(start, rosbag.OpMessage, "message", len(b))
			}
			return wire.ReadError(start, err)
		}
	}
}

// cutOff makes the error for a file that ends before the line end that would show how long
// something is.
func cutOff(off int64, op rosbag.Op, what string, got int) *rosbag.CorruptError {
	e := wire.Corrupt(off, op, "file ends after %d bytes of the %s", got, what)
	e.Err = io.ErrUnexpectedEOF
	return e
}

// readLine reads one line of at most maxTextLineBytes. It is valid until the next read.
func readLine(s *wire.Stream, start int64, what string) ([]byte, error) {
	b, err := s.R.ReadSlice('\n')
	s.Off += int64(len(b))
	switch {
	case err == nil && len(b) <= maxTextLineBytes+1:
		return b[:len(b)-1], nil
	case err == nil || errors.Is(err, bufio.ErrBufferFull):
		return nil, wire.Corrupt(start, 0, "%s of more than %d bytes", what, maxTextLineBytes)
	case wire.IsEnd(err):
		return nil, cutOff(start, 0, what, len(b))
	}
	return nil, wire.ReadError(s.Off, err)
}

// readTable reads the table of topics of version 1.0.
func (f *Format) readTable(s *wire.Stream) error {
	start := s.Off
	line, err := readLine(s, start, "number of topics")
	if err != nil {
		return err
	}
	n, ok := wire.ParseTopicCount(line)
	if !ok {
		return wire.Corrupt(start, 0, "number of topics %q", wire.Clip(line))
	}
	for range n {
		start := s.Off
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
func (f *Format) declare(s *wire.Stream, start int64) error {
	var lines [3][]byte
	for i, what := range [...]string{"topic", "md5sum", "type"} {
		b, err := readLine(s, start, what)
		if err == nil {
			if wrong := checkText(what, b); wrong != nil {
				err = wire.Corrupt(start, 0, "%v", wrong)
			}
		}
		if err != nil {
			return err
		}
		lines[i] = bytes.Clone(b)
	}
	md5, typ := wire.OrderLines(lines[1], lines[2])
	rec := Record{Topic: lines[0], md5: md5, typ: typ}
	f.key = rec.appendKey(f.key[:0], f.Layout)
	if _, twice := f.keys[string(f.key)]; !twice { // players keep the first
		f.add(&rec)
	}
	return nil
}
