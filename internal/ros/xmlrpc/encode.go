package xmlrpc

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const xmlHead = "<?xml version=\"1.0\"?>\n"

// AppendRequest adds a methodCall to dst. The error matches ErrEncode.
func AppendRequest(dst []byte, method string, args ...any) ([]byte, error) {
	e := encoder{dst: dst}
	err := e.request(method, args)
	return e.dst, err
}

// EncodeRequest returns a methodCall of at most limit bytes, in memory of that size. The error
// matches ErrLimit if the methodCall is longer, which costs no more than writing limit bytes, and
// otherwise ErrEncode.
func EncodeRequest(limit int64, method string, args ...any) ([]byte, error) {
	return encode(limit, func(e *encoder) error { return e.request(method, args) })
}

// AppendResponse adds a methodResponse to dst. The error matches ErrEncode.
func AppendResponse(dst []byte, v any) ([]byte, error) {
	e := encoder{dst: dst}
	err := e.response(v)
	return e.dst, err
}

// EncodeResponse is EncodeRequest for a methodResponse.
func EncodeResponse(limit int64, v any) ([]byte, error) {
	return encode(limit, func(e *encoder) error { return e.response(v) })
}

// AppendFault adds a methodResponse with the fault f to dst. Bytes of the text that XML cannot
// represent become U+FFFD, so that every fault can be sent.
func AppendFault(dst []byte, f *Fault) []byte {
	text := strings.ToValidUTF8(f.Text, "\ufffd")
	text = strings.Map(func(r rune) rune {
		if legal(r) {
			return r
		}
		return '\ufffd'
	}, text)
	code := min(max(int64(f.Code), math.MinInt32), math.MaxInt32)
	e := encoder{dst: dst}
	e.text(xmlHead + "<methodResponse><fault><value><struct><member><name>faultCode</name><value><int>")
	e.text(strconv.FormatInt(code, 10))
	e.text("</int></value></member><member><name>faultString</name><value><string>")
	e.escaped(text)
	e.text("</string></value></member></struct></value></fault></methodResponse>\n")
	return e.dst
}

// TextSize returns the number of bytes of s in a message.
func TextSize(s string) int64 {
	e := encoder{counting: true}
	e.escaped(s)
	return e.size
}

// Raw is a value that is encoded already. The encoder writes it unchanged.
type Raw []byte

// EncodeRaw is EncodeRequest for a value alone.
func EncodeRaw(limit int64, v any) (Raw, error) {
	return encode(limit, func(e *encoder) error { return e.value(v, 0) })
}

// encode calls write twice: first to count the bytes, then to write them.
func encode(limit int64, write func(e *encoder) error) ([]byte, error) {
	e := encoder{counting: true, limit: limit}
	if err := write(&e); err != nil {
		return nil, err
	}
	if e.size > limit {
		return nil, &LimitError{"message", limit}
	}
	e = encoder{dst: make([]byte, 0, e.size)}
	err := write(&e)
	return e.dst, err
}

// encoder writes a message to dst, or only counts its bytes.
type encoder struct {
	dst      []byte
	counting bool
	size     int64 // bytes that were counted, if counting
	limit    int64 // most bytes, if counting
}

// fits fails if the message with n more bytes exceeds the limit.
func (e *encoder) fits(n int) error {
	if e.counting && e.size+int64(n) > e.limit {
		return &LimitError{"message", e.limit}
	}
	return nil
}

func (e *encoder) text(s string) {
	if e.counting {
		e.size += int64(len(s))
		return
	}
	e.dst = append(e.dst, s...)
}

func (e *encoder) request(method string, args []any) error {
	if i := illegal(method); i >= 0 || method == "" {
		return fmt.Errorf("%w: method name %q", ErrEncode, method)
	}
	e.text(xmlHead + "<methodCall><methodName>")
	e.escaped(method)
	e.text("</methodName><params>")
	for i, a := range args {
		e.text("<param>")
		if err := e.value(a, 0); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		e.text("</param>")
	}
	e.text("</params></methodCall>\n")
	return nil
}

func (e *encoder) response(v any) error {
	e.text(xmlHead + "<methodResponse><params><param>")
	if err := e.value(v, 0); err != nil {
		return err
	}
	e.text("</param></params></methodResponse>\n")
	return nil
}

func (e *encoder) value(v any, depth int) error {
	if depth > MaxWriteDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrEncode, MaxWriteDepth)
	}
	if err := e.fits(0); err != nil {
		return err
	}
	if raw, ok := v.(Raw); ok {
		if e.counting {
			e.size += int64(len(raw))
		} else {
			e.dst = append(e.dst, raw...)
		}
		return nil
	}
	e.text("<value>")
	var err error
	switch v := v.(type) {
	case int:
		err = e.integer(int64(v))
	case int32:
		err = e.integer(int64(v))
	case int64:
		err = e.integer(v)
	case uint32:
		err = e.integer(int64(v))
	case bool:
		if v {
			e.text("<boolean>1</boolean>")
		} else {
			e.text("<boolean>0</boolean>")
		}
	case string:
		err = e.str(v)
	case float64:
		e.text("<double>")
		e.text(strconv.FormatFloat(v, 'g', -1, 64))
		e.text("</double>")
	case time.Time:
		if y := v.UTC().Year(); y < 0 || y > 9999 {
			return fmt.Errorf("%w: year %d", ErrEncode, y)
		}
		e.text("<dateTime.iso8601>")
		e.text(v.UTC().Format(dateTimeLayout))
		e.text("</dateTime.iso8601>")
	case []byte:
		if err := e.fits(len(v)); err != nil {
			return err
		}
		e.text("<base64>")
		e.base64(v)
		e.text("</base64>")
	case []any:
		err = array(e, v, depth)
	case []string:
		err = array(e, v, depth)
	case map[string]any:
		err = e.structure(v, depth)
	default:
		return fmt.Errorf("%w: Go type %T", ErrEncode, v)
	}
	if err != nil {
		return err
	}
	e.text("</value>")
	return nil
}

func (e *encoder) integer(n int64) error {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return fmt.Errorf("%w: %d does not fit 32 bits", ErrEncode, n)
	}
	e.text("<int>")
	e.text(strconv.FormatInt(n, 10))
	e.text("</int>")
	return nil
}

func (e *encoder) str(s string) error {
	if err := e.fits(len(s)); err != nil {
		return err
	}
	if i := illegal(s); i >= 0 {
		return fmt.Errorf("%w: string with byte 0x%02x at %d", ErrEncode, s[i], i)
	}
	// Write the type, although roscpp itself writes bare text: every parser preserves the spaces of
	// a typed string.
	e.text("<string>")
	e.escaped(s)
	e.text("</string>")
	return nil
}

func (e *encoder) base64(b []byte) {
	if e.counting {
		e.size += int64(base64.StdEncoding.EncodedLen(len(b)))
		return
	}
	e.dst = base64.StdEncoding.AppendEncode(e.dst, b)
}

func array[T any](e *encoder, list []T, depth int) error {
	e.text("<array><data>")
	for i, v := range list {
		if err := e.value(v, depth+1); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	e.text("</data></array>")
	return nil
}

// structure writes the members in the order of their names, so that equal
// values give equal bytes.
func (e *encoder) structure(m map[string]any, depth int) error {
	e.text("<struct>")
	if err := e.fits(len(m) * len("<member><name></name></member>")); err != nil {
		return err // before the names are sorted
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if i := illegal(name); i >= 0 {
			return fmt.Errorf("%w: member name with byte 0x%02x at %d", ErrEncode, name[i], i)
		}
		e.text("<member><name>")
		e.escaped(name)
		e.text("</name>")
		if err := e.value(m[name], depth+1); err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
		e.text("</member>")
	}
	e.text("</struct>")
	return nil
}

// escaped writes the named entities only: roscpp leaves numeric ones, which
// encoding/xml would write, as they stand.
func (e *encoder) escaped(s string) {
	last := 0
	for i := range len(s) {
		var entity string
		switch s[i] {
		case '<':
			entity = "&lt;"
		case '>':
			entity = "&gt;"
		case '&':
			entity = "&amp;"
		case '\'':
			entity = "&apos;"
		case '"':
			entity = "&quot;"
		default:
			continue
		}
		e.text(s[last:i])
		e.text(entity)
		last = i + 1
	}
	e.text(s[last:])
}
