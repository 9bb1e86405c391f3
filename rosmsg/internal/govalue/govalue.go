// Package govalue says what values of Go mean as values of ROS: numbers, times and the fields of structs.
//
// It is pure, and knows neither definitions nor payloads. Its caller is rosmsg, which encodes with it.
package govalue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
)

// maxPointers bounds the pointers and interfaces between a value and what holds it: they may be a circle.
const maxPointers = 16

// Plain follows pointers and interfaces. The result is not valid for nil, also for a nil map or slice.
func Plain(v reflect.Value) reflect.Value {
	for range maxPointers {
		//exhaustive:ignore
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			v = v.Elem() // not valid for nil
		case reflect.Map, reflect.Slice:
			if v.IsNil() {
				return reflect.Value{}
			}
			return v
		default:
			return v
		}
	}
	return v
}

var le = binary.LittleEndian

// AppendInteger appends a whole number that fits an integer of so many bits.
func AppendInteger(dst []byte, v reflect.Value, bits int, signed bool) ([]byte, error) {
	n, err := integer(v, bits, signed)
	return append(dst, le.AppendUint64(nil, n)[:bits/8]...), err
}

// integer returns the bits, with the sign of a negative number.
func integer(v reflect.Value, bits int, signed bool) (uint64, error) {
	var negative bool
	var n uint64
	switch {
	case v.CanInt():
		negative, n = v.Int() < 0, uint64(v.Int())
	case v.CanUint():
		n = v.Uint()
	case v.CanFloat():
		f := v.Float()
		if f != math.Trunc(f) || f < -1<<63 || f >= 1<<64 { // also NaN
			return 0, fmt.Errorf("%v is no whole number of 64 bits", f)
		}
		if negative = f < 0; negative {
			n = uint64(int64(f))
		} else {
			n = uint64(f)
		}
	default:
		return 0, mismatch(v, "a number")
	}
	fits := !negative && n <= math.MaxUint64>>(64-bits)
	if signed {
		top := int64(n) >> (bits - 1) // nothing but copies of the sign
		fits = negative && top == -1 || !negative && n <= math.MaxInt64 && top == 0
	}
	if !fits {
		return 0, fmt.Errorf("%v does not fit", v)
	}
	return n, nil
}

// AppendFloat32 appends the float32 that is nearest to a number.
func AppendFloat32(dst []byte, v reflect.Value) ([]byte, error) {
	if f, ok := v.Interface().(float32); ok {
		return le.AppendUint32(dst, math.Float32bits(f)), nil // as a float64, some NaN would be another one
	}
	f, err := float(v)
	short := float32(f)
	if err == nil && math.IsInf(float64(short), 0) && !math.IsInf(f, 0) {
		err = fmt.Errorf("%v does not fit", f)
	}
	return le.AppendUint32(dst, math.Float32bits(short)), err
}

// AppendFloat64 appends a number.
func AppendFloat64(dst []byte, v reflect.Value) ([]byte, error) {
	f, err := float(v)
	return le.AppendUint64(dst, math.Float64bits(f)), err
}

func float(v reflect.Value) (float64, error) {
	switch {
	case v.CanFloat():
		return v.Float(), nil
	case v.CanInt():
		return float64(v.Int()), nil
	case v.CanUint():
		return float64(v.Uint()), nil
	}
	return 0, mismatch(v, "a number")
}

// AppendBool appends a bool.
func AppendBool(dst []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() != reflect.Bool {
		return dst, mismatch(v, "a bool")
	}
	if v.Bool() {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

// AppendString appends a string after its length.
func AppendString(dst []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() != reflect.String {
		return dst, mismatch(v, "a string")
	}
	return append(le.AppendUint32(dst, uint32(v.Len())), v.String()...), nil
}

// stamp and span are what Convert makes of the types of rosmsg with these fields.
type (
	stamp struct{ Secs, Nsecs uint32 }
	span  struct{ Secs, Nsecs int32 }
)

// AppendTime appends the seconds since 1970 and the nanoseconds of a time.Time, of what has a method Std
// that returns one, as rosbag.Time, or of a struct of Secs and Nsecs, which stay as they are. The zero
// time.Time becomes zero.
func AppendTime(dst []byte, v reflect.Value) ([]byte, error) {
	if as := reflect.TypeFor[stamp](); v.CanConvert(as) {
		s := v.Convert(as).Interface().(stamp)
		return le.AppendUint32(le.AppendUint32(dst, s.Secs), s.Nsecs), nil
	}
	var t time.Time
	switch x := v.Interface().(type) {
	case time.Time:
		t = x
	case interface{ Std() time.Time }:
		t = x.Std()
	default:
		return dst, mismatch(v, "a time")
	}
	secs := t.Unix()
	if t.IsZero() {
		secs = 0
	}
	if secs < 0 || secs > math.MaxUint32 {
		return dst, fmt.Errorf("%v is not between 1970 and 2106", t)
	}
	return le.AppendUint32(le.AppendUint32(dst, uint32(secs)), uint32(t.Nanosecond())), nil
}

// AppendDuration appends the seconds, rounded down, and the nanoseconds after them of a time.Duration, or
// a struct of Secs and Nsecs as it is.
func AppendDuration(dst []byte, v reflect.Value) ([]byte, error) {
	var s span
	if as := reflect.TypeFor[span](); v.CanConvert(as) {
		s = v.Convert(as).Interface().(span)
	} else {
		d, ok := v.Interface().(time.Duration)
		if !ok {
			return dst, mismatch(v, "a time.Duration")
		}
		secs, nsecs := d/time.Second, d%time.Second
		if nsecs < 0 {
			secs, nsecs = secs-1, nsecs+time.Second
		}
		if secs < math.MinInt32 || secs > math.MaxInt32 {
			return dst, fmt.Errorf("%v does not fit", d)
		}
		s = span{int32(secs), int32(nsecs)}
	}
	return le.AppendUint32(le.AppendUint32(dst, uint32(s.Secs)), uint32(s.Nsecs)), nil
}

// mismatch says that a value is of a type that does not do.
func mismatch(v reflect.Value, want string) error {
	return fmt.Errorf("want %s, got %s", want, v.Type())
}

// Structs remembers which fields of Go's structs stand for those of messages. The zero value is empty.
type Structs struct{ known map[structs][]int }

type structs struct {
	from reflect.Type
	to   any
}

// Fields returns what the function Fields returns. to identifies the type whose fields have the names.
func (s *Structs) Fields(from reflect.Type, to any, names func() []string) ([]int, error) {
	key := structs{from, to}
	if found, ok := s.known[key]; ok {
		return found, nil
	}
	found, err := Fields(from, names())
	if s.known == nil {
		s.known = make(map[structs][]int)
	}
	if err == nil {
		s.known[key] = found
	}
	return found, err
}

// ErrNoField is matched by the errors of Fields.
var ErrNoField = errors.New("no such field")

// Fields returns, for each name, the index of the field of a Go struct that stands for it, and -1 if none
// does. A field stands for the name in its tag `ros:"name"`, or for its own, whatever the case and the
// underscores of both. Fields that are not exported, and those of tag "-", stand for none. Others that no
// name is for are an error.
func Fields(t reflect.Type, names []string) ([]int, error) {
	found := make([]int, len(names))
	folded := make(map[string]int, len(names))
	for i, name := range names {
		found[i] = -1
		if _, other := folded[fold(name)]; !other {
			folded[fold(name)] = i
		}
		folded["="+name] = i
	}
	for k := range t.NumField() {
		f := t.Field(k)
		tag := f.Tag.Get("ros")
		if !f.IsExported() || tag == "-" {
			continue
		}
		i, ok := folded[fold(f.Name)]
		if tag != "" {
			i, ok = folded["="+tag]
		}
		switch {
		case !ok:
			return nil, fmt.Errorf("%w for %s of %s", ErrNoField, f.Name, t)
		case found[i] >= 0:
			return nil, fmt.Errorf("%s and %s of %s both stand for %s", t.Field(found[i]).Name, f.Name, t,
				names[i])
		}
		found[i] = k
	}
	return found, nil
}

func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
