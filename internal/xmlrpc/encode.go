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
	if i := illegal(method); i >= 0 || method == "" {
		return dst, fmt.Errorf("%w: method name %q", ErrEncode, method)
	}
	dst = append(dst, xmlHead+"<methodCall><methodName>"...)
	dst = appendEscaped(dst, method)
	dst = append(dst, "</methodName><params>"...)
	for i, a := range args {
		var err error
		dst = append(dst, "<param>"...)
		if dst, err = appendValue(dst, a, 0); err != nil {
			return dst, fmt.Errorf("argument %d: %w", i, err)
		}
		dst = append(dst, "</param>"...)
	}
	return append(dst, "</params></methodCall>\n"...), nil
}

// AppendResponse adds a methodResponse to dst. The error matches ErrEncode.
func AppendResponse(dst []byte, v any) ([]byte, error) {
	dst = append(dst, xmlHead+"<methodResponse><params><param>"...)
	dst, err := appendValue(dst, v, 0)
	return append(dst, "</param></params></methodResponse>\n"...), err
}

// AppendFault adds a methodResponse that carries f to dst. Bytes of the text that
// XML cannot carry become U+FFFD: a fault must always get through.
func AppendFault(dst []byte, f *Fault) []byte {
	text := strings.ToValidUTF8(f.Text, "\ufffd")
	text = strings.Map(func(r rune) rune {
		if legal(r) {
			return r
		}
		return '\ufffd'
	}, text)
	code := int64(f.Code)
	dst = append(dst, xmlHead+"<methodResponse><fault><value><struct><member><name>faultCode</name><value><int>"...)
	dst = strconv.AppendInt(dst, min(max(code, math.MinInt32), math.MaxInt32), 10)
	dst = append(dst, "</int></value></member><member><name>faultString</name><value><string>"...)
	dst = appendEscaped(dst, text)
	return append(dst, "</string></value></member></struct></value></fault></methodResponse>\n"...)
}

func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	if depth > MaxWriteDepth {
		return dst, fmt.Errorf("%w: nested deeper than %d", ErrEncode, MaxWriteDepth)
	}
	dst = append(dst, "<value>"...)
	var err error
	switch v := v.(type) {
	case int:
		dst, err = appendInt(dst, int64(v))
	case int32:
		dst, err = appendInt(dst, int64(v))
	case int64:
		dst, err = appendInt(dst, v)
	case uint32:
		dst, err = appendInt(dst, int64(v))
	case bool:
		dst = append(dst, "<boolean>"...)
		if v {
			dst = append(dst, '1')
		} else {
			dst = append(dst, '0')
		}
		dst = append(dst, "</boolean>"...)
	case string:
		dst, err = appendString(dst, v)
	case float64:
		dst = append(dst, "<double>"...)
		dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
		dst = append(dst, "</double>"...)
	case time.Time:
		if y := v.UTC().Year(); y < 0 || y > 9999 {
			return dst, fmt.Errorf("%w: year %d", ErrEncode, y)
		}
		dst = append(dst, "<dateTime.iso8601>"...)
		dst = v.UTC().AppendFormat(dst, dateTimeLayout)
		dst = append(dst, "</dateTime.iso8601>"...)
	case []byte:
		dst = append(dst, "<base64>"...)
		dst = base64.StdEncoding.AppendEncode(dst, v)
		dst = append(dst, "</base64>"...)
	case []any:
		dst, err = appendArray(dst, v, depth)
	case []string:
		dst, err = appendArray(dst, v, depth)
	case map[string]any:
		dst, err = appendStruct(dst, v, depth)
	default:
		return dst, fmt.Errorf("%w: Go type %T", ErrEncode, v)
	}
	return append(dst, "</value>"...), err
}

func appendInt(dst []byte, n int64) ([]byte, error) {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return dst, fmt.Errorf("%w: %d does not fit 32 bits", ErrEncode, n)
	}
	dst = append(dst, "<int>"...)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, "</int>"...), nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	if i := illegal(s); i >= 0 {
		return dst, fmt.Errorf("%w: string with byte 0x%02x at %d", ErrEncode, s[i], i)
	}
	// Typed, although roscpp itself writes bare text: a typed string keeps its
	// spaces in every parser.
	dst = append(dst, "<string>"...)
	dst = appendEscaped(dst, s)
	return append(dst, "</string>"...), nil
}

func appendArray[T any](dst []byte, list []T, depth int) ([]byte, error) {
	dst = append(dst, "<array><data>"...)
	for i, v := range list {
		var err error
		if dst, err = appendValue(dst, v, depth+1); err != nil {
			return dst, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return append(dst, "</data></array>"...), nil
}

// appendStruct writes the members in the order of their names, so that equal
// values give equal bytes.
func appendStruct(dst []byte, m map[string]any, depth int) ([]byte, error) {
	dst = append(dst, "<struct>"...)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if i := illegal(name); i >= 0 {
			return dst, fmt.Errorf("%w: member name with byte 0x%02x at %d", ErrEncode, name[i], i)
		}
		dst = append(dst, "<member><name>"...)
		dst = appendEscaped(dst, name)
		dst = append(dst, "</name>"...)
		var err error
		if dst, err = appendValue(dst, m[name], depth+1); err != nil {
			return dst, fmt.Errorf("member %q: %w", name, err)
		}
		dst = append(dst, "</member>"...)
	}
	return append(dst, "</struct>"...), nil
}

// appendEscaped writes the named entities only: roscpp leaves numeric ones, which
// encoding/xml would write, as they stand.
func appendEscaped(dst []byte, s string) []byte {
	last := 0
	for i := range len(s) {
		var e string
		switch s[i] {
		case '<':
			e = "&lt;"
		case '>':
			e = "&gt;"
		case '&':
			e = "&amp;"
		case '\'':
			e = "&apos;"
		case '"':
			e = "&quot;"
		default:
			continue
		}
		dst = append(dst, s[last:i]...)
		dst = append(dst, e...)
		last = i + 1
	}
	return append(dst, s[last:]...)
}
