package rosmsg

import (
	"encoding/binary"
	"fmt"
	"io"
)

// cursor reads a payload.
type cursor struct {
	p      []byte
	off    int
	nodes  int    // messages and arrays that the payload may still unfold into
	stamps *[]int // what skip appends the offsets of stamps to; nil if nobody asks for them
}

// node counts a message or an array. It returns an error if that is one too many.
func (c *cursor) node() error {
	if c.nodes--; c.nodes < 0 {
		return &DecodeError{
			Offset: c.off,
			Reason: fmt.Sprintf("%d bytes unfold into too many messages and arrays", len(c.p)), err: ErrLimit,
		}
	}
	return nil
}

// room returns an error if more was printed than the payload allows.
func (c *cursor) room(printed int) error {
	if printed > freeOutput+outputPerByte*len(c.p) {
		return &DecodeError{
			Offset: c.off, Reason: fmt.Sprintf("%d bytes print as too many", len(c.p)),
			err: ErrLimit,
		}
	}
	return nil
}

// value makes the value at the cursor, after a check that all is there that its methods need.
func (c *cursor) value(w *wire, root *Type) (Value, error) {
	v := Value{wire: w, p: c.p, off: c.off, root: root}
	var err error
	//exhaustive:ignore
	switch w.kind {
	case Struct:
	case Array:
		_, err = c.count(w)
	case String:
		_, err = c.bytes()
	default:
		_, err = c.take(int(w.size), w)
	}
	if err != nil {
		return Value{}, root.blame(err)
	}
	return v, nil
}

// take returns the next n bytes.
func (c *cursor) take(n int, w *wire) ([]byte, error) {
	if left := len(c.p) - c.off; n > left {
		return nil, c.short(int64(n), w.name)
	}
	b := c.p[c.off : c.off+n : c.off+n]
	c.off += n
	return b, nil
}

func (c *cursor) short(n int64, what string) error {
	return &DecodeError{
		Offset: c.off,
		Reason: fmt.Sprintf("%s of %d bytes, %d left", what, n, len(c.p)-c.off), err: io.ErrUnexpectedEOF,
	}
}

// length reads a length word.
func (c *cursor) length() (uint32, error) {
	if len(c.p)-c.off < 4 {
		return 0, c.short(4, "length")
	}
	n := binary.LittleEndian.Uint32(c.p[c.off:])
	c.off += 4
	return n, nil
}

// bytes reads a string's length and its bytes.
func (c *cursor) bytes() ([]byte, error) {
	n, err := c.length()
	if err != nil {
		return nil, err
	}
	if left := int64(len(c.p) - c.off); int64(n) > left {
		return nil, &DecodeError{
			Offset: c.off - 4,
			Reason: fmt.Sprintf("string of %d bytes, %d left", n, left), err: io.ErrUnexpectedEOF,
		}
	}
	b := c.p[c.off : c.off+int(n) : c.off+int(n)]
	c.off += int(n)
	return b, nil
}

// count returns an array's length, which it reads unless it is fixed, and checks that the
// rest of the payload has room for as many elements.
func (c *cursor) count(w *wire) (int, error) {
	n := int64(w.length)
	if w.length < 0 {
		word, err := c.length()
		if err != nil {
			return 0, err
		}
		n = int64(word)
	}
	if w.elem.least == 0 {
		if n > maxArrayLength {
			return 0, &DecodeError{
				Offset: c.off,
				Reason: fmt.Sprintf("%s of %d elements without content, at most %d", w.name, n,
					maxArrayLength), err: ErrLimit,
			}
		}
		return int(n), nil
	}
	if left := int64(len(c.p) - c.off); n*w.elem.least > left { // below 2^32 * 2^31
		return 0, &DecodeError{
			Offset: c.off, err: io.ErrUnexpectedEOF,
			Reason: fmt.Sprintf("%s of %d elements of at least %d bytes, %d bytes left", w.name, n,
				w.elem.least, left),
		}
	}
	return int(n), nil
}

// skip moves past a value, and notes where the stamps in it are. It does not nest deeper than
// the definition.
func (c *cursor) skip(w *wire) error {
	if w.size >= 0 && !c.wantsStamps(w) {
		if w.size <= int64(len(c.p)-c.off) {
			c.off += int(w.size)
			return nil
		}
		if w.kind != Struct { // the runs of a message find the field that is short
			return c.short(w.size, w.name)
		}
	}
	//exhaustive:ignore
	switch w.kind {
	case String:
		_, err := c.bytes()
		return err
	case Array:
		return c.skipElements(w)
	default:
		runs := w.msg.runs
		for i := range runs {
			r := &runs[i]
			if r.fixed > int64(len(c.p)-c.off) {
				return c.shortRun(w.msg, r)
			}
			if r.stamp >= 0 && c.stamps != nil {
				c.noteStamp(r)
			}
			c.off += int(r.fixed)
			if r.next == nil {
				break
			}
			if err := c.skip(r.next.wire); err != nil {
				return under(err, r.next.name)
			}
		}
	}
	return nil
}

// wantsStamps reports whether a value has stamps that have to be noted.
func (c *cursor) wantsStamps(w *wire) bool { return c.stamps != nil && w.stamped }

// noteStamp notes the stamp of a run that begins at the cursor. Inlined, append would enlarge
// the frame of skip, which calls itself for each message.
//
//go:noinline
func (c *cursor) noteStamp(r *run) { *c.stamps = append(*c.stamps, c.off+int(r.stamp)) }

// skipElements moves past an array.
func (c *cursor) skipElements(w *wire) error {
	n, err := c.count(w)
	if err != nil {
		return err
	}
	if w.elem.size >= 0 && !c.wantsStamps(w.elem) {
		c.off += n * int(w.elem.size) // count saw that they are there
		return nil
	}
	for i := range n { // count saw that there is room for each
		if err := c.skip(w.elem); err != nil {
			return underElement(err, i)
		}
	}
	return nil
}

// shortRun makes the error of a payload that ends in the fields of fixed size of a run: it
// finds the field.
func (c *cursor) shortRun(t *Type, r *run) error {
	for _, f := range t.fields[r.from:] {
		if err := c.skip(f.wire); err != nil {
			return under(err, f.name)
		}
	}
	return c.short(r.fixed, t.name) // not reached: the fields' sizes add up to the run's
}

// end checks that the message ends where the payload does.
func (c *cursor) end(t *Type) error {
	if left := len(c.p) - c.off; left > 0 {
		return &DecodeError{
			Type: t.name, Offset: c.off,
			Reason: fmt.Sprintf("%d bytes after the end of the message", left), err: ErrTrailing,
		}
	}
	return nil
}
