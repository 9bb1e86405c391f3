package rosmsg

import (
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/pytext"
)

// AppendCSVHeader appends the line that names the columns of AppendCSV, as rostopic
// echo -p does: "%time,field.header.seq,…", without a line break. Arrays have a column
// for each element of this value.
func (v Value) AppendCSVHeader(dst []byte, o TextOptions) ([]byte, error) {
	w := csvWriter{
		cursor: v.cursor(), dst: append(dst, "%time,"...), start: len(dst), o: o, names: true,
		name: []byte("field"),
	}
	return w.line(v)
}

// AppendCSV appends the value as rostopic echo -p prints it, byte for byte, without
// the line break: the time of the message in nanoseconds, then the fields separated by
// commas. Strings are written as they are, commas and line breaks too; times are
// nanoseconds; uint8[] and char[] are left out, as Python 3 does. The options leave
// arrays and strings out altogether. Errors are those of [Value.AppendJSON].
func (v Value) AppendCSV(dst []byte, ns int64, o TextOptions) ([]byte, error) {
	start := len(dst)
	dst = append(strconv.AppendInt(dst, ns, 10), ',')
	w := csvWriter{cursor: v.cursor(), dst: dst, start: start, o: o}
	return w.line(v)
}

// csvWriter writes values, or the names of their columns.
type csvWriter struct {
	cursor
	dst   []byte
	start int
	o     TextOptions
	names bool
	name  []byte // of the value that is written
	cells int
}

func (w *csvWriter) line(v Value) ([]byte, error) {
	if v.wire == nil {
		return w.dst, nil
	}
	err := w.value(v.wire)
	return w.dst, v.finish(&w.cursor, err)
}

// cell begins a cell; in a header it is the name.
func (w *csvWriter) cell() {
	if w.cells++; w.cells > 1 {
		w.dst = append(w.dst, ',')
	}
	if w.names {
		w.dst = append(w.dst, w.name...)
	}
}

func (w *csvWriter) value(x *wire) error {
	if err := w.room(len(w.dst) - w.start); err != nil {
		return err
	}
	//exhaustive:ignore
	switch x.kind {
	case Struct:
		return w.message(x.msg)
	case Array:
		return w.array(x)
	case String:
		b, err := w.bytes()
		if err != nil {
			return err
		}
		if w.cell(); !w.names {
			w.dst = pytext.AppendValid(w.dst, b)
		}
		return nil
	}
	b, err := w.take(int(x.size), x)
	if err != nil {
		return err
	}
	if w.cell(); !w.names {
		w.dst = appendCSVScalar(w.dst, x, b)
	}
	return nil
}

func appendCSVScalar(dst []byte, x *wire, b []byte) []byte {
	//exhaustive:ignore
	switch x.kind {
	case Bool:
		if b[0] != 0 {
			return append(dst, '1')
		}
		return append(dst, '0')
	case Time, Duration:
		secs, nsecs := timeParts(x, b)
		return strconv.AppendInt(dst, secs*1e9+nsecs, 10)
	default:
		return appendTextScalar(dst, x.kind, b)
	}
}

func (w *csvWriter) message(t *Type) error {
	if err := w.node(); err != nil {
		return err
	}
	length := len(w.name)
	for _, f := range t.fields {
		if w.o.NoArrays && f.wire.kind == Array || w.o.NoStrings && strings.Contains(f.wire.name, "string") {
			if err := w.skip(f.wire); err != nil {
				return under(err, f.name)
			}
			continue
		}
		if w.names {
			w.name = append(append(w.name, '.'), f.python...)
		}
		err := w.value(f.wire)
		w.name = w.name[:length]
		if err != nil {
			return under(err, f.name)
		}
	}
	return nil
}

func (w *csvWriter) array(x *wire) error {
	if err := w.node(); err != nil {
		return err
	}
	n, err := w.count(x)
	if err != nil {
		return err
	}
	if x.raw() {
		w.off += n
		return nil
	}
	length := len(w.name)
	for i := range n {
		if w.names {
			w.name = strconv.AppendInt(w.name, int64(i), 10)
		}
		err := w.value(x.elem)
		w.name = w.name[:length]
		if err != nil {
			return underElement(err, i)
		}
	}
	return nil
}
