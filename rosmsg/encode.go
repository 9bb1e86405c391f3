package rosmsg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/gorosbag/gorosbag/rosmsg/internal/govalue"
)

// Encode returns the payload of a message with the values of v: a map with a value for each name of a
// field, a struct of Go, a *[Message], or a pointer to one of them. What v leaves out is zero, and so is
// all that is nil. A name that the type does not have is an error. Errors are an [EncodeError].
//
// A field of a struct stands for the field of the same name, whatever the case and the underscores of
// both: FrameID is frame_id. The tag `ros:"name"` gives it another name, and `ros:"-"` leaves it out.
//
//	bool                    bool
//	integers                a number of any Go type that is whole and fits
//	float32, float64        a number of any Go type
//	string                  string
//	time                    time.Time, [Stamp], or what has a method Std() time.Time, as rosbag.Time
//	duration                time.Duration, [Span]
//	a message               as v
//	arrays                  a slice or an array of the above; of a fixed length, exactly that
func (t *Type) Encode(v any) ([]byte, error) { return t.Append(nil, v) }

// Append appends what [Type.Encode] returns to dst. With an error it returns dst as it was.
func (t *Type) Append(dst []byte, v any) ([]byte, error) {
	e := encoder{dst: dst, start: len(dst)}
	if err := e.value(&t.wire, reflect.ValueOf(v)); err != nil {
		err.Type = t.name
		return dst, err
	}
	return e.dst, nil
}

// encoder appends values to dst.
type encoder struct {
	dst     []byte
	start   int
	structs govalue.Structs
}

var le = binary.LittleEndian

func (e *encoder) value(w *wire, v reflect.Value) *EncodeError {
	v = govalue.Plain(v)
	if grows := w.least; int64(len(e.dst)-e.start)+grows > maxPayload {
		return &EncodeError{Reason: fmt.Sprintf("a payload of more than %d bytes", maxPayload), err: ErrLimit}
	}
	if !v.IsValid() {
		e.dst = append(e.dst, make([]byte, w.least)...) // lengths and numbers of zero
		return nil
	}
	//exhaustive:ignore
	switch w.kind {
	case Struct:
		return e.message(w.msg, v)
	case Array:
		return e.array(w, v)
	}
	if err := e.scalar(w.kind, v); err != nil {
		return &EncodeError{Reason: w.name + ": " + err.Error()}
	}
	return nil
}

func (e *encoder) scalar(k Kind, v reflect.Value) (err error) {
	//exhaustive:ignore
	switch k {
	case Bool:
		e.dst, err = govalue.AppendBool(e.dst, v)
	case Float32:
		e.dst, err = govalue.AppendFloat32(e.dst, v)
	case Float64:
		e.dst, err = govalue.AppendFloat64(e.dst, v)
	case String:
		e.dst, err = govalue.AppendString(e.dst, v)
	case Time:
		e.dst, err = govalue.AppendTime(e.dst, v)
	case Duration:
		e.dst, err = govalue.AppendDuration(e.dst, v)
	default:
		e.dst, err = govalue.AppendInteger(e.dst, v, int(8*k.size()), !k.unsigned())
	}
	return err
}

func (e *encoder) array(w *wire, v reflect.Value) *EncodeError {
	n := v.Len
	switch k := v.Kind(); {
	case k != reflect.Slice && k != reflect.Array:
		return &EncodeError{Reason: fmt.Sprintf("%s: want a slice, got %s", w.name, v.Type())}
	case w.length >= 0 && n() != w.length:
		return &EncodeError{Reason: fmt.Sprintf("%s: got %d elements", w.name, n())}
	case w.elem.least == 0 && n() > maxArrayLength:
		return &EncodeError{Reason: fmt.Sprintf("%s: %d elements without content, at most %d", w.name, n(),
			maxArrayLength), err: ErrLimit}
	case w.length < 0:
		e.dst = le.AppendUint32(e.dst, uint32(n()))
	}
	if b, ok := v.Interface().([]byte); ok && w.raw() && len(b) <= maxPayload {
		e.dst = append(e.dst, b...)
		return nil
	}
	for i := range n() {
		if err := e.value(w.elem, v.Index(i)); err != nil {
			return err.under("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func (e *encoder) message(t *Type, v reflect.Value) *EncodeError {
	var field func(i int) reflect.Value // the value of field i; not valid if there is none
	switch m, ok := v.Interface().(Message); {
	case ok && m.Type == nil || ok && len(m.Values) != len(m.Type.fields):
		return &EncodeError{Reason: "a Message without a type, or without a value for each of its fields"}
	case ok && m.Type == t:
		field = func(i int) reflect.Value { return reflect.ValueOf(m.Values[i]) }
	case ok:
		values := make(map[string]any, len(m.Values))
		for i, f := range m.Type.fields {
			values[f.name] = m.Values[i]
		}
		return e.message(t, reflect.ValueOf(values))
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		for _, key := range v.MapKeys() {
			if name := key.String(); t.field(name) < 0 {
				return &EncodeError{Reason: fmt.Sprintf("%s has no field %q%s", t.name, clip(name),
					t.wire.fieldsThere()), err: ErrNoField}
			}
		}
		field = func(i int) reflect.Value {
			return v.MapIndex(reflect.ValueOf(t.fields[i].name).Convert(v.Type().Key()))
		}
	case v.Kind() == reflect.Struct:
		places, err := e.structs.Fields(v.Type(), t, t.names)
		if errors.Is(err, govalue.ErrNoField) {
			return &EncodeError{Reason: t.name + ": " + err.Error() + t.wire.fieldsThere(), err: ErrNoField}
		} else if err != nil {
			return &EncodeError{Reason: t.name + ": " + err.Error()}
		}
		field = func(i int) reflect.Value {
			if places[i] < 0 {
				return reflect.Value{}
			}
			return v.Field(places[i])
		}
	default:
		return &EncodeError{Reason: fmt.Sprintf("%s: want a map or a struct, got %s", t.name, v.Type())}
	}
	for i, f := range t.fields {
		if err := e.value(f.wire, field(i)); err != nil {
			return err.under(f.name)
		}
	}
	return nil
}

func (t *Type) names() (all []string) {
	for _, f := range t.fields {
		all = append(all, f.name)
	}
	return all
}
