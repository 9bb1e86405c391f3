package xmlrpc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
)

// skippedMark stands before the length of a text that ReadBody has skipped. No XML document can
// contain the mark.
const skippedMark = '\x00'

// Skipped is the value of a text that ReadBody has skipped because it is longer than
// Limits.TextBytes.
type Skipped struct {
	Bytes int64 // of the text, as it was written
}

// String implements fmt.Stringer.
func (s Skipped) String() string { return strconv.FormatInt(s.Bytes, 10) + " bytes, not read" }

// MarshalText implements encoding.TextMarshaler.
func (s Skipped) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

const (
	// bytes that ReadBody reads at once: most messages have some hundred bytes.
	firstRead = 4 << 10
	// bytes that ReadBody reads at once of a message that has at least this length.
	laterReads = 64 << 10
	// ReadBody reads at most skipFactor * Limits.BodyBytes, to find the end of a skipped text.
	skipFactor = 16
)

// ReadBody reads the body of a message to parse, into the memory of dst or more. With Limits.TextBytes it
// leaves out longer texts, such as names, which then use no memory: ParseResponse returns a Skipped in
// their place. If the remaining body is longer than Limits.BodyBytes, the error matches ErrLimit. skipped
// is the number of texts that were left out. See ADR 0076.
func ReadBody(dst []byte, r io.Reader, l Limits) (body []byte, skipped int, err error) {
	l = l.withDefaults()
	c := clipper{body: dst[:0:cap(dst)], most: l.TextBytes}
	buf := make([]byte, firstRead)
	for total := int64(0); ; {
		n, err := fill(r, buf)
		c.write(buf[:n])
		if total += int64(n); total >= laterReads && len(buf) == firstRead {
			buf = make([]byte, laterReads)
		}
		switch {
		case int64(len(c.body)) > l.BodyBytes, total > skipFactor*l.BodyBytes:
			return c.body, c.skipped, &LimitError{"body", l.BodyBytes}
		case errors.Is(err, io.EOF):
			c.end()
			return c.body, c.skipped, nil
		case err != nil:
			return c.body, c.skipped, err
		}
	}
}

// fill is io.ReadFull, except that it returns the error of the reader: io.EOF at the end of a
// message, and io.ErrUnexpectedEOF where the connection ends before the end of the message.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		n += more
	}
	return n, err
}

// clipper copies a message without its long texts. It looks for long texts only in blocks without a
// tag, so a text that is a little longer than most may be copied.
type clipper struct {
	body    []byte
	most    int64 // most bytes of a text; zero means no limit
	text    int   // index in body of the text after the last tag; zero while that tag has no end
	skipped int   // texts

	skipping bool
	left     int64 // bytes of the text that is skipped
}

func (c *clipper) write(part []byte) {
	if c.most == 0 {
		c.add(part)
		return
	}
	for block := range slices.Chunk(part, max(int(c.most/2), 1)) {
		c.writeBlock(block)
	}
}

func (c *clipper) writeBlock(block []byte) {
	if c.skipping {
		n := bytes.IndexByte(block, '<')
		if n < 0 {
			c.left += int64(len(block))
			return
		}
		c.left += int64(n)
		c.end()
		block = block[n:]
	}
	added := len(c.body)
	last := bytes.LastIndexByte(block, '<')
	if last >= 0 {
		added, c.text = added+last, 0
	}
	c.add(block)
	// Only the added bytes are searched: a tag without an end can be as long as the body.
	if end := bytes.IndexByte(c.body[added:], '>'); c.text == 0 && end >= 0 {
		c.text = added + end + 1
	}
	if last < 0 && c.text > 0 && int64(len(c.body)-c.text) > c.most {
		c.skipping, c.left = true, int64(len(c.body)-c.text)
		c.body = c.body[:c.text]
		c.skipped++
	}
}

// add appends to the body. The memory of the body doubles: growing by append costs more than twice
// as much for large slices.
func (c *clipper) add(b []byte) {
	if cap(c.body)-len(c.body) < len(b) {
		c.body = slices.Grow(c.body, max(len(c.body), len(b)))
	}
	c.body = append(c.body, b...)
}

// end writes the mark of the skipped text, if there is one.
func (c *clipper) end() {
	if c.skipping {
		c.body = strconv.AppendInt(append(c.body, skippedMark), c.left, 10)
		c.skipping = false
	}
}
