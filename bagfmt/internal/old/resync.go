package old

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	maxHeader = 1 << 10 // longest header of a message that Resync looks for
	minHeader = 40      // of one in version 1.2: what it needs takes more
	// searchFactor bounds the bytes looked at to that many times the bytes searched, so
	// that a file full of candidates takes linear time, too.
	searchFactor = 32
	firstBudget  = 64 << 10
	errorCost    = 2 << 10 // an error takes memory, as if so many bytes had been looked at

	// messageOpField is the one field that every message header of version 1.2 has byte
	// for byte.
	messageOpField = "\x04\x00\x00\x00op=\x02"
)

// Resync passes over what is not the start of a message, at least one byte, for a reader
// that lost its place: the length of a message before was wrong. It returns io.EOF if no
// message follows.
//
// It recognizes a message of version 1.2 by its whole header, one of 1.1 by the three
// lines of a known connection. In other versions, too little stands before a message to
// distinguish its start from the inside of another message.
func (f *Format) Resync(s *wire.Stream) error {
	if f.Layout != wire.LayoutV12 && f.Layout != wire.LayoutV11 {
		return io.EOF
	}
	var first [1 << 8]bool // bytes that start a known topic
	for _, c := range f.Conns {
		if c.Topic != "" {
			first[c.Topic[0]] = true
		}
	}
	budget := firstBudget
	for from := 1; ; from = 0 {
		b, err := s.R.Peek(max(s.R.Buffered(), 2*maxHeader))
		if err != nil && !wire.IsEnd(err) {
			return wire.ReadError(s.Off, err)
		}
		last := len(b)
		if err == nil {
			last -= maxHeader // what starts after it may be whole only with more bytes
		}
		at, found := min(from, last), false
		for ; at < last; at++ {
			budget += searchFactor
			if f.Layout == wire.LayoutV11 && !first[b[at]] || budget < 0 {
				continue
			}
			var cost int
			cost, found = f.messageStarts(b[at:min(len(b), at+maxHeader)])
			if budget -= cost; found {
				break
			}
		}
		if err := s.Skip(int64(at), s.Off, 0); err != nil || found {
			return err
		}
		if err != nil {
			return io.EOF
		}
	}
}

// messageStarts reports whether b starts with a message, and how many bytes it looked
// at to find out.
func (f *Format) messageStarts(b []byte) (cost int, ok bool) {
	if f.Layout == wire.LayoutV12 {
		return f.headerStarts(b)
	}
	// A topic, then an md5sum.
	n := bytes.IndexByte(b, '\n')
	if n < 0 {
		return len(b), false
	}
	md5 := b[n+1:]
	if end := bytes.IndexByte(md5[:min(len(md5), wire.MD5Digits+1)], '\n'); end < 0 ||
		!wire.IsMD5(md5[:end]) {
		return n, false
	}
	if _, err := f.probe.cutLines(b, f.Layout); err != nil {
		return n + errorCost, false
	}
	_, f.key, ok = f.Find(&f.probe, f.key)
	return n, ok
}

// headerStarts is messageStarts for version 1.2.
func (f *Format) headerStarts(b []byte) (cost int, ok bool) {
	if len(b) < minHeader {
		return 0, false
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n < minHeader || n+wire.MinRecordBytes > int64(len(b)) {
		return 0, false
	}
	if !bytes.Contains(b[4:4+n], []byte(messageOpField)) {
		return int(n), false
	}
	if _, err := f.probe.cutV12(b); err != nil {
		return int(n) + errorCost, false
	}
	return int(n), f.probe.Op == rosbag.OpMessage
}
