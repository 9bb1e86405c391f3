package xmlrpc

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder builds values from a message. It recurses once for each array or struct, at most
// limits.Depth deep, because a Go program cannot recover from a stack overflow.
type decoder struct {
	scanner
	limits Limits
	values int
}

func newDecoder(b []byte, l Limits) (*decoder, error) {
	l = l.withDefaults()
	if int64(len(b)) > l.BodyBytes {
		return nil, &LimitError{"body", l.BodyBytes}
	}
	d := &decoder{scanner: scanner{b: b}, limits: l}
	if bytes.HasPrefix(b, byteOrderMark) {
		d.pos = len(byteOrderMark)
	}
	return d, nil
}

// ParseRequest reads a methodCall. The result shares no memory with b.
func ParseRequest(b []byte, l Limits) (method string, args []any, err error) {
	d, err := newDecoder(b, l)
	if err != nil {
		return "", nil, err
	}
	if err := d.expect(tagOpen, "methodCall"); err != nil {
		return "", nil, err
	}
	if err := d.expect(tagOpen, "methodName"); err != nil {
		return "", nil, err
	}
	if method, err = d.textUntil("methodName"); err != nil {
		return "", nil, err
	}
	if method = strings.TrimSpace(method); method == "" {
		return "", nil, d.fail(d.pos, "empty method name")
	}
	t, err := d.next()
	if err != nil {
		return "", nil, err
	}
	switch {
	case t.is(tagOpen, "params"):
		if args, err = d.params(); err != nil {
			return "", nil, err
		}
	case t.is(tagEmpty, "params"):
	case t.is(tagClose, "methodCall"):
		return method, nil, d.end()
	default:
		return "", nil, d.fail(t.at, "%v in a call", t)
	}
	if err := d.expect(tagClose, "methodCall"); err != nil {
		return "", nil, err
	}
	return method, args, d.end()
}

// ParseResponse reads a methodResponse. A fault is returned as an error of type
// *Fault. The result shares no memory with b.
func ParseResponse(b []byte, l Limits) (any, error) {
	d, err := newDecoder(b, l)
	if err != nil {
		return nil, err
	}
	if err := d.expect(tagOpen, "methodResponse"); err != nil {
		return nil, err
	}
	t, err := d.next()
	if err != nil {
		return nil, err
	}
	var v any
	switch {
	case t.is(tagOpen, "params"):
		args, err := d.params()
		if err != nil {
			return nil, err
		}
		if len(args) != 1 {
			return nil, d.fail(t.at, "%d values in a response", len(args))
		}
		v = args[0]
	case t.is(tagOpen, "fault"):
		f, err := d.fault()
		if err != nil {
			return nil, err
		}
		v = f
	default:
		return nil, d.fail(t.at, "%v in a response", t)
	}
	if err := d.expect(tagClose, "methodResponse"); err != nil {
		return nil, err
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	if f, ok := v.(*Fault); ok {
		return nil, f
	}
	return v, nil
}

func (d *decoder) expect(kind tagKind, name string) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	if !t.is(kind, name) {
		return d.fail(t.at, "%v instead of %v", t, tag{name: []byte(name), kind: kind})
	}
	return nil
}

// end checks that nothing but whitespace and comments is left.
func (d *decoder) end() error {
	t, err := d.next()
	if err != nil {
		return err
	}
	if t.kind != tagEnd {
		return d.fail(t.at, "%v after the end", t)
	}
	return nil
}

// textUntil reads text and the closing tag named name.
func (d *decoder) textUntil(name string) (string, error) {
	t, err := d.text()
	if err != nil {
		return "", err
	}
	return t, d.expect(tagClose, name)
}

// params reads <param> elements up to </params>.
func (d *decoder) params() ([]any, error) {
	var args []any
	for {
		t, err := d.next()
		switch {
		case err != nil:
			return nil, err
		case t.is(tagClose, "params"):
			return args, nil
		case !t.is(tagOpen, "param"):
			return nil, d.fail(t.at, "%v instead of <param>", t)
		}
		v, err := d.taggedValue(0)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		if err := d.expect(tagClose, "param"); err != nil {
			return nil, err
		}
	}
}

func (d *decoder) fault() (*Fault, error) {
	at := d.pos
	v, err := d.taggedValue(0)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, d.fail(at, "fault is not a struct")
	}
	f := &Fault{}
	f.Code, _ = m["faultCode"].(int)
	f.Text, _ = m["faultString"].(string)
	return f, d.expect(tagClose, "fault")
}

// taggedValue reads a whole <value> element.
func (d *decoder) taggedValue(depth int) (any, error) {
	t, err := d.next()
	if err != nil {
		return nil, err
	}
	return d.valueAfter(t, depth)
}

// valueAfter reads the rest of a <value> element whose first tag is t.
func (d *decoder) valueAfter(t tag, depth int) (any, error) {
	if d.values++; d.values > d.limits.Values {
		return nil, &LimitError{"number of values", int64(d.limits.Values)}
	}
	switch {
	case t.is(tagEmpty, "value"):
		return "", nil
	case !t.is(tagOpen, "value"):
		return nil, d.fail(t.at, "%v instead of <value>", t)
	}
	if skipped, ok := d.skipped(); ok {
		return skipped, d.expect(tagClose, "value")
	}
	text, err := d.text()
	if err != nil {
		return nil, err
	}
	if t, err = d.next(); err != nil {
		return nil, err
	}
	if t.is(tagClose, "value") {
		return text, nil // no type tag: a string, whose spaces belong to the value
	}
	if strings.TrimSpace(text) != "" {
		return nil, d.fail(t.at, "text before %v", t)
	}
	v, err := d.typed(t, depth)
	if err != nil {
		return nil, err
	}
	return v, d.expect(tagClose, "value")
}

// typed reads the content of the type tag t, up to its end.
func (d *decoder) typed(t tag, depth int) (any, error) {
	name := string(t.name)
	switch name {
	case "array", "struct":
		if depth++; depth > d.limits.Depth {
			return nil, &LimitError{"nesting", int64(d.limits.Depth)}
		}
		switch {
		case t.kind == tagOpen && name == "array":
			return d.array(depth)
		case t.kind == tagOpen:
			return d.structure(depth)
		case t.kind == tagEmpty && name == "array":
			return []any{}, nil
		case t.kind == tagEmpty:
			return map[string]any{}, nil
		}
	}
	if t.kind != tagOpen && t.kind != tagEmpty {
		return nil, d.fail(t.at, "%v in a value", t)
	}
	if skipped, ok := d.skipped(); ok {
		return skipped, d.expect(tagClose, name)
	}
	var text string
	if t.kind == tagOpen {
		var err error
		if text, err = d.textUntil(name); err != nil {
			return nil, err
		}
	}
	v, ok, known := scalar(name, text)
	switch {
	case !known:
		return nil, d.fail(t.at, "unknown type %v", t)
	case !ok:
		return nil, d.fail(t.at, "%v holds %q", t, text[:min(len(text), 32)])
	}
	return v, nil
}

func (d *decoder) array(depth int) (any, error) {
	list := []any{}
	t, err := d.next()
	switch {
	case err != nil:
		return nil, err
	case t.is(tagEmpty, "data"):
		return list, d.expect(tagClose, "array")
	case t.is(tagClose, "array"):
		return list, nil
	case !t.is(tagOpen, "data"):
		return nil, d.fail(t.at, "%v instead of <data>", t)
	}
	for {
		if t, err = d.next(); err != nil {
			return nil, err
		}
		if t.is(tagClose, "data") {
			return list, d.expect(tagClose, "array")
		}
		v, err := d.valueAfter(t, depth)
		if err != nil {
			return nil, err
		}
		if len(list) == cap(list) {
			// append alone grows large slices by a quarter, which makes more garbage
			list = slices.Grow(list, len(list)+1)
		}
		list = append(list, v)
	}
}

func (d *decoder) structure(depth int) (any, error) {
	m := map[string]any{}
	for {
		t, err := d.next()
		switch {
		case err != nil:
			return nil, err
		case t.is(tagClose, "struct"):
			return m, nil
		case !t.is(tagOpen, "member"):
			return nil, d.fail(t.at, "%v instead of <member>", t)
		}
		name, named, err := d.memberName()
		if err != nil {
			return nil, err
		}
		v, err := d.taggedValue(depth)
		if err != nil {
			return nil, err
		}
		if named {
			m[name] = v
		}
		if err := d.expect(tagClose, "member"); err != nil {
			return nil, err
		}
	}
}

// memberName reads the name of a member. named is false if the name was skipped.
func (d *decoder) memberName() (name string, named bool, err error) {
	t, err := d.next()
	switch {
	case err != nil:
		return "", false, err
	case t.is(tagEmpty, "name"):
		return "", true, nil
	case !t.is(tagOpen, "name"):
		return "", false, d.fail(t.at, "%v instead of <name>", t)
	}
	if _, ok := d.skipped(); ok {
		return "", false, d.expect(tagClose, "name")
	}
	name, err = d.textUntil("name")
	return name, true, err
}

// skipped reads the mark of a text that ReadBody has left out.
func (d *decoder) skipped() (Skipped, bool) {
	if d.limits.TextBytes == 0 || d.pos == len(d.b) || d.b[d.pos] != skippedMark {
		return Skipped{}, false
	}
	digits := d.pos + 1
	for d.pos = digits; d.pos < len(d.b) && d.b[d.pos] >= '0' && d.b[d.pos] <= '9'; {
		d.pos++
	}
	n, err := strconv.ParseInt(string(d.b[digits:d.pos]), 10, 64)
	return Skipped{n}, err == nil
}

// scalar converts the text of a type tag. known is false for a tag that is no
// scalar type.
func scalar(name, text string) (v any, ok, known bool) {
	switch name {
	case "string":
		return text, true, true
	case "int", "i4", "i1", "i2", "i8":
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		// ROS has 32-bit integers only; the master could not pass a wider integer on to a node.
		return int(n), err == nil && n >= math.MinInt32 && n <= math.MaxInt32, true
	case "boolean":
		v, ok := boolean(strings.TrimSpace(text))
		return v, ok, true
	case "double":
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return f, err == nil, true
	case "dateTime.iso8601":
		t, ok := dateTime(strings.TrimSpace(text))
		return t, ok, true
	case "base64":
		b, ok := decodeBase64(text)
		return b, ok, true
	case "nil", "ex:nil":
		return nil, strings.TrimSpace(text) == "", true
	}
	return nil, false, false
}

func boolean(text string) (v, ok bool) {
	switch text {
	case "1", "true":
		return true, true
	case "0", "false":
		return false, true
	}
	return false, false
}

const dateTimeLayout = "20060102T15:04:05"

// dateTime reads a time without a zone as UTC: XML-RPC leaves the zone open.
func dateTime(text string) (time.Time, bool) {
	for _, layout := range []string{
		dateTimeLayout, "20060102T15:04:05Z", "2006-01-02T15:04:05",
		"2006-01-02T15:04:05Z",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

func decodeBase64(text string) ([]byte, bool) {
	clean := make([]byte, 0, len(text))
	for i := range len(text) {
		if !isSpace(text[i]) { // both Python and roscpp break long lines
			clean = append(clean, text[i])
		}
	}
	n, err := base64.StdEncoding.Decode(clean, clean)
	return clean[:n], err == nil
}
