package rosmsg

import (
	"encoding/base64"
	"strconv"

	"github.com/gorosbag/gorosbag/internal/text/jsontext"
)

// AppendJSON appends the value as JSON on one line and returns the extended slice. With
// an error, the value is written up to the damage; with [ErrTrailing], which is about
// the bytes after a message, the message is complete.
//
// A message is an object with its fields in order. Integers are numbers in full, also
// of 64 bits; floats have the digits that identify them as a float64, and NaN and the
// infinities, which JSON lacks, are the strings "NaN", "Infinity" and "-Infinity". A
// time or duration is {"secs":1,"nsecs":2} with the numbers of the payload. uint8[]
// and char[] are base64 strings, as rosbridge writes them: as lists, images would take
// three times the room. Bytes of strings that are not UTF-8 become U+FFFD.
func (v Value) AppendJSON(dst []byte) ([]byte, error) {
	if v.wire == nil {
		return append(dst, "null"...), nil
	}
	w := jsonWriter{cursor: v.cursor(), dst: dst, start: len(dst)}
	err := w.value(v.wire)
	return w.dst, v.finish(&w.cursor, err)
}

// AppendJSON appends a payload as JSON: see [Value.AppendJSON].
func (t *Type) AppendJSON(dst, payload []byte) ([]byte, error) {
	return t.Message(payload).AppendJSON(dst)
}

type jsonWriter struct {
	cursor
	dst   []byte
	start int
}

func (w *jsonWriter) value(x *wire) error {
	//exhaustive:ignore
	switch x.kind {
	case Struct:
		return w.message(x.msg)
	case Array:
		return w.array(x)
	case String:
		b, err := w.bytes()
		if err == nil {
			w.dst = jsontext.AppendString(w.dst, b)
		}
		return err
	}
	b, err := w.take(int(x.size), x)
	if err == nil {
		w.dst = appendJSONScalar(w.dst, x.kind, b)
	}
	return err
}

func (w *jsonWriter) message(t *Type) error {
	if err := w.node(); err != nil {
		return err
	}
	w.dst = append(w.dst, '{')
	for i, f := range t.fields {
		if err := w.room(len(w.dst) - w.start); err != nil {
			return under(err, f.name)
		}
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = jsontext.AppendString(w.dst, []byte(f.name))
		w.dst = append(w.dst, ':')
		if err := w.value(f.wire); err != nil {
			return under(err, f.name)
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

func (w *jsonWriter) array(x *wire) error {
	if err := w.node(); err != nil {
		return err
	}
	n, err := w.count(x)
	if err != nil {
		return err
	}
	if x.raw() {
		w.dst = append(w.dst, '"')
		w.dst = base64.StdEncoding.AppendEncode(w.dst, w.p[w.off:w.off+n])
		w.dst = append(w.dst, '"')
		w.off += n
		return nil
	}
	w.dst = append(w.dst, '[')
	for i := range n {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.value(x.elem); err != nil {
			return underElement(err, i)
		}
	}
	w.dst = append(w.dst, ']')
	return nil
}

func appendJSONScalar(dst []byte, k Kind, b []byte) []byte {
	switch {
	case k == Bool:
		return strconv.AppendBool(dst, b[0] != 0)
	case k.integer():
		return appendInteger(dst, k, b)
	case k == Float32 || k == Float64:
		return jsontext.AppendFloat(dst, float(k, b))
	}
	part := Uint32
	if k == Duration {
		part = Int32
	}
	dst = appendInteger(append(dst, `{"secs":`...), part, b)
	dst = appendInteger(append(dst, `,"nsecs":`...), part, b[4:])
	return append(dst, '}')
}
