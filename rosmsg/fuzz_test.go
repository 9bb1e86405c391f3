package rosmsg_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/text/jsontext"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func seeds(f *testing.F, add func(definition string, payload []byte)) {
	f.Helper()
	add(poses, posesPayload())
	add(pointStamped, payload())
	add("", nil)
	add("string[] s\nuint8[2] b\nchar[] c\nbool d", []byte("\x02\x00\x00\x00\x01\x00\x00\x00a\x00\x00\x00\x00\x01\x02\x01\x00\x00\x00\xff\x01"))
	add("E[] e\nE[3] f"+separator+"MSG: p/E\n", []byte{9, 0, 0, 0})
	add("int32 A=1\nstring S=x # y\nfloat32[] a\ntime[1] t\nduration d", append([]byte{1, 0, 0, 0}, make([]byte, 20)...))
	for _, topic := range []string{"/odom", "/scan", "/tf", "/diagnostics", "/map"} {
		definition, payload := recorded(f, topic)
		add(definition, payload[:min(len(payload), 1000)])
	}
}

// FuzzDefinition parses anything. What parses does so again in the same way, and in
// memory of the order of the text.
func FuzzDefinition(f *testing.F) {
	seeds(f, func(definition string, _ []byte) { f.Add("p/T", definition) })
	f.Add("T", "Header h\r\nT[] t")
	for _, text := range bent {
		f.Add("p/T", text)
	}
	f.Fuzz(func(t *testing.T, name, definition string) {
		var typ *rosmsg.Type
		var err error
		if used := allocated(func() { typ, err = rosmsg.Parse(name, definition) }); used > uint64(300*(len(name)+len(definition))+2<<20) {
			t.Fatalf("a definition of %d bytes takes %d", len(definition), used)
		}
		if err != nil {
			if !errors.Is(err, rosmsg.ErrDefinition) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		again, err := rosmsg.Parse(name, definition)
		if err != nil || again.MD5Sum() != typ.MD5Sum() {
			t.Fatalf("%q parses differently again: %v", definition, err)
		}
		if text, err := rosmsg.Straight(name, definition); err != nil {
			t.Fatal(err)
		} else if straight, err := rosmsg.Parse(name, text); err != nil && !errors.Is(err, rosmsg.ErrLimit) || err == nil && straight.MD5Sum() != typ.MD5Sum() {
			t.Fatalf("%q is another type when it is made straight: %v", definition, err)
		}
		for _, field := range typ.Fields() {
			if _, err := typ.Path(field.Name); err != nil {
				t.Fatalf("no path to field %q: %v", field.Name, err)
			}
			if base, _, _ := strings.Cut(field.Type, "["); strings.Count(field.Type, "[") > 1 || strings.ContainsAny(base, "] ") {
				t.Fatalf("field %q is of type %q", field.Name, field.Type)
			}
		}
	})
}

// FuzzDecode decodes anything by anything. Whatever way a payload is looked at, there
// is the same error or none, the memory is bounded, and what is printed is JSON.
func FuzzDecode(f *testing.F) {
	seeds(f, func(definition string, payload []byte) { f.Add(definition, payload) })
	f.Fuzz(func(t *testing.T, definition string, payload []byte) {
		typ, err := rosmsg.Parse("p/T", definition)
		if err != nil {
			return
		}
		payload = payload[:len(payload):len(payload)]
		want := typ.Check(payload)
		var m *rosmsg.Message
		var decodeErr error
		if used := allocated(func() { m, decodeErr = typ.Decode(payload) }); used > uint64(300*len(payload)+2<<20) {
			t.Fatalf("decoding %d bytes takes %d", len(payload), used)
		}
		if errors.Is(decodeErr, rosmsg.ErrLimit) {
			return // bounds what is unfolded, which Check does not do
		}
		line, jsonErr := typ.AppendJSON(nil, payload)
		text, textErr := typ.AppendText(nil, payload, rosmsg.TextOptions{})
		_, csvErr := typ.Message(payload).AppendCSV(nil, 0, rosmsg.TextOptions{})
		for what, err := range map[string]error{"decode": decodeErr, "JSON": jsonErr, "text": textErr, "CSV": csvErr} {
			if errors.Is(err, rosmsg.ErrLimit) {
				return
			}
			if !same(err, want) {
				t.Fatalf("%s: error %v, check: %v", what, err, want)
			}
		}
		if want != nil && !errors.Is(want, rosmsg.ErrTrailing) {
			return
		}
		if m == nil || len(m.Values) != len(typ.Fields()) {
			t.Fatalf("message %v", m)
		}
		if !json.Valid(line) || bytes.ContainsAny(line, "\n\x1b\x7f") {
			t.Fatalf("not a line of JSON: %q", line)
		}
		if again, _ := typ.AppendText(nil, bytes.Clone(payload), rosmsg.TextOptions{}); !bytes.Equal(text, again) {
			t.Fatalf("text differs:\n%s\n%s", text, again)
		}
		whole := []byte{'{'}
		for i, field := range typ.Fields() {
			v, err := typ.Lookup(payload, field.Name)
			if err != nil {
				t.Fatalf("field %q: %v", field.Name, err)
			}
			if i > 0 {
				whole = append(whole, ',')
			}
			whole = append(jsontext.AppendString(whole, []byte(field.Name)), ':')
			if whole, err = v.AppendJSON(whole); err != nil {
				t.Fatalf("field %q: %v", field.Name, err)
			}
		}
		if whole = append(whole, '}'); !bytes.Equal(whole, line) {
			t.Fatalf("the fields one by one are\n%s, together\n%s", whole, line)
		}
	})
}

func same(a, b error) bool {
	return (a == nil) == (b == nil) && errors.Is(a, rosmsg.ErrTrailing) == errors.Is(b, rosmsg.ErrTrailing) && (a == nil || errors.Is(a, rosmsg.ErrCorrupt))
}
