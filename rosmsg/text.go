package rosmsg

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/text/pytext"
)

// TextOptions leave out what is long. They are the options of rostopic echo, which
// looks for that inside of a message only where the package of its type is installed.
type TextOptions struct {
	NoArrays  bool // --noarr: only the length of arrays
	NoStrings bool // --nostr: only the length of strings, except in arrays of messages
}

// AppendText appends the value as rostopic echo prints it, byte for byte, without
// the line of dashes that follows there, and returns the extended slice. Errors are
// those of [Value.AppendJSON].
//
// What is peculiar about it is kept. The value of a time or of a message starts on a
// new line; char[], and uint8[] that is not inside a message, are written as Python
// writes bytes; a fixed array that is left out is said to be of "type: float64[36";
// fields with a name that Python reserves have a "_" after it.
func (v Value) AppendText(dst []byte, o TextOptions) ([]byte, error) {
	if v.wire == nil {
		return dst, nil
	}
	w := textWriter{cursor: v.cursor(), dst: dst, start: len(dst), o: o}
	err := w.value(v.wire, 0, v.wire.kind == Struct && o != (TextOptions{}))
	return w.dst, v.finish(&w.cursor, err)
}

// AppendText appends a payload as text: see [Value.AppendText].
func (t *Type) AppendText(dst, payload []byte, o TextOptions) ([]byte, error) {
	return t.Message(payload).AppendText(dst, o)
}

type textWriter struct {
	cursor
	dst   []byte
	start int
	o     TextOptions
}

func (w *textWriter) indent(n int) { w.dst = append(w.dst, strings.Repeat(" ", n)...) }

// value writes one value. With shorten the options apply to the fields of a message.
func (w *textWriter) value(x *wire, indent int, shorten bool) error {
	//exhaustive:ignore
	switch x.kind {
	case Struct:
		return w.message(x.msg, indent, shorten)
	case Array:
		return w.array(x, indent)
	case String:
		b, err := w.bytes()
		if err == nil {
			w.dst = pytext.AppendString(w.dst, b)
		}
		return err
	}
	b, err := w.take(int(x.size), x)
	if err != nil {
		return err
	}
	if x.kind != Time && x.kind != Duration {
		w.dst = appendTextScalar(w.dst, x.kind, b)
		return nil
	}
	secs, nsecs := timeParts(x, b)
	w.dst = append(w.dst, '\n')
	w.indent(indent)
	w.dst = strconv.AppendInt(append(w.dst, "secs: "...), secs, 10)
	w.dst = append(w.dst, '\n')
	w.indent(indent)
	w.dst = fmt.Appendf(w.dst, "nsecs: %9d", nsecs)
	return nil
}

func appendTextScalar(dst []byte, k Kind, b []byte) []byte {
	switch {
	case k == Bool && b[0] != 0:
		return append(dst, "True"...)
	case k == Bool:
		return append(dst, "False"...)
	case k == Float32 || k == Float64:
		return pytext.AppendFloat(dst, float(k, b))
	default:
		return appendInteger(dst, k, b)
	}
}

func (w *textWriter) message(t *Type, indent int, shorten bool) error {
	if err := w.node(); err != nil {
		return err
	}
	for i, f := range t.fields {
		if err := w.room(len(w.dst) - w.start); err != nil {
			return under(err, f.name)
		}
		if i > 0 || indent > 0 {
			w.dst = append(w.dst, '\n')
		}
		w.indent(indent)
		w.dst = append(append(w.dst, f.python...), ": "...)
		if err := w.field(f.wire, indent+2, shorten); err != nil {
			return under(err, f.name)
		}
	}
	if len(t.fields) == 0 && indent > 0 {
		w.dst = append(w.dst, '\n')
	}
	return nil
}

// field writes the value of a field or, if the options leave it out, its type and length.
func (w *textWriter) field(x *wire, indent int, shorten bool) error {
	switch {
	case !shorten:
	case x.kind == Array && (w.o.NoArrays || w.o.NoStrings && x.name == "string[]"):
		if err := w.node(); err != nil {
			return err
		}
		at := w.cursor
		n, err := at.count(x)
		if err == nil {
			err = w.skip(x)
		}
		if err == nil {
			w.dst = fmt.Appendf(w.dst, `"<array type: %s, length: %d>"`, strings.TrimRight(x.name, "[]"), n)
		}
		return err
	case x.kind == String && w.o.NoStrings:
		b, err := w.bytes()
		if err == nil {
			w.dst = fmt.Appendf(w.dst, `"<string length: %d>"`, utf8.RuneCount(pytext.AppendValid(nil, b)))
		}
		return err
	}
	if x.kind == Array && x.raw() && x.elem.name == "uint8" {
		return w.list(x)
	}
	return w.value(x, indent, shorten)
}

func (w *textWriter) array(x *wire, indent int) error {
	if !x.raw() {
		return w.items(x, indent)
	}
	n, err := w.count(x)
	if err == nil {
		w.dst = pytext.AppendBytes(w.dst, w.p[w.off:w.off+n])
		w.off += n
	}
	return err
}

// list writes numbers on one line.
func (w *textWriter) list(x *wire) error {
	n, err := w.count(x)
	if err != nil {
		return err
	}
	size := int(x.elem.size)
	w.dst = append(w.dst, '[')
	for i := range n {
		if i > 0 {
			w.dst = append(w.dst, ", "...)
		}
		w.dst = appendTextScalar(w.dst, x.elem.kind, w.p[w.off+i*size:]) // count saw that it is there
	}
	w.dst = append(w.dst, ']')
	w.off += n * size
	return nil
}

// items writes an array of any kind but bytes.
func (w *textWriter) items(x *wire, indent int) error {
	if err := w.node(); err != nil {
		return err
	}
	k := x.elem.kind
	if k != Struct && k != String && k != Time && k != Duration {
		return w.list(x)
	}
	n, err := w.count(x)
	if err != nil {
		return err
	}
	if n == 0 {
		w.dst = append(w.dst, "[]"...)
	}
	for i := range n {
		w.dst = append(w.dst, '\n')
		w.indent(indent)
		if k == String {
			b, err := w.bytes()
			if err != nil {
				return underElement(err, i)
			}
			w.dst = pytext.AppendItem(w.dst, b, indent)
			continue
		}
		w.dst = append(w.dst, "- "...)
		if err := w.value(x.elem, indent+2, false); err != nil {
			return underElement(err, i)
		}
	}
	return nil
}
