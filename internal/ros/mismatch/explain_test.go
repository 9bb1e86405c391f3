package mismatch_test

import (
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func parse(t *testing.T, name, text string) *rosmsg.Type {
	t.Helper()
	typ, err := rosmsg.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func sub(name, text string) string {
	return strings.Repeat("=", 80) + "\nMSG: " + name + "\n" + text + "\n"
}

// known is a Known for tests.
type known map[string][]mismatch.Definition

func (k known) Find(typ string) ([]mismatch.Definition, error) { return k[typ], nil }

func define(t *testing.T, typ, text string) mismatch.Definition {
	t.Helper()
	return mismatch.Definition{Type: typ, MD5Sum: parse(t, typ, text).MD5Sum(), Text: text}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	point, wide := define(t, "p/T", "float32 x\nfloat32 y\nfloat32 z\n"), define(t, "p/T", "float64 x\nfloat32 y\nfloat32 z\nstring s\n")
	moved := define(t, "q/T", point.Text)
	similar := define(t, "q/T", point.Text+"int8 n\n")
	two, many := define(t, "p/A", "P[2] a\n"+sub("p/P", "float32 x")), define(t, "p/A", "P[] a\n"+sub("p/P", "float32 x"))
	if two.MD5Sum != many.MD5Sum {
		t.Fatal("the md5sums differ")
	}
	without := func(d mismatch.Definition) mismatch.Definition { d.Text = ""; return d }
	wrong := point
	wrong.Text = "float32 x\n"
	bent := point
	bent.Text = "Nosuch x\n"
	for _, test := range []struct {
		name         string
		have, wanted mismatch.Definition
		known        known
		want         mismatch.Case
		text         string
	}{
		{"the same", point, point, nil, mismatch.Fits, ""},
		{"the same, without the wanted text", point, without(point), nil, mismatch.Fits, ""},
		{"another type", point, define(t, "std_msgs/String", "string data\n"), nil, mismatch.OtherType, "another type: p/T, and not std_msgs/String"},
		{"another type of which nothing is known", point, mismatch.Definition{Type: "a/B", MD5Sum: "00"}, nil, mismatch.OtherType, "another type: p/T, and not a/B"},
		{"another version", point, wide, nil, mismatch.OtherVersion, "another version of p/T: p/T.x: float32 becomes float64; p/T.s (string) is added"},
		{"another version that is known", point, without(wide), known{"p/T": {point, wide}}, mismatch.OtherVersion, "another version of p/T: p/T.x: float32 becomes float64; p/T.s (string) is added"},
		{
			"another version that is not known", point, without(wide),
			known{"p/T": {point}},
			mismatch.UnknownText,
			"another version of p/T, md5sum " + wide.MD5Sum + ": its fields are not known, because it sends no definition and none that is known has its md5sum",
		},
		{"other arrays", two, many, nil, mismatch.OtherArrays, "other arrays of p/A, with the same md5sum: p/A.a: p/P[2] becomes p/P[]"},
		{"moved", point, moved, nil, mismatch.MovedType, "p/T and q/T have the same fields: it may have moved"},
		{"moved and changed", point, similar, nil, mismatch.MovedType, "p/T and q/T have similar fields: it may have moved, and changed: p/T becomes q/T; q/T.n (int8) is added"},
		{
			"wrong text, and the right one is known", wrong, point,
			known{"p/T": {point}},
			mismatch.WrongText,
			"of p/T, the md5sum of its definition is " + parse(t, "p/T", wrong.Text).MD5Sum() + `, and it says "` + point.MD5Sum + `"`,
		},
		{"no text", without(point), wide, nil, mismatch.NoText, "of p/T, it has no definition, and none of the known ones of p/T has its md5sum " + point.MD5Sum},
		{
			"no text, but it is known", without(point), wide,
			known{"p/T": {point}},
			mismatch.WrongText,
			"of p/T, it has no definition; by its messages: p/T.x: float32 becomes float64; p/T.s (string) is added",
		},
		{
			"bent text", bent, wide, nil, mismatch.NoText,
			`of p/T, its definition of "p/T": line 1: no definition of "p/Nosuch", and none of the known ones of p/T has its md5sum ` + point.MD5Sum,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var k mismatch.Known
			if test.known != nil {
				k = test.known
			}
			e := mismatch.Explain(test.have, test.wanted, k, nil)
			if e.Case != test.want || e.Text != test.text {
				t.Errorf("case %d %q, want %d %q", e.Case, e.Text, test.want, test.text)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	d := define(t, "p/T", "int8 a\n")
	other := define(t, "p/T", "int16 a\n")
	mixed := mismatch.Definition{Type: "p/T", MD5Sum: d.MD5Sum, Text: other.Text}
	for _, test := range []struct {
		name     string
		have     mismatch.Definition
		known    known
		sum      string // of what it really is
		unproven bool
		faulty   bool
	}{
		{"right", d, nil, d.MD5Sum, false, false},
		{"wrong, known", mixed, known{"p/T": {other, d}}, d.MD5Sum, false, true},
		{"wrong, not known", mixed, known{"p/T": {other}}, other.MD5Sum, true, true},
		{"no md5sum", mismatch.Definition{Type: "p/T", MD5Sum: "*", Text: d.Text}, nil, d.MD5Sum, true, true},
	} {
		r, err := mismatch.Resolve(test.have, test.known)
		if err != nil || r.MD5Sum != test.sum || r.Parsed.MD5Sum() != test.sum || r.Unproven != test.unproven || (r.Fault != "") != test.faulty {
			t.Errorf("%s: %+v, %v", test.name, r, err)
		}
	}
}
