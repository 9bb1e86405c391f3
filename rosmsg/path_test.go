package rosmsg_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosmsg"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	payload := posesPayload()
	for _, test := range []struct {
		path, typ, json string
	}{
		{"", "p/Poses", posesJSON},
		{"header.seq", "uint32", "7"},
		{"header.stamp", "time", `{"secs":100,"nsecs":5}`},
		{"header.stamp.secs", "uint32", "100"},
		{"header.stamp.nsecs", "uint32", "5"},
		{"header.frame_id", "string", `"map"`},
		{"poses", "p/Pose[]", `[{"at":{"x":1.0,"y":2.0},"name":"one"},{"at":{"x":3.0,"y":4.5},"name":""}]`},
		{"poses[0].name", "string", `"one"`},
		{"poses[1]", "p/Pose", `{"at":{"x":3.0,"y":4.5},"name":""}`},
		{"poses[-1].at.y", "float32", "4.5"},
		{"limits[0]", "float64", `"-Infinity"`},
		{"raw", "uint8[]", `"/v8="`},
		{"raw[1]", "uint8", "255"},
		{"last", "bool", "true"},
	} {
		p, err := typ.Path(test.path)
		if err != nil {
			t.Errorf("%q: %v", test.path, err)
			continue
		}
		v, err := p.Lookup(payload)
		if err != nil {
			t.Errorf("%q: %v", test.path, err)
			continue
		}
		got, err := v.AppendJSON(nil)
		if err != nil || string(got) != test.json || p.Type() != test.typ || v.Type() != test.typ || p.String() != test.path {
			t.Errorf("%q: %s of type %s, error %v, want %s of type %s", test.path, got, p.Type(), err, test.json, test.typ)
		}
	}
}

func TestLookupErrors(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	for _, path := range []string{
		"nothing", "header.", ".header", "header..seq", "header.nothing", "header.seq.x", "poses.at", "poses[", "poses[]", "poses[x]", "poses[1]at",
		"poses.[1]", "header[0]", "limits[2]", "limits[-3]", "last[0]", "header.stamp.sec", "[0]", "poses[1][0]",
	} {
		if _, err := typ.Path(path); !errors.Is(err, rosmsg.ErrNoField) {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{"poses[2]", "poses[-3].at.x", "raw[2]"} {
		_, err := typ.Lookup(posesPayload(), path)
		var e *rosmsg.FieldError
		if !errors.As(err, &e) || e.Path != path || e.Type != "p/Poses" {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestLookupInCut looks for the parts of a time that is cut.
func TestLookupInCut(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/T", "int8 a\ntime at")
	for n := range 9 {
		for _, path := range []string{"at.secs", "at.nsecs"} {
			_, err := typ.Lookup(make([]byte, n), path)
			if want := fmt.Sprintf("p/T: %s at 1: time of 8 bytes, %d left", path, n-1); n > 0 && (err == nil || err.Error() != want) {
				t.Errorf("%d bytes: %v, want %s", n, err, want)
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
	}
}

// TestValue goes through a message by hand.
func TestValue(t *testing.T) {
	t.Parallel()
	v := parse(t, "p/Poses", poses).Message(posesPayload())
	all, err := v.Field("poses")
	if err != nil || all.Kind() != rosmsg.Array || all.Len() != 2 {
		t.Fatalf("poses: %v elements, %v", all.Len(), err)
	}
	last, err := all.Index(-1)
	if err != nil || last.Kind() != rosmsg.Struct {
		t.Fatal(err)
	}
	if at, err := last.Field("at"); err != nil || at.Type() != "p/Point" {
		t.Errorf("%s, %v", at.Type(), err)
	}
	if _, err := all.Index(2); !errors.Is(err, rosmsg.ErrNoField) {
		t.Errorf("index 2: %v", err)
	}
	if _, err := all.Field("at"); !errors.Is(err, rosmsg.ErrNoField) {
		t.Errorf("field of an array: %v", err)
	}
	raw, err := v.Field("raw")
	if err != nil || string(raw.Bytes()) != "\xfe\xff" || raw.Text() != "" || raw.Int() != 0 || raw.Float() != 0 {
		t.Errorf("raw: %x, %v", raw.Bytes(), err)
	}
	b, err := v.Field("last")
	if err != nil || !b.Bool() || b.Int() != 1 || b.Len() != 0 || b.Bytes() != nil || b.Time() != (rosmsg.Stamp{}) {
		t.Errorf("last: %v, %v", b.Bool(), err)
	}
	var none rosmsg.Value
	if x, err := none.Decode(); x != nil || err != nil || none.Kind() != 0 || none.Type() != "" || none.Len() != 0 || none.Int() != 0 || none.Bytes() != nil {
		t.Errorf("the zero Value is %v, %v", x, err)
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/T", "string[] s\nP[2] p\nint16[] n\nE[3] e"+separator+"MSG: p/P\nstring s\nint8 i"+separator+"MSG: p/E\n")
	payload := []byte("\x02\x00\x00\x00\x01\x00\x00\x00a\x02\x00\x00\x00bc" + "\x00\x00\x00\x00\x07\x01\x00\x00\x00x\x08" + "\x01\x00\x00\x00\xff\xff")
	for path, want := range map[string][]string{"s": {`"a"`, `"bc"`}, "p": {`{"s":"","i":7}`, `{"s":"x","i":8}`}, "n": {"-1"}, "e": {"{}", "{}", "{}"}, "n[0]": nil} {
		v, err := typ.Lookup(payload, path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e, err := range v.Elements() {
			text, jsonErr := e.AppendJSON(nil)
			if err != nil || jsonErr != nil {
				t.Fatalf("%s: %v, %v", path, err, jsonErr)
			}
			got = append(got, string(text))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
	// A string that is longer than the payload, once in the element and once before it.
	for at, want := range map[int]string{9: "p/T: [1] at 9: string of 200 bytes", 15: "p/T: [0].s at 15: string of 200 bytes"} {
		bad := bytes.Clone(payload)
		bad[at] = 200
		v := typ.Message(bad)
		all, err := v.Field(map[int]string{9: "s", 15: "p"}[at])
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for e, err := range all.Elements() {
			if n++; err == nil {
				continue
			}
			if !errors.Is(err, rosmsg.ErrCorrupt) || !strings.HasPrefix(err.Error(), want) || e.Kind() != 0 {
				t.Errorf("error %v, want %s", err, want)
			}
			n += 100
		}
		if n != 102 {
			t.Errorf("%d elements and errors", n)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/N", "int8 a\nuint8 b\nint16 c\nuint16 d\nint32 e\nuint32 f\nint64 g\nuint64 h\nfloat32 i\nduration j")
	payload := []byte(strings.Repeat("\xff", 1+1+2+2+4+4+8+8) + "\x00\x00\xc0\xbf\xff\xff\xff\xff\x00\x65\xcd\x1d")
	for path, want := range map[string]struct {
		i int64
		f float64
	}{
		"a": {-1, -1},
		"b": {255, 255},
		"c": {-1, -1},
		"d": {65535, 65535},
		"e": {-1, -1},
		"f": {1<<32 - 1, 1<<32 - 1},
		"g": {-1, -1},
		"h": {-1, 1 << 64},
		"i": {0, -1.5},
		"j": {0, -0.5},
	} {
		v, err := typ.Lookup(payload, path)
		if err != nil || v.Int() != want.i || v.Float() != want.f || v.Uint() != uint64(want.i) {
			t.Errorf("%s: %d, %v, error %v", path, v.Int(), v.Float(), err)
		}
	}
}

// TestMembers iterates over the fields of a message: to the first one that is cut off.
func TestMembers(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse("test/T", "string s\nint32 n\n")
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte{2, 0, 0, 0, 'h', 'i', 7, 0, 0, 0}
	var got []string
	for m, err := range typ.Message(payload).Members() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Name+" "+m.Value.Text()+strconv.FormatInt(m.Value.Int(), 10))
	}
	if want := []string{"s hi0", "n 7"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	n := 0
	for _, err = range typ.Message(payload[:8:8]).Members() {
		n++
	}
	if n != 2 || !errors.Is(err, rosmsg.ErrCorrupt) {
		t.Errorf("%d fields of a short payload, %v", n, err)
	}
	s, err := typ.Lookup(payload, "s")
	if err != nil {
		t.Fatal(err)
	}
	for m := range s.Members() {
		t.Errorf("a string has the field %s", m.Name)
	}
}
