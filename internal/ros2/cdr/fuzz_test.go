package cdr_test

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2/cdr"
)

// fuzzed are the structs of the fuzz tests: the vectors' in one array each, and one whose
// fields have another order in ROS 2.
func fuzzed(t testing.TB) []*cdr.Plan {
	t.Helper()
	var all []*cdr.Plan
	for _, v := range vectors {
		all = append(all, compile(t, v.of), compile(t, message(field("a", cdr.Width1), sequence(nested("all", v.of)), field("z", cdr.Width4))))
	}
	turned := &cdr.Struct{
		Fields1: []cdr.Field{{Name: "a", Value: cdr.Value{Kind: cdr.String}, Peer: 1}, {Name: "b", Value: cdr.Value{Kind: cdr.Width8, Array: cdr.Sequence}, Peer: 0}},
		Fields2: []cdr.Field{
			{Name: "b", Value: cdr.Value{Kind: cdr.Width8, Array: cdr.Sequence}, Peer: 1},
			{Name: "a", Value: cdr.Value{Kind: cdr.String}, Peer: 0},
			{Name: "c", Value: cdr.Value{Kind: cdr.Message, Struct: header(), Array: cdr.Sequence}, Peer: -1},
		},
	}
	return append(all, compile(t, turned), compile(t, message(sequence(nested("all", turned)))))
}

func FuzzEncode(f *testing.F) {
	for i, v := range vectors {
		f.Add(uint8(2*i), unhex(f, v.ros1))
	}
	plans := fuzzed(f)
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		p := plans[int(which)%len(plans)]
		out, err := p.ToCDR(nil, payload, nil, cdr.Options{})
		if err != nil {
			if !errors.Is(err, cdr.ErrCorrupt) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if len(out) > 2*64*len(payload)+4<<20 {
			t.Fatalf("%d bytes become %d", len(payload), len(out))
		}
		if _, err := p.FromCDR(nil, out, nil); err != nil {
			t.Fatalf("%x becomes %x: %v", payload, out, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for i, v := range vectors {
		f.Add(uint8(2*i), unhex(f, v.cdr))
		f.Add(uint8(2*i), unhex(f, v.swapped))
	}
	plans := fuzzed(f)
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		p := plans[int(which)%len(plans)]
		out, err := p.FromCDR(nil, in, nil)
		if err != nil {
			if !errors.Is(err, cdr.ErrCorrupt) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if len(out) > 2*64*len(in)+4<<20 {
			t.Fatalf("%d bytes become %d", len(in), len(out))
		}
		if _, err := p.ToCDR(nil, out, nil, cdr.Options{}); err != nil {
			t.Fatalf("%x becomes %x: %v", in, out, err)
		}
	})
}
