package rosmsg

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Stamp is a time: seconds since 1970, and nanoseconds as they are in the payload,
// which may be more than a second.
type Stamp struct{ Secs, Nsecs uint32 }

// Std returns the time as a time.Time in UTC.
func (s Stamp) Std() time.Time { return time.Unix(int64(s.Secs), int64(s.Nsecs)).UTC() }

// Seconds returns the time in seconds since 1970, rounded to a float64.
func (s Stamp) Seconds() float64 { return float64(s.Secs) + float64(s.Nsecs)/1e9 }

// Span is a duration: seconds and nanoseconds as they are in the payload.
type Span struct{ Secs, Nsecs int32 }

// Std returns the duration as a time.Duration.
func (s Span) Std() time.Duration { return time.Duration(s.Secs)*time.Second + time.Duration(s.Nsecs) }

// Seconds returns the duration in seconds, rounded to a float64.
func (s Span) Seconds() float64 { return float64(s.Secs) + float64(s.Nsecs)/1e9 }

// Message is a decoded message: a value for each field of its type, in their order.
//
//	bool                    bool
//	int8, byte              int8
//	uint8, char             uint8
//	int16 … uint64          int16 … uint64
//	float32, float64        float32, float64
//	string                  string (as it is: valid UTF-8 or not)
//	time, duration          Stamp, Span
//	a message               *Message
//	uint8[], char[]         []byte
//	other arrays            a slice of the above, as []float64 or []*Message
type Message struct {
	Type   *Type
	Values []any
}

// Get returns the value of a field, or nil if the type has no such field. It takes no path:
// Get("linear").(*Message).Get("x").
func (m *Message) Get(name string) any {
	if i := m.Type.field(name); i >= 0 {
		return m.Values[i]
	}
	return nil
}

// Set sets a field, not a path, to a value, which [Type.Encode] checks. The error is a [FieldError].
func (m *Message) Set(name string, value any) error {
	i := m.Type.field(name)
	if i < 0 {
		return &FieldError{
			Type: m.Type.name, Path: name,
			Reason: fmt.Sprintf("%s has no field %q%s", m.Type.name, clip(name), m.Type.wire.fieldsThere()),
		}
	}
	m.Values[i] = value
	return nil
}

// Decode decodes a payload. The message is a copy: it keeps nothing of the payload.
// Errors are a [DecodeError]; with one that is [ErrTrailing] comes the whole message.
func (t *Type) Decode(payload []byte) (*Message, error) {
	v, err := t.Message(payload).Decode()
	m, _ := v.(*Message)
	return m, err
}

// Decode returns the value as one of the types that [Message] lists, copied.
func (v Value) Decode() (any, error) {
	if v.wire == nil {
		return nil, nil
	}
	c := v.cursor()
	x, err := c.decode(v.wire)
	return x, v.finish(&c, err)
}

func (c *cursor) decode(w *wire) (any, error) {
	//exhaustive:ignore
	switch w.kind {
	case Struct:
		m, err := c.message(w.msg)
		if err != nil {
			return nil, err
		}
		return m, nil
	case Array:
		return c.array(w)
	case String:
		b, err := c.bytes()
		if err != nil {
			return nil, err
		}
		return string(b), nil
	}
	b, err := c.take(int(w.size), w)
	if err != nil {
		return nil, err
	}
	return scalar(w.kind, b), nil
}

func scalar(k Kind, b []byte) any {
	switch k {
	case Bool:
		return b[0] != 0
	case Int8:
		return int8(b[0])
	case Uint8:
		return b[0]
	case Int16:
		return int16(binary.LittleEndian.Uint16(b))
	case Uint16:
		return binary.LittleEndian.Uint16(b)
	case Int32:
		return int32(binary.LittleEndian.Uint32(b))
	case Uint32:
		return binary.LittleEndian.Uint32(b)
	case Int64:
		return int64(binary.LittleEndian.Uint64(b))
	case Uint64:
		return binary.LittleEndian.Uint64(b)
	case Float32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case Time:
		return stamp(b)
	case Duration:
		return span(b)
	case String, Array, Struct:
	}
	panic("rosmsg: no scalar: " + strconv.Itoa(int(k)))
}

func stamp(b []byte) Stamp {
	return Stamp{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])}
}

func span(b []byte) Span {
	return Span{int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:]))}
}

func (c *cursor) message(t *Type) (*Message, error) {
	if err := c.node(); err != nil {
		return nil, err
	}
	m := &Message{Type: t, Values: make([]any, len(t.fields))}
	for i, f := range t.fields {
		x, err := c.decode(f.wire)
		if err != nil {
			return nil, under(err, f.name)
		}
		m.Values[i] = x
	}
	return m, nil
}

func (c *cursor) array(w *wire) (any, error) {
	if err := c.node(); err != nil {
		return nil, err
	}
	n, err := c.count(w)
	if err != nil {
		return nil, err
	}
	//exhaustive:ignore
	switch w.elem.kind {
	case Struct:
		return each(c, n, func() (*Message, error) { return c.message(w.elem.msg) })
	case String:
		return each(c, n, func() (string, error) {
			b, err := c.bytes()
			return string(b), err
		})
	}
	b := c.p[c.off : c.off+n*int(w.elem.size)] // count saw that they are there
	c.off += len(b)
	return scalars(w.elem.kind, b, n), nil
}

// each decodes n elements. Until the cursor has counted them, it makes no room for more than
// the payload may unfold into.
func each[T any](c *cursor, n int, decode func() (T, error)) ([]T, error) {
	all := make([]T, 0, min(n, c.nodes+1))
	for i := range n {
		x, err := decode()
		if err != nil {
			return nil, underElement(err, i)
		}
		all = append(all, x)
	}
	return all, nil
}

func scalars(k Kind, b []byte, n int) any {
	switch k {
	case Bool:
		return fill(n, func(i int) bool { return b[i] != 0 })
	case Int8:
		return fill(n, func(i int) int8 { return int8(b[i]) })
	case Uint8:
		return append(make([]byte, 0, n), b...)
	case Int16:
		return fill(n, func(i int) int16 { return int16(le.Uint16(b[2*i:])) })
	case Uint16:
		return fill(n, func(i int) uint16 { return le.Uint16(b[2*i:]) })
	case Int32:
		return fill(n, func(i int) int32 { return int32(le.Uint32(b[4*i:])) })
	case Uint32:
		return fill(n, func(i int) uint32 { return le.Uint32(b[4*i:]) })
	case Int64:
		return fill(n, func(i int) int64 { return int64(le.Uint64(b[8*i:])) })
	case Uint64:
		return fill(n, func(i int) uint64 { return le.Uint64(b[8*i:]) })
	case Float32:
		return fill(n, func(i int) float32 { return math.Float32frombits(le.Uint32(b[4*i:])) })
	case Float64:
		return fill(n, func(i int) float64 { return math.Float64frombits(le.Uint64(b[8*i:])) })
	case Time:
		return fill(n, func(i int) Stamp { return stamp(b[8*i:]) })
	case Duration:
		return fill(n, func(i int) Span { return span(b[8*i:]) })
	case String, Array, Struct:
	}
	panic("rosmsg: no scalar: " + strconv.Itoa(int(k)))
}

func fill[T any](n int, at func(int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = at(i)
	}
	return all
}
