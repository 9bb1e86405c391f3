package rosmsg_test

import (
	"bytes"
	"testing"

	"github.com/gorosbag/gorosbag/rosmsg"
)

func TestWire(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse("test/T", "int8[] a\nuint16[2] b\nstring s\nstring[] l\ntime[] t\nuint8[] u\nfloat32 f\n")
	if err != nil {
		t.Fatal(err)
	}
	payload := bytes.Join([][]byte{{2, 0, 0, 0, 0xff, 1}, {1, 2, 3, 4}, {1, 0, 0, 0, 's'}, {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0, 9}, {0, 0, 0, 0}}, nil)
	for field, want := range map[string][]byte{
		"a": {0xff, 1}, "b": {1, 2, 3, 4}, "s": nil, "l": nil, "t": nil, "u": {9}, "f": nil, "": nil,
	} {
		v, err := typ.Lookup(payload, field)
		if got := v.Wire(); !bytes.Equal(got, want) || (got == nil) != (want == nil) || cap(got) != len(got) || err != nil {
			t.Errorf("%q: % x of capacity %d, want % x; %v", field, got, cap(got), want, err)
		}
	}
}
