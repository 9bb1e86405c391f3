package cdr_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2/cdr"
)

var le = binary.LittleEndian

// message makes a struct whose fields are the same on both sides.
func message(fields ...cdr.Field) *cdr.Struct {
	s := &cdr.Struct{Name1: "p/T", Name2: "p/msg/T"}
	for i, f := range fields {
		f.Peer = i
		s.Fields1 = append(s.Fields1, f)
		s.Fields2 = append(s.Fields2, f)
	}
	return s
}

func field(name string, kind cdr.Kind) cdr.Field {
	return cdr.Field{Name: name, Value: cdr.Value{Kind: kind}}
}

func sequence(f cdr.Field) cdr.Field {
	f.Value.Array = cdr.Sequence
	return f
}

func fixed(f cdr.Field, n int) cdr.Field {
	f.Value.Array, f.Value.Length = cdr.Fixed, n
	return f
}

func nested(name string, s *cdr.Struct) cdr.Field {
	return cdr.Field{Name: name, Value: cdr.Value{Kind: cdr.Message, Struct: s}}
}

// header is std_msgs/Header, whose seq is only in ROS 1.
func header() *cdr.Struct {
	return &cdr.Struct{
		Name1: "std_msgs/Header", Name2: "std_msgs/msg/Header",
		Fields1: []cdr.Field{
			{Name: "seq", Value: cdr.Value{Kind: cdr.Width4}, Peer: -1},
			{Name: "stamp", Value: cdr.Value{Kind: cdr.Time}, Peer: 0},
			{Name: "frame_id", Value: cdr.Value{Kind: cdr.String}, Peer: 1},
		},
		Fields2: []cdr.Field{
			{Name: "stamp", Value: cdr.Value{Kind: cdr.Time}, Peer: 1},
			{Name: "frame_id", Value: cdr.Value{Kind: cdr.String}, Peer: 2},
		},
	}
}

func compile(t testing.TB, s *cdr.Struct) *cdr.Plan {
	t.Helper()
	p, err := cdr.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// vectors are messages as two independent encoders of CDR write them.
var vectors = []struct {
	name      string
	of        *cdr.Struct
	ros1, cdr string // in hexadecimal
	swapped   string // big endian, of some
}{
	{
		name: "header and float64", of: message(nested("header", header()), field("x", cdr.Width8)),
		ros1:    "00000000 01000000 02000000 02000000 6162 000000000000f03f",
		cdr:     "00010000 01000000 02000000 03000000 616200 00 000000000000f03f",
		swapped: "00000000 00000001 00000002 00000003 616200 00 3ff0000000000000",
	},
	{
		name: "no padding after an empty sequence", of: message(field("a", cdr.Width1), sequence(field("d", cdr.Width8)), field("b", cdr.Width1)),
		ros1: "01 00000000 02",
		cdr:  "00010000 01 000000 00000000 02",
	},
	{
		name: "sequence", of: message(field("a", cdr.Width1), sequence(field("d", cdr.Width8)), field("b", cdr.Width1)),
		ros1:    "01 01000000 000000000000f03f 02",
		cdr:     "00010000 01 000000 01000000 000000000000f03f 02",
		swapped: "00000000 01 000000 00000001 3ff0000000000000 02",
	},
	{
		name: "strings", of: message(sequence(field("s", cdr.String)), field("u", cdr.Width2)),
		ros1:    "02000000 00000000 03000000 616263 0700",
		cdr:     "00010000 02000000 01000000 00 000000 04000000 61626300 0700",
		swapped: "00000000 00000002 00000001 00 000000 00000004 61626300 0007",
	},
	{name: "no fields", of: message(), ros1: "", cdr: "00010000 00"},
	{
		name: "nested without fields", of: message(nested("g", message()), field("u", cdr.Width4)),
		ros1: "05000000",
		cdr:  "00010000 00 000000 05000000",
	},
	{
		name: "array of structs", of: message(field("b", cdr.Bool), fixed(nested("p", message(field("k", cdr.Width1), field("v", cdr.Width8))), 2)),
		ros1:    "01 01 000000000000f03f 02 0000000000000040",
		cdr:     "00010000 01 01 000000000000 000000000000f03f 02 00000000000000 0000000000000040",
		swapped: "00000000 01 01 000000000000 3ff0000000000000 02 00000000000000 4000000000000000",
	},
	{
		name: "padding before a number, not after the sequence", of: message(sequence(field("d", cdr.Width8)), field("x", cdr.Width8)),
		ros1: "00000000 000000000000f03f",
		cdr:  "00010000 00000000 00000000 000000000000f03f",
	},
	{
		name: "bools", of: message(field("b", cdr.Bool), field("i", cdr.Width1), sequence(field("s", cdr.Bool))),
		ros1: "01 ff 02000000 0100",
		cdr:  "00010000 01 ff 0000 02000000 01 00",
	},
	{
		name: "run of points", of: message(field("a", cdr.Width1), sequence(nested("p", message(field("x", cdr.Width8), field("y", cdr.Width8))))),
		ros1:    "01 01000000 000000000000f03f 0000000000000040",
		cdr:     "00010000 01 000000 01000000 000000000000f03f 0000000000000040",
		swapped: "00000000 01 000000 00000001 3ff0000000000000 4000000000000000",
	},
	{
		name: "widths go down and up", of: message(field("a", cdr.Width4), field("b", cdr.Width2), field("c", cdr.Width1), field("d", cdr.Width1), field("e", cdr.Width2), field("f", cdr.Width4)),
		ros1:    "01000000 0200 03 04 0500 06000000",
		cdr:     "00010000 01000000 0200 03 04 0500 0000 06000000",
		swapped: "00000000 00000001 0002 03 04 0005 0000 00000006",
	},
	{
		name: "time and duration", of: message(field("a", cdr.Width1), field("t", cdr.Time), fixed(field("d", cdr.Duration), 2)),
		ros1:    "01 01000000 02000000 ffffffff 0065cd1d 03000000 04000000",
		cdr:     "00010000 01 000000 01000000 02000000 ffffffff 0065cd1d 03000000 04000000",
		swapped: "00000000 01 000000 00000001 00000002 ffffffff 1dcd6500 00000003 00000004",
	},
	{
		name: "string with NUL and bad UTF-8", of: message(field("s", cdr.String)),
		ros1: "04000000 6100 ff00",
		cdr:  "00010000 05000000 6100 ff00 00",
	},
	{
		name: "levels", of: message(fixed(field("l", cdr.Level), 6)),
		ros1: "01 02 04 08 10 03",
		cdr:  "00010000 0a 14 1e 28 32 03",
	},
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := compile(t, v.of)
			one, two := unhex(t, v.ros1), unhex(t, v.cdr)
			got, err := p.ToCDR([]byte("before"), one, nil, cdr.Options{})
			if err != nil || !bytes.Equal(got, append([]byte("before"), two...)) {
				t.Errorf("to CDR: %x, %v, want %x", got, err, two)
			}
			sources := [][]byte{two}
			if v.swapped != "" {
				sources = append(sources, unhex(t, v.swapped))
			}
			for _, source := range sources {
				for tail := range 4 {
					got, err := p.FromCDR([]byte("before"), append(source[:len(source):len(source)], make([]byte, tail)...), nil)
					if err != nil || !bytes.Equal(got, append([]byte("before"), one...)) {
						t.Errorf("from CDR %x with %d bytes of padding: %x, %v, want %x", source, tail, got, err, one)
					}
				}
				if _, err := p.FromCDR(nil, append(source[:len(source):len(source)], 0, 0, 0, 0), nil); !errors.Is(err, cdr.ErrTrailing) || !errors.Is(err, cdr.ErrCorrupt) {
					t.Errorf("from CDR with 4 bytes after it: %v", err)
				}
				for i := range source {
					if i == 4 && len(one) == 0 {
						continue // see TestLenient
					}
					if dst, err := p.FromCDR([]byte("x"), source[:i:i], nil); !errors.Is(err, io.ErrUnexpectedEOF) || string(dst) != "x" {
						t.Errorf("from CDR cut at %d: %q, %v", i, dst, err)
					}
				}
			}
			for i := range one {
				if dst, err := p.ToCDR([]byte("x"), one[:i:i], nil, cdr.Options{}); !errors.Is(err, io.ErrUnexpectedEOF) || string(dst) != "x" {
					t.Errorf("to CDR cut at %d: %q, %v", i, dst, err)
				}
			}
			if _, err := p.ToCDR(nil, append(one[:len(one):len(one)], 0), nil, cdr.Options{}); !errors.Is(err, cdr.ErrTrailing) {
				t.Errorf("to CDR with a byte after it: %v", err)
			}
		})
	}
}

// TestLenient checks what is accepted, but never written.
func TestLenient(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		of        *cdr.Struct
		cdr, ros1 string
	}{
		{"string of length 0", message(field("s", cdr.String), field("u", cdr.Width1)), "00010000 00000000 07", "00000000 07"},
		{"string without NUL", message(field("s", cdr.String)), "00010000 02000000 6162", "02000000 6162"},
		{"options of the encapsulation", message(field("u", cdr.Width1)), "00010003 07", "07"},
		{"padding that is not 0", message(field("a", cdr.Width1), field("b", cdr.Width4)), "00010000 01 ffffff 02000000", "01 02000000"},
		{"bool of 255", message(field("b", cdr.Bool)), "00010000 ff", "01"},
		{"dummy byte that is not 0", message(), "00010000 ff", ""},
		{"no dummy byte", message(), "00010000", ""},
	}
	for _, tt := range tests {
		got, err := compile(t, tt.of).FromCDR(nil, unhex(t, tt.cdr), nil)
		if want := unhex(t, tt.ros1); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, %v, want %x", tt.name, got, err, want)
		}
	}
	got, err := compile(t, message(sequence(field("b", cdr.Bool)))).ToCDR(nil, unhex(t, "02000000 ff 02"), nil, cdr.Options{})
	if want := unhex(t, "00010000 02000000 01 01"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("bools of 255 and 2: %x, %v, want %x", got, err, want)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	const big = math.MaxInt32
	tests := []struct {
		name       string
		kind       cdr.Kind
		back       bool // from CDR
		sec, nsec  uint32
		wantSec    uint32
		wantNsec   uint32
		wantCounts cdr.Counts
	}{
		{name: "zero", kind: cdr.Time},
		{name: "last", kind: cdr.Time, sec: big, nsec: 999999999, wantSec: big, wantNsec: 999999999},
		{name: "2038", kind: cdr.Time, sec: big + 1, wantSec: big + 1, wantCounts: cdr.Counts{WrappedTimes: 1}},
		{name: "end of ROS 1", kind: cdr.Time, sec: math.MaxUint32, nsec: 1, wantSec: math.MaxUint32, wantNsec: 1, wantCounts: cdr.Counts{WrappedTimes: 1}},
		{name: "carry", kind: cdr.Time, sec: 1, nsec: 2500000000, wantSec: 3, wantNsec: 500000000, wantCounts: cdr.Counts{NormalizedTimes: 1}},
		{name: "carry into 2038", kind: cdr.Time, sec: big, nsec: 1000000000, wantSec: big + 1, wantCounts: cdr.Counts{NormalizedTimes: 1, WrappedTimes: 1}},
		{name: "minus half a second", kind: cdr.Duration, sec: math.MaxUint32, nsec: 500000000, wantSec: math.MaxUint32, wantNsec: 500000000},
		{name: "minus half a second, not normal", kind: cdr.Duration, nsec: 1<<32 - 500000000, wantSec: math.MaxUint32, wantNsec: 500000000, wantCounts: cdr.Counts{NormalizedTimes: 1}},
		{name: "minus two seconds", kind: cdr.Duration, nsec: 1<<32 - 2000000000, wantSec: 1<<32 - 2, wantCounts: cdr.Counts{NormalizedTimes: 1}},
		{name: "carry of a duration", kind: cdr.Duration, sec: 1, nsec: 1500000000, wantSec: 2, wantNsec: 500000000, wantCounts: cdr.Counts{NormalizedTimes: 1}},
		{name: "longest", kind: cdr.Duration, sec: big, nsec: 1500000000, wantSec: big, wantNsec: 999999999, wantCounts: cdr.Counts{NormalizedTimes: 1, ClampedTimes: 1}},
		{name: "shortest", kind: cdr.Duration, sec: big + 1, nsec: 1<<32 - 1, wantSec: big + 1, wantCounts: cdr.Counts{NormalizedTimes: 1, ClampedTimes: 1}},

		{name: "before 1970", kind: cdr.Time, back: true, sec: math.MaxUint32, nsec: 5, wantCounts: cdr.Counts{ClampedTimes: 1}},
		{name: "carry", kind: cdr.Time, back: true, sec: 1, nsec: math.MaxUint32, wantSec: 5, wantNsec: 294967295, wantCounts: cdr.Counts{NormalizedTimes: 1}},
		{name: "carry beyond 2038", kind: cdr.Time, back: true, sec: big, nsec: 1000000000, wantSec: big + 1, wantCounts: cdr.Counts{NormalizedTimes: 1}},
		{name: "carry of a duration", kind: cdr.Duration, back: true, sec: math.MaxUint32, nsec: math.MaxUint32, wantSec: 3, wantNsec: 294967295, wantCounts: cdr.Counts{NormalizedTimes: 1}},
		{name: "longest", kind: cdr.Duration, back: true, sec: big, nsec: 3000000000, wantSec: big, wantNsec: 999999999, wantCounts: cdr.Counts{NormalizedTimes: 1, ClampedTimes: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := compile(t, message(field("t", tt.kind)))
			in := le.AppendUint32(le.AppendUint32(nil, tt.sec), tt.nsec)
			var n cdr.Counts
			var out []byte
			var err error
			if tt.back {
				out, err = p.FromCDR(nil, append([]byte{0, 1, 0, 0}, in...), &n)
			} else if out, err = p.ToCDR(nil, in, &n, cdr.Options{}); err == nil {
				out = out[4:]
			}
			if err != nil {
				t.Fatal(err)
			}
			if sec, nsec := le.Uint32(out), le.Uint32(out[4:]); sec != tt.wantSec || nsec != tt.wantNsec {
				t.Errorf("%d s %d ns, want %d s %d ns", int32(sec), nsec, int32(tt.wantSec), tt.wantNsec)
			}
			if n != tt.wantCounts {
				t.Errorf("counts %+v, want %+v", n, tt.wantCounts)
			}
			_, err = p.ToCDR(nil, in, nil, cdr.Options{RefuseLateTimes: true})
			if want := tt.kind == cdr.Time && !tt.back && tt.wantCounts.WrappedTimes > 0; want != errors.Is(err, cdr.ErrTime) && !tt.back {
				t.Errorf("late times refused: %v, want an error: %v", err, want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	poses := message(nested("header", header()), sequence(nested("poses", message(nested("at", message(field("x", cdr.Width8), field("y", cdr.Width8))), field("name", cdr.String)))))
	bounded := message(sequence(field("d", cdr.Width8)))
	bounded.Fields1[0].Value.Length, bounded.Fields2[0].Value.Length = 1, 1
	tests := []struct {
		name string
		of   *cdr.Struct
		back bool
		in   string
		err  error
		text string
	}{
		{
			name: "cut in a string", of: poses, in: "00000000 01000000 02000000 00000000 01000000 000000000000f03f ffffffff 00000000 05000000 61",
			err: io.ErrUnexpectedEOF, text: "p/T field poses[0].name at byte 36: 5 bytes expected, 1 left",
		},
		{
			name: "too many elements", of: poses, in: "00000000 01000000 02000000 00000000 ffffffff",
			err: io.ErrUnexpectedEOF, text: "p/T field poses at byte 16: 4294967295 elements of at least 20 bytes, 0 bytes left",
		},
		{
			name: "long string", of: poses, in: "00000000 01000000 02000000 ffffffff 61",
			err: io.ErrUnexpectedEOF, text: "p/T field header.frame_id at byte 12: 4294967295 bytes expected, 1 left",
		},
		{
			name: "second field of a run", of: message(field("a", cdr.Width4), fixed(field("b", cdr.Width2), 3)), in: "01000000 0203",
			err: io.ErrUnexpectedEOF, text: "p/T field b at byte 4: 6 bytes expected, 2 left",
		},
		{name: "bound of ROS 2", of: bounded, in: "02000000 00000000 00000000 00000000 00000000", err: cdr.ErrLimit, text: "p/T field d at byte 0: 2 elements; ROS 2 allows at most 1"},
		{
			name: "string of CDR", of: poses, back: true, in: "00010000 01000000 02000000 09000000 6162",
			err: io.ErrUnexpectedEOF, text: "p/msg/T field header.frame_id at byte 12: 9 bytes expected, 2 left",
		},
		{
			name: "element of CDR", of: poses, back: true, in: "00010000 01000000 02000000 01000000 00 000000 01000000 00000000" + strings.Repeat("00", 16) + "05000000 61",
			err: io.ErrUnexpectedEOF, text: "p/msg/T field poses[0].name at byte 44: 5 bytes expected, 1 left",
		},
		{name: "XCDR2", of: poses, back: true, in: "00070000 00", err: cdr.ErrUnsupported, text: "p/msg/T at byte 0: encapsulation CDR2_LE (XCDR2); only CDR of version 1 is supported"},
		{name: "parameter list", of: poses, back: true, in: "00030000 00", err: cdr.ErrUnsupported, text: "p/msg/T at byte 0: encapsulation PL_CDR_LE; only CDR of version 1 is supported"},
		{name: "no encapsulation", of: poses, back: true, in: "61626364", err: cdr.ErrUnsupported, text: "p/msg/T at byte 0: unknown encapsulation 61 62; want 00 00 or 00 01"},
		{name: "nothing", of: poses, back: true, in: "", err: io.ErrUnexpectedEOF, text: "p/msg/T at byte 0: 4 bytes expected, 0 left"},
		{name: "padding alone", of: message(field("a", cdr.Width1), field("b", cdr.Width8)), back: true, in: "00010000 01 0000", err: io.ErrUnexpectedEOF, text: "p/msg/T field b at byte 12: 8 bytes expected, 0 left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, in := compile(t, tt.of), unhex(t, tt.in)
			var err error
			if tt.back {
				_, err = p.FromCDR(nil, in, nil)
			} else {
				_, err = p.ToCDR(nil, in, nil, cdr.Options{})
			}
			if !errors.Is(err, tt.err) || !errors.Is(err, cdr.ErrCorrupt) {
				t.Fatalf("%v, want %v", err, tt.err)
			}
			if tt.text != "" && err.Error() != tt.text {
				t.Errorf("text %q, want %q", err, tt.text)
			}
		})
	}
}

// TestOtherOrder checks structs whose fields have another order in ROS 2, or are missing
// on one side, also inside of arrays.
func TestOtherOrder(t *testing.T) {
	t.Parallel()
	one := &cdr.Struct{
		Name1: "p/T", Name2: "p/msg/T",
		Fields1: []cdr.Field{
			{Name: "a", Value: cdr.Value{Kind: cdr.Width1}, Peer: 3},
			{Name: "old", Value: cdr.Value{Kind: cdr.String}, Peer: -1},
			{Name: "b", Value: cdr.Value{Kind: cdr.String}, Peer: 1},
			{Name: "c", Value: cdr.Value{Kind: cdr.Width8, Array: cdr.Sequence}, Peer: 0},
		},
		Fields2: []cdr.Field{
			{Name: "c", Value: cdr.Value{Kind: cdr.Width8, Array: cdr.Sequence}, Peer: 3},
			{Name: "b", Value: cdr.Value{Kind: cdr.String}, Peer: 2},
			{Name: "new", Value: cdr.Value{Kind: cdr.Width4}, Peer: -1},
			{Name: "a", Value: cdr.Value{Kind: cdr.Width1}, Peer: 0},
		},
	}
	element := "07 01000000 78 02000000 6162 01000000 000000000000f03f"
	first := "01000000 00000000 000000000000f03f 03000000 616200 00 00000000 07"
	for _, tt := range []struct {
		of              *cdr.Struct
		one, two, again string
	}{
		{of: one, one: element, two: "00010000" + first, again: "07 00000000 02000000 6162 01000000 000000000000f03f"},
		{
			of: message(sequence(nested("all", one))), one: "02000000" + element + element,
			two:   "00010000 02000000 01000000 000000000000f03f 03000000 616200 00 00000000 07 000000 01000000 00000000 000000000000f03f 03000000 616200 00 00000000 07",
			again: "02000000" + strings.Repeat("07 00000000 02000000 6162 01000000 000000000000f03f", 2),
		},
	} {
		p := compile(t, tt.of)
		two, err := p.ToCDR(nil, unhex(t, tt.one), nil, cdr.Options{})
		if want := unhex(t, tt.two); err != nil || !bytes.Equal(two, want) {
			t.Fatalf("to CDR: %x, %v, want %x", two, err, want)
		}
		again, err := p.FromCDR(nil, two, nil)
		if want := unhex(t, tt.again); err != nil || !bytes.Equal(again, want) {
			t.Errorf("from CDR: %x, %v, want %x", again, err, want)
		}
		for i := range two {
			if _, err := p.FromCDR(nil, two[:i:i], nil); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("from CDR cut at %d: %v", i, err)
			}
		}
	}
}

// TestDropped checks that values without a field in ROS 1 are counted if they are not empty.
func TestDropped(t *testing.T) {
	t.Parallel()
	inner := message(field("s", cdr.String), sequence(field("d", cdr.Width1)))
	s := &cdr.Struct{Name1: "p/T", Name2: "p/msg/T", Fields2: []cdr.Field{
		{Name: "f", Value: cdr.Value{Kind: cdr.Width4}, Peer: -1},
		{Name: "t", Value: cdr.Value{Kind: cdr.Time}, Peer: -1},
		{Name: "m", Value: cdr.Value{Kind: cdr.Message, Struct: inner}, Peer: -1},
		{Name: "a", Value: cdr.Value{Kind: cdr.Message, Struct: inner, Array: cdr.Fixed, Length: 1}, Peer: -1},
		{Name: "b", Value: cdr.Value{Kind: cdr.Bool}, Peer: -1},
	}}
	p := compile(t, s)
	empty, err := p.ToCDR(nil, nil, nil, cdr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		in   []byte
		want int64
	}{
		"empty": {empty, 0},
		"full":  {unhex(t, "00010000 01000000 01000000 00000000 02000000 6100 0000 01000000 05 000000 02000000 6200 0000 00000000 01"), 6},
	} {
		var n cdr.Counts
		out, err := p.FromCDR(nil, tt.in, &n)
		if err != nil || len(out) > 0 || n.DroppedValues != tt.want {
			t.Errorf("%s: %x, %v, %d dropped, want %d", name, out, err, n.DroppedValues, tt.want)
		}
	}
}

// TestBounds checks that neither definitions nor payloads make much of little.
func TestBounds(t *testing.T) {
	t.Parallel()
	empty := message()
	empties := sequence(nested("e", empty))
	many := le.AppendUint32(nil, math.MaxUint32)
	if out, err := compile(t, message(empties)).ToCDR(nil, many, nil, cdr.Options{}); !errors.Is(err, cdr.ErrLimit) || out != nil {
		t.Errorf("4 billion empty messages: %d bytes, %v", len(out), err)
	}
	some := le.AppendUint32(nil, 1000)
	if out, err := compile(t, message(empties)).ToCDR(nil, some, nil, cdr.Options{}); err != nil || len(out) != 1008 {
		t.Errorf("1000 empty messages: %d bytes, %v", len(out), err)
	}
	inner := le.AppendUint32(nil, 1000)
	for range 1000 {
		inner = le.AppendUint32(inner, 1<<20-1)
	}
	if out, err := compile(t, message(sequence(nested("s", message(empties))))).ToCDR(nil, inner, nil, cdr.Options{}); !errors.Is(err, cdr.ErrLimit) {
		t.Errorf("1000 times a million empty messages: %d bytes, %v", len(out), err)
	}
	if _, err := cdr.Compile(message(fixed(nested("e", empty), 1<<24))); !errors.Is(err, cdr.ErrLimit) {
		t.Errorf("array of 16 million empty messages: %v", err)
	}
	double := message(field("x", cdr.Width1))
	doubleEmpty := empty
	for range 60 {
		double = message(nested("a", double), nested("b", double))
		doubleEmpty = message(nested("a", doubleEmpty), nested("b", doubleEmpty))
	}
	for _, s := range []*cdr.Struct{double, doubleEmpty} {
		if _, err := cdr.Compile(s); !errors.Is(err, cdr.ErrLimit) {
			t.Errorf("a message of 2^60 messages: %v", err)
		}
	}
	// Fields that ROS 2 lacks: neither bytes nor steps of them may become many.
	array := fixed(nested("e", empty), 1000)
	array.Peer = -1
	only1 := &cdr.Struct{Fields1: []cdr.Field{array}}
	for range 60 {
		f := nested("a", only1)
		f.Peer = -1
		only1 = &cdr.Struct{Fields1: []cdr.Field{f, f}}
	}
	if out, err := compile(t, only1).ToCDR(nil, nil, nil, cdr.Options{}); err != nil || len(out) != 5 {
		t.Errorf("a dropped field of 2^60 messages: %d bytes, %v", len(out), err)
	}
	dropped := sequence(nested("s", message(empties)))
	dropped.Peer = -1
	billions := le.AppendUint32(nil, 1000)
	for range 1000 {
		billions = le.AppendUint32(billions, math.MaxInt32)
	}
	out, err := compile(t, &cdr.Struct{Fields1: []cdr.Field{dropped}}).ToCDR(nil, billions, nil, cdr.Options{})
	if err != nil || len(out) != 5 {
		t.Errorf("a thousand times two billion empty messages that are dropped: %d bytes, %v", len(out), err)
	}
}

// TestPeers checks that a struct which contradicts itself is found at once.
func TestPeers(t *testing.T) {
	t.Parallel()
	s := message(field("a", cdr.Width1), field("b", cdr.Width1))
	s.Fields2[1].Peer = 0
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = cdr.Compile(s)
}
