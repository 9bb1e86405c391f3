package msgdiff_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/msgdiff"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const separator = "\n================================================================================\n"

const poses = "time stamp\nPose[] poses\nfloat64[2] limits\nuint8[] raw\nbool last" + separator +
	"MSG: p/Pose\nPoint at\nstring name" + separator + "MSG: p/Point\nfloat32 x\nfloat32 y"

var posesPayload = slices.Concat(
	[]byte("\x07\x00\x00\x00\x05\x00\x00\x00"), []byte("\x02\x00\x00\x00"), make([]byte, 8), []byte("\x03\x00\x00\x00one"), make([]byte, 12),
	make([]byte, 16), []byte("\x02\x00\x00\x00\xfe\xff"), []byte{1},
)

func parse(tb testing.TB, name, text string) *rosmsg.Type {
	tb.Helper()
	t, err := rosmsg.Parse(name, text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// differences lists them as "path: a -> b".
func differences(tb testing.TB, a, b rosmsg.Value) (all []string, err error) {
	tb.Helper()
	for d, e := range msgdiff.All(a, b) {
		if err != nil {
			tb.Fatalf("goes on after %v", err)
		}
		if err = e; e == nil {
			all = append(all, fmt.Sprintf("%s: %s -> %s", d.Path, short(d.A), short(d.B)))
		}
	}
	return all, err
}

func short(v rosmsg.Value) string {
	if v.Kind() == rosmsg.Array || v.Kind() == rosmsg.Struct {
		return fmt.Sprintf("%s of %d", v.Type(), v.Len())
	}
	b, err := v.AppendJSON(nil)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	points := "string name\nPoint[] points\nbool ok" + separator + "MSG: p/Point\nint16 x\nint16 y\n"
	one := []byte("\x01\x00\x00\x00a\x02\x00\x00\x00\x01\x00\x02\x00\x03\x00\x04\x00\x01")
	tests := map[string]struct {
		definition string // of b, if another one
		b          string
		want       []string
		err        error
	}{
		"same":             {"", string(one), nil, nil},
		"string":           {"", "\x02\x00\x00\x00ab" + string(one[5:]), []string{`name: "a" -> "ab"`}, nil},
		"in an element":    {"", string(one[:15]) + "\x05\x00\x01", []string{"points[1].y: 4 -> 5"}, nil},
		"two":              {"", "\x00\x00\x00\x00" + string(one[5:9]) + "\x07" + string(one[10:]), []string{`name: "a" -> ""`, "points[0].x: 1 -> 7"}, nil},
		"an element less":  {"", string(one[:5]) + "\x01\x00\x00\x00\x09\x00\x02\x00\x01", []string{"points: p/Point[] of 2 -> p/Point[] of 1", "points[0].x: 1 -> 9"}, nil},
		"other true":       {"", string(one[:17]) + "\x02", []string{"ok: true -> true"}, nil},
		"cut":              {"", string(one[:14]), nil, io.ErrUnexpectedEOF},
		"cut after others": {"", "\x01\x00\x00\x00b" + string(one[5:17]), []string{`name: "a" -> "b"`}, io.ErrUnexpectedEOF},
		"other fields": {
			"int8 first\nstring name\nuint8 ok", "\x05\x01\x00\x00\x00b\x01",
			[]string{`name: "a" -> "b"`, "points: p/Point[] of 2 -> null", "ok: true -> 1", "first: null -> 5"},
			nil,
		},
		"same in another order": {"bool ok\nPoint[] points\nstring name" + separator + "MSG: p/Point\nint16 y\nint16 x\n", "\x01\x02\x00\x00\x00\x02\x00\x01\x00\x04\x00\x03\x00\x01\x00\x00\x00a", nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := parse(t, "p/T", points)
			b := a
			if tc.definition != "" {
				b = parse(t, "p/T", tc.definition)
			}
			got, err := differences(t, a.Message(one), b.Message([]byte(tc.b)))
			if d := cmp.Diff(tc.want, got); d != "" || !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v; differs (-want +got):\n%s", err, tc.err, d)
			}
		})
	}
}

// TestDifferencesKinds changes each byte of messages in turn: there is a difference unless
// the payload ends early, and none to itself.
func TestDifferencesKinds(t *testing.T) {
	t.Parallel()
	check := func(definition string, payload []byte) {
		t.Helper()
		typ := parse(t, "p/T", definition)
		if err := typ.Check(payload); err != nil {
			t.Fatal(err)
		}
		if got, err := differences(t, typ.Message(payload), typ.Message(slices.Clone(payload))); len(got) > 0 || err != nil {
			t.Errorf("differs from itself: %v, %v", got, err)
		}
		for i := range payload {
			b := slices.Clone(payload)
			b[i] ^= 0x11
			if got, err := differences(t, typ.Message(payload), typ.Message(b)); len(got) == 0 && err == nil {
				t.Errorf("byte %d of %q: no difference", i, definition)
			}
		}
	}
	check(poses, posesPayload)
	for _, k := range []string{"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "time", "duration"} {
		check(k+" a\n"+k+"[2] b", make([]byte, 3*sizes[k]))
		check(k+"[] a\n", append([]byte{3, 0, 0, 0}, make([]byte, 3*sizes[k])...))
	}
}

var sizes = map[string]int{"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "float32": 4, "float64": 8, "time": 8, "duration": 8}

// TestDifferencesEnd stops early.
func TestDifferencesEnd(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/T", "int8 a\nint8 b\nint8[] c\nint8 d")
	for stop := range 5 {
		n := 0
		for range msgdiff.All(typ.Message([]byte{1, 2, 1, 0, 0, 0, 3, 4}), typ.Message([]byte{5, 6, 1, 0, 0, 0, 7, 8})) {
			if n++; n > stop {
				break
			}
		}
		if n != min(stop+1, 4) {
			t.Errorf("%d differences, stopped after %d", n, stop+1)
		}
	}
}

// FuzzDifferences compares anything by anything: equal payloads do not differ, others of
// one type differ or end early.
func FuzzDifferences(f *testing.F) {
	for definition, payload := range map[string][]byte{poses: posesPayload, "": nil, "E[] e\nE[3] f" + separator + "MSG: p/E\n": {9, 0, 0, 0}} {
		changed := slices.Clone(payload)
		if len(changed) > 0 {
			changed[len(changed)/2]++
		}
		f.Add(definition, definition, payload, changed)
		f.Add(definition, poses, payload, payload)
	}
	f.Fuzz(func(t *testing.T, defA, defB string, a, b []byte) {
		typA, err := rosmsg.Parse("p/T", defA)
		if err != nil {
			return
		}
		typB, err := rosmsg.Parse("p/T", defB)
		if err != nil {
			return
		}
		a, b = a[:len(a):len(a)], b[:len(b):len(b)]
		for d, err := range msgdiff.All(typA.Message(a), typA.Message(slices.Clone(a))) {
			if err == nil {
				t.Fatalf("a message differs from itself at %q", d.Path)
			}
		}
		found := 0
		for d, err := range msgdiff.All(typA.Message(a), typB.Message(b)) {
			if found++; err != nil && !errors.Is(err, rosmsg.ErrCorrupt) {
				t.Fatalf("untyped error %v", err)
			}
			if err == nil && d.A.Kind() == 0 && d.B.Kind() == 0 {
				t.Fatalf("nothing differs from nothing at %q", d.Path)
			}
			if found > 10000 {
				return
			}
		}
		if defA == defB && found == 0 && string(a) != string(b) && typA.Check(a) == nil && typA.Check(b) == nil {
			t.Fatalf("%x and %x do not differ", a, b)
		}
	})
}
