package rosmsg

import (
	"fmt"
	"strconv"
	"strings"
)

// Path is a way to a field inside messages of one type.
type Path struct {
	root  *Type
	text  string
	steps []step
	last  *wire
}

// step goes to a field of a message, to an element of an array, or to the seconds or
// nanoseconds of a time or duration.
type step struct {
	field int
	index int
	kind  stepKind
	wire  *wire // of a part of a time
}

type stepKind uint8

const (
	toField stepKind = iota
	toElement
	toPart
)

// Path parses a path as "pose.covariance[35]": names separated by dots, indices of
// array elements in brackets, negative ones counted from the end. Times and durations
// have the parts secs and nsecs. The empty path is the message itself. Errors are a
// [FieldError].
func (t *Type) Path(path string) (*Path, error) {
	p := &Path{root: t, text: path, last: &t.wire}
	rest := path
	for rest != "" {
		var err error
		if rest[0] == '[' {
			rest, err = p.bracket(rest)
		} else {
			name := rest
			if i := strings.IndexAny(rest, ".["); i >= 0 {
				name, rest = rest[:i], rest[i:]
			} else {
				rest = ""
			}
			err = p.name(name)
		}
		if err != nil {
			return nil, err
		}
		if after, dot := strings.CutPrefix(rest, "."); dot {
			if after == "" || after[0] == '[' || after[0] == '.' {
				return nil, p.fail("a name is missing after a dot")
			}
			rest = after
		}
	}
	return p, nil
}

func (p *Path) fail(format string, args ...any) error {
	return &FieldError{Type: p.root.name, Path: p.text, Reason: fmt.Sprintf(format, args...)}
}

func (p *Path) bracket(rest string) (string, error) {
	number, after, closed := strings.Cut(rest[1:], "]")
	if !closed {
		return "", p.fail("a ] is missing")
	}
	i, err := strconv.Atoi(number)
	if err != nil {
		return "", p.fail("%q is no index", clip(number))
	}
	if p.last.kind != Array {
		return "", p.fail("%s is no array", p.last.name)
	}
	if n := p.last.length; n >= 0 && (i >= n || i < -n) {
		return "", p.fail("index %d of %s", i, p.last.name)
	}
	if after != "" && after[0] != '.' && after[0] != '[' {
		return "", p.fail("want a dot after ]")
	}
	p.steps = append(p.steps, step{kind: toElement, index: i})
	p.last = p.last.elem
	return after, nil
}

// timePart is the layout of the secs and nsecs of a time; durations have signed ones.
var (
	timePart     = &wire{kind: Uint32, name: "uint32", size: 4, least: 4}
	durationPart = &wire{kind: Int32, name: "int32", size: 4, least: 4}
)

func (p *Path) name(name string) error {
	//exhaustive:ignore
	switch p.last.kind {
	case Struct:
		if i := p.last.msg.field(name); i >= 0 {
			p.steps = append(p.steps, step{field: i})
			p.last = p.last.msg.fields[i].wire
			return nil
		}
	case Time, Duration:
		part := timePart
		if p.last.kind == Duration {
			part = durationPart
		}
		if name == "secs" || name == "nsecs" {
			p.steps = append(p.steps,
				step{kind: toPart, index: map[string]int{"secs": 0, "nsecs": 4}[name], wire: part})
			p.last = part
			return nil
		}
	default:
	}
	return p.fail("%s has no field %q%s", p.last.name, clip(name), p.last.fieldsThere())
}

// listedFields is how many fields an error lists.
const listedFields = 20

// fieldsThere lists the fields of a value, for an error; empty if it has none.
func (w *wire) fieldsThere() string {
	if w.kind == Time || w.kind == Duration {
		return ": it has secs, nsecs"
	}
	if w.kind != Struct || len(w.msg.fields) == 0 {
		return ""
	}
	var names []string
	for _, f := range w.msg.fields {
		if len(names) == listedFields {
			names = append(names, "…")
			break
		}
		names = append(names, clip(f.name))
	}
	return ": it has " + strings.Join(names, ", ")
}

// String returns the path as it was given.
func (p *Path) String() string { return p.text }

// Type returns the type of what the path leads to, as "float64[36]".
func (p *Path) Type() string { return p.last.name }

// Lookup finds the field in a payload of the type that the path is of. It decodes
// nothing else and allocates nothing. An index beyond the end of the array is a
// [FieldError], a payload that ends early a [DecodeError].
func (p *Path) Lookup(payload []byte) (Value, error) {
	c := cursor{p: payload}
	w := &p.root.wire
	for i := range p.steps {
		var err error
		switch s := &p.steps[i]; s.kind {
		case toField:
			err = c.field(w.msg, s.field)
			w = w.msg.fields[s.field].wire
		case toElement:
			err = c.element(w, s.index, p.root)
			w = w.elem
		case toPart:
			_, err = c.take(int(w.size), w) // the whole time has to be there
			c.off += s.index - int(w.size)
			w = s.wire
		}
		if err != nil {
			return Value{}, p.explain(err)
		}
	}
	v, err := c.value(w, p.root)
	if err != nil {
		return Value{}, p.explain(err)
	}
	return v, nil
}

// explain names the whole path in an error about one of its steps.
func (p *Path) explain(err error) error {
	switch e := err.(type) { //nolint:errorlint // never wrapped in here
	case *FieldError:
		e.Path = p.text
	case *DecodeError:
		e.Type = p.root.name
		if e.Path == "" {
			e.Path = p.text
		}
	}
	return err
}

// Lookup finds a field by its path: see [Type.Path] and [Path.Lookup], which is faster
// for many messages.
func (t *Type) Lookup(payload []byte, path string) (Value, error) {
	p, err := t.Path(path)
	if err != nil {
		return Value{}, err
	}
	return p.Lookup(payload)
}
