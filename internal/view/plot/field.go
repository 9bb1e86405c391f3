package plot

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// ErrNothing says that a message has no value there: its array is too short, or lacks the name.
var ErrNothing = errors.New("the message has no such element")

// Field reads one value of the messages of a type. It belongs to one goroutine.
type Field struct {
	path  *rosmsg.Path
	names *rosmsg.Path // of name{elbow}: the array with the names of the elements
	name  string
	index int // of the name in the message before

	yaw   bool // of a quaternion
	texts map[int64]string
	Bands bool // the values are texts
}

// Compile makes a Field of a path of rosmsg, as pose.position.x or ranges[3]. position{elbow} is the
// element of the array position that has the name elbow in the array name beside it; orientation:yaw is
// the yaw of a quaternion, in degrees.
func Compile(t *rosmsg.Type, text string) (*Field, error) {
	f := &Field{}
	base, isYaw := strings.CutSuffix(text, ":yaw")
	f.yaw = isYaw
	if open := strings.IndexByte(base, '{'); open >= 0 && strings.HasSuffix(base, "}") {
		f.name = base[open+1 : len(base)-1]
		base = base[:open]
		names := base[:strings.LastIndexByte(base, '.')+1] + "name"
		p, err := t.Path(names)
		if err != nil {
			return nil, err
		}
		if p.Type() != "string[]" {
			return nil, fmt.Errorf("%s is %s, not string[]", names, p.Type())
		}
		f.names = p
	}
	p, err := t.Path(base)
	if err != nil {
		return nil, err
	}
	f.path = p
	switch kind := strings.TrimSuffix(p.Type(), "[]"); {
	case f.yaw && p.Type() != "geometry_msgs/Quaternion":
		return nil, fmt.Errorf("%s is %s: only a geometry_msgs/Quaternion has a yaw", base, p.Type())
	case f.yaw:
	case f.names != nil && !strings.HasSuffix(p.Type(), "]"):
		return nil, fmt.Errorf("%s is %s: only elements of arrays have names", base, p.Type())
	case f.names == nil && strings.HasSuffix(p.Type(), "]"):
		return nil, fmt.Errorf("%s is %s: choose an element, as %s[0]", base, p.Type(), base)
	case kind == "string" || kind == "bool":
		f.Bands = true
	case strings.Contains(kind, "/") || kind == "Header":
		return nil, fmt.Errorf("%s is %s: choose a field of it", base, p.Type())
	default:
		f.texts = constants(t, base, kind)
		f.Bands = f.texts != nil
	}
	return f, nil
}

// constants returns the names of the values of an integer field, nil if its message has not at least two
// constants of the same type.
func constants(t *rosmsg.Type, path, kind string) map[int64]string {
	owner, name := t, path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		name = path[dot+1:]
		p, err := t.Path(path[:dot])
		if err != nil {
			return nil
		}
		owner = nil
		for _, d := range t.Dependencies() {
			if d.Name() == p.Type() {
				owner = d
			}
		}
	}
	if owner == nil || strings.HasPrefix(kind, "float") {
		return nil
	}
	prefix := strings.Map(unicode.ToUpper, name) + "_"
	all, own := make(map[int64]string), make(map[int64]string)
	for _, c := range owner.Constants() {
		v, err := strconv.ParseInt(c.Value, 0, 64)
		if c.Type != kind || err != nil {
			continue
		}
		if _, known := all[v]; !known {
			all[v] = c.Name
		}
		if rest, ok := strings.CutPrefix(c.Name, prefix); ok {
			own[v] = rest
		}
	}
	if len(own) > 1 {
		return own
	}
	if len(all) > 1 {
		return all
	}
	return nil
}

// value finds the value in a payload.
func (f *Field) value(payload []byte) (rosmsg.Value, error) {
	v, err := f.path.Lookup(payload)
	if err != nil {
		if errors.Is(err, rosmsg.ErrNoField) {
			err = ErrNothing
		}
		return v, err
	}
	if f.names == nil {
		return v, nil
	}
	names, err := f.names.Lookup(payload)
	if err != nil {
		return v, err
	}
	if n, err := names.Index(f.index); err != nil || string(n.Bytes()) != f.name {
		f.index = -1
		i := 0
		for n, err := range names.Elements() {
			if err == nil && string(n.Bytes()) == f.name {
				f.index = i
				break
			}
			i++
		}
		if f.index < 0 {
			f.index = 0
			return v, ErrNothing
		}
	}
	if v, err = v.Index(f.index); err != nil {
		return v, ErrNothing
	}
	return v, nil
}

// Number returns the value in a payload, of a Field without bands.
func (f *Field) Number(payload []byte) (float64, error) {
	v, err := f.value(payload)
	if err != nil || !f.yaw {
		return v.Float(), err
	}
	return yaw(v)
}

func yaw(q rosmsg.Value) (float64, error) {
	var c [4]float64
	for i, name := range []string{"x", "y", "z", "w"} {
		v, err := q.Field(name)
		if err != nil {
			return 0, err
		}
		c[i] = v.Float()
	}
	x, y, z, w := c[0], c[1], c[2], c[3]
	return math.Atan2(2*(w*z+x*y), 1-2*(y*y+z*z)) * 180 / math.Pi, nil
}

// Yaw returns the yaw of a quaternion, in degrees.
func Yaw(q rosmsg.Value) (string, error) {
	v, err := yaw(q)
	return strconv.FormatFloat(v, 'g', 9, 64), err
}

// Text returns the value in a payload as a text with all its digits, by its name if it has one.
func (f *Field) Text(payload []byte) (string, error) {
	if f.yaw {
		v, err := f.value(payload)
		if err != nil {
			return "", err
		}
		return Yaw(v)
	}
	v, err := f.value(payload)
	if err != nil {
		return "", err
	}
	if name, ok := f.texts[v.Int()]; ok {
		return name, nil
	}
	return Format(v), nil
}

// Format writes a value that is no array and no message with all its digits.
func Format(v rosmsg.Value) string {
	switch v.Kind() {
	case rosmsg.Bool:
		return strconv.FormatBool(v.Bool())
	case rosmsg.Int8, rosmsg.Int16, rosmsg.Int32, rosmsg.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case rosmsg.Uint8, rosmsg.Uint16, rosmsg.Uint32, rosmsg.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case rosmsg.Float32:
		return strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case rosmsg.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case rosmsg.String:
		return strings.ToValidUTF8(v.Text(), "\uFFFD")
	case rosmsg.Time:
		t := v.Time()
		return fmt.Sprintf("%d.%09d", t.Secs, t.Nsecs)
	case rosmsg.Duration:
		d := v.Duration()
		if total := int64(d.Secs)*1e9 + int64(d.Nsecs); total < 0 {
			return fmt.Sprintf("-%d.%09d", -total/1e9, -total%1e9)
		}
		return fmt.Sprintf("%d.%09d", d.Secs, d.Nsecs)
	case rosmsg.Array, rosmsg.Struct:
	}
	return ""
}
