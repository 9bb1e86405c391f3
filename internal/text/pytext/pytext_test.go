package pytext_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/text/pytext"
)

// The results of all tests are what Python 3.11 and PyYAML 6.0 print.

func TestAppendFloat(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "0.1": 0.1, "1e+16": 1e16, "1000000000000000.0": 1e15,
		"1.2345678901234568e+17": 123456789012345680, "0.0001": 1e-4, "9.9e-05": 9.9e-5, "1e+300": 1e300, "5e-324": 5e-324,
		"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1),
	} {
		if got := string(pytext.AppendFloat([]byte("x"), f)); got != "x"+want {
			t.Errorf("got %s, want x%s", got, want)
		}
	}
}

func TestAppendBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": `b''`, "ab\n\t\r\\": `b'ab\n\t\r\\'`, "it's": `b"it's"`, `"it's"`: `b'"it\'s"'`, "\x00\x1f\x7f\xff": `b'\x00\x1f\x7f\xff'`,
	} {
		if got := string(pytext.AppendBytes(nil, []byte(in))); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestAppendValid(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\xe2\x82\xac": "€", "\xff": "\ufffd", "\xe2\x82": "\ufffd", "\xf0\x9f\x98a": "\ufffda",
		"\xc0\x80": "\ufffd\ufffd", "\xed\xa0\x80": "\ufffd\ufffd\ufffd", "\xe0\x80": "\ufffd\ufffd",
		"\xf0\x80": "\ufffd\ufffd", "\xf4\x90": "\ufffd\ufffd", "\xf4\x8f\xbf": "\ufffd", "\xf4\x8f\xbf\xf4\x8f\xbf": "\ufffd\ufffd",
	} {
		if got := string(pytext.AppendValid(nil, []byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestAppendItem(t *testing.T) {
	t.Parallel()
	x60 := strings.Repeat("x", 60)
	for in, want := range map[string]string{
		"": `''`, "plain words": `plain words`, "it's: x": `'it''s: x'`, "a: b": `'a: b'`, "#x": `'#x'`, "- x": `'- x'`, " lead": `' lead'`, "trail ": `'trail '`,
		"yes": `'yes'`, "12": `'12'`, "1.5e+3": `'1.5e+3'`, "2001-01-01": `'2001-01-01'`, "---": `'---'`, "<<": `'<<'`, "~": `'~'`,
		"tab\t": `"tab\t"`, "€": `"\u20AC"`, "a\n b": `"a\n b"`, "two\nlines": "'two\n\n  lines'",
		strings.Repeat("w", 30) + " " + x60 + " y z": strings.Repeat("w", 30) + " " + x60 + "\n  y z",
	} {
		if got := string(pytext.AppendItem(nil, []byte(in), 0)); got != "- "+want {
			t.Errorf("%q: got %q, want %q", in, got, "- "+want)
		}
		indented := strings.ReplaceAll("- "+want, "\n", "\n    ")
		if got := string(pytext.AppendItem(nil, []byte(in), 4)); got != indented {
			t.Errorf("%q, indented by 4: got %q, want %q", in, got, indented)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	w50, x50 := strings.Repeat("w", 50), strings.Repeat("x", 50)
	for in, want := range map[string]string{
		"": `''`, "plain": `"plain"`, "12": `"12"`, `say "x"`: `"say \"x\""`, "tab\t": `"tab\t"`, "€\u2028😀": `"\u20AC\L\U0001F600"`,
		w50 + " " + x50 + " y": `"` + w50 + " " + x50 + "\\\n  \\ y\"",
	} {
		if got := string(pytext.AppendString(nil, []byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
