package rosmsg_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

type goHeader struct {
	Seq     uint32
	Stamp   time.Time
	FrameID string
}

type goPoint struct{ X, Y float32 }

type goPose struct {
	At     *goPoint
	Name   string
	hidden int
	Own    func() `ros:"-"`
}

type goPoses struct {
	goHeader `ros:"header"` // an embedded struct that is not exported stands for nothing
	Header   goHeader
	Poses    []goPose
	Limits   [2]float64
	Bytes    []byte `ros:"raw"`
	Last     bool
}

// TestEncode encodes one message from values of several Go types.
func TestEncode(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	want := posesPayload()
	decoded, err := typ.Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	limits := [2]float64{math.Inf(-1), math.NaN()}
	value := goPoses{
		Header: goHeader{7, time.Unix(100, 5), "map"},
		Poses:  []goPose{{At: &goPoint{1, 2}, Name: "one", hidden: 1}, {At: &goPoint{3, 4.5}}},
		Limits: limits, Bytes: []byte{0xfe, 0xff}, Last: true,
	}
	type named string
	for name, v := range map[string]any{
		"message": decoded, "struct": value, "pointer": &value,
		"map": map[named]any{
			"header": map[string]any{"seq": 7.0, "stamp": rosbag.Time{Sec: 100, Nsec: 5}, "frame_id": named("map")},
			"poses":  []any{map[string]any{"at": map[string]int{"x": 1, "y": 2}, "name": "one"}, goPose{At: &goPoint{3, 4.5}}},
			"limits": []float64{limits[0], limits[1]}, "raw": []uint16{0xfe, 0xff}, "last": true,
		},
		"map with parts": map[string]any{
			"header": decoded.Get("header"), "poses": decoded.Get("poses"), "limits": &limits, "raw": []any{254, int8(-1) & 0x7f}, "last": true,
		},
	} {
		got, err := typ.Append([]byte("before"), v)
		if name == "map with parts" { // its last byte of raw is another one
			got = bytes.Replace(got, []byte{0xfe, 0x7f}, []byte{0xfe, 0xff}, 1)
		}
		if diff := cmp.Diff(hex.Dump(append([]byte("before"), want...)), hex.Dump(got)); diff != "" || err != nil {
			t.Errorf("%s: error %v, differs (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestSet changes fields of a decoded message.
func TestSet(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	m, err := typ.Decode(posesPayload())
	if err != nil {
		t.Fatal(err)
	}
	header := m.Get("header").(*rosmsg.Message)
	if err := header.Set("frame_id", "world"); err != nil {
		t.Fatal(err)
	}
	if err := m.Set("last", false); err != nil {
		t.Fatal(err)
	}
	var bad *rosmsg.FieldError
	if err := header.Set("frame", "world"); !errors.As(err, &bad) || bad.Error() != `std_msgs/Header: path "frame": std_msgs/Header has no field "frame": it has seq, stamp, frame_id` {
		t.Error(err)
	}
	got, err := typ.Encode(m)
	want := bytes.Replace(posesPayload(), []byte("\x03\x00\x00\x00map"), []byte("\x05\x00\x00\x00world"), 1)
	if want[len(want)-1] = 0; !bytes.Equal(got, want) || err != nil {
		t.Errorf("% x, %v", got, err)
	}
}

// TestEncodeZero leaves fields out.
func TestEncodeZero(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	want := make([]byte, 16+4+16+4+1)
	for name, v := range map[string]any{
		"nil": nil, "nil message": (*rosmsg.Message)(nil), "nil map": map[string]int(nil), "empty map": map[string]any{}, "struct": goPoses{}, "part": struct{ Last bool }{},
		"nils": map[string]any{"header": nil, "poses": nil, "limits": []float64(nil)},
	} {
		if got, err := typ.Encode(v); !bytes.Equal(got, want) || err != nil {
			t.Errorf("%s: % x, %v", name, got, err)
		}
	}
}

func TestEncodeScalars(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typ   string
		value any
		want  string // in hexadecimal
	}{
		{"int8", -128, "80"},
		{"int8", uint64(127), "7f"},
		{"byte", int8(-1), "ff"},
		{"char", 'a', "61"},
		{"uint8", 255.0, "ff"},
		{"int16", int32(-2), "feff"},
		{"uint16", uint8(1), "0100"},
		{"int32", -1.0, "ffffffff"},
		{"uint32", uint(1 << 31), "00000080"},
		{"int64", math.MinInt64, "0000000000000080"},
		{"uint64", uint64(math.MaxUint64), "ffffffffffffffff"},
		{"uint64", 1 << 62, "0000000000000040"},
		{"float32", 1.5, "0000c03f"},
		{"float32", 1, "0000803f"},
		{"float32", math.Inf(1), "0000807f"},
		{"float32", math.Float32frombits(0x7f800001), "0100807f"},
		{"float64", uint8(1), "000000000000f03f"},
		{"float64", float32(0.5), "000000000000e03f"},
		{"bool", true, "01"},
		{"string", "\xff", "01000000ff"},
		{"time", rosmsg.Stamp{Secs: 1, Nsecs: 2e9}, "0100000000943577"},
		{"time", time.Time{}, "0000000000000000"},
		{"time", time.Unix(1, 2), "0100000002000000"},
		{"time", rosbag.Time{Sec: 1, Nsec: 2}, "0100000002000000"},
		{"duration", rosmsg.Span{Secs: -1, Nsecs: 5}, "ffffffff05000000"},
		{"duration", -time.Nanosecond, "ffffffffffc99a3b"},
		{"duration", 1500 * time.Millisecond, "010000000065cd1d"},
		{"int8[2]", [2]int{1, -1}, "01ff"},
		{"string[]", []string{"a"}, "010000000100000061"},
		{"bool[]", []bool{}, "00000000"},
		{"uint8[]", []byte("ab"), "020000006162"},
		{"time[]", []time.Time{time.Unix(1, 0)}, "010000000100000000000000"},
	} {
		typ := parse(t, "p/T", tt.typ+" v")
		got, err := typ.Encode(map[string]any{"v": tt.value})
		if hex.EncodeToString(got) != tt.want || err != nil {
			t.Errorf("%s of %T %v: %x, %v; want %s", tt.typ, tt.value, tt.value, got, err, tt.want)
			continue
		}
		if m, err := typ.Decode(got); err != nil {
			t.Errorf("%s: %v", tt.typ, err)
		} else if again, err := typ.Encode(m); !bytes.Equal(again, got) || err != nil {
			t.Errorf("%s of %v: %x, %v", tt.typ, m.Values[0], again, err)
		}
	}
}

// TestEncodeErrors: an error says where and why, and nothing is appended.
func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	circle := any(nil)
	circle = &circle
	definition := "int8 i\nuint8 u\nfloat32 f\nbool b\nstring s\ntime t\nduration d\nE[2] two\nA[] a\nuint64 big" +
		separator + "MSG: p/A\nint16 n\nstring frame_id" + separator + "MSG: p/E\n"
	typ := parse(t, "p/T", definition)
	for want, v := range map[string]any{
		"p/T: i: int8: 128 does not fit":                                              map[string]any{"i": 128},
		"p/T: i: int8: -129 does not fit":                                             map[string]any{"i": -129.0},
		"p/T: i: int8: 1.5 is no whole number of 64 bits":                             map[string]any{"i": 1.5},
		"p/T: i: int8: want a number, got string":                                     map[string]any{"i": "1"},
		"p/T: u: uint8: -1 does not fit":                                              map[string]any{"u": -1},
		"p/T: u: uint8: NaN is no whole number of 64 bits":                            map[string]any{"u": math.NaN()},
		"p/T: big: uint64: -1 does not fit":                                           map[string]any{"big": -1},
		"p/T: f: float32: 1e+300 does not fit":                                        map[string]any{"f": 1e300},
		"p/T: b: bool: want a bool, got int":                                          map[string]any{"b": 1},
		"p/T: s: string: want a string, got []uint8":                                  map[string]any{"s": []byte("x")},
		"p/T: t: time: 1969-12-31 23:59:59 +0000 UTC is not between 1970 and 2106":    map[string]any{"t": time.Unix(-1, 0).UTC()},
		"p/T: t: time: want a time, got int":                                          map[string]any{"t": 1},
		"p/T: d: duration: 2540400h0m0s does not fit":                                 map[string]any{"d": 2540400 * time.Hour},
		"p/T: d: duration: want a time.Duration, got float64":                         map[string]any{"d": 1.0},
		"p/T: two: p/E[2]: got 1 elements":                                            map[string]any{"two": make([]any, 1)},
		"p/T: a: p/A[]: want a slice, got string":                                     map[string]any{"a": "x"},
		"p/T: a[1].n: int16: 70000 does not fit":                                      map[string]any{"a": []map[string]any{{}, {"n": 70000}}},
		"p/T: a[0]: p/A: want a map or a struct, got int":                             map[string]any{"a": []int{1}},
		`p/T: p/T has no field "x": it has i, u, f, b, s, t, d, two, a, big`:          map[string]any{"x": 1},
		"p/T: a[0]: p/A: no such field for M of struct { M int }: it has n, frame_id": map[string]any{"a": []struct{ M int }{{1}}},
		"p/T: a[0]: p/A: N and M of struct { N int; M int \"ros:\\\"n\\\"\" } both stand for n": map[string]any{"a": []struct {
			N int
			M int `ros:"n"`
		}{{1, 2}}},
		"p/T: a Message without a type, or without a value for each of its fields": rosmsg.Message{},
		"p/T: p/T: want a map or a struct, got map[int]int":                        map[int]int{},
		"p/T: p/T: want a map or a struct, got *interface {}":                      circle,
	} {
		b := make([]byte, 3, 100)
		got, err := typ.Append(b, v)
		if err == nil || err.Error() != want || len(got) != 3 {
			t.Errorf("%v: error %v, want %s", v, err, want)
		}
		var bad *rosmsg.EncodeError
		if !errors.As(err, &bad) || !errors.Is(err, rosmsg.ErrValue) || bad.Type != "p/T" {
			t.Errorf("%v: error %#v", v, err)
		}
		if noField := bytes.Contains([]byte(want), []byte(" field ")); errors.Is(err, rosmsg.ErrNoField) != noField {
			t.Errorf("%v: matches ErrNoField: %v", err, !noField)
		}
	}
}

// TestEncodeLimit: zeros of a definition that asks for more than ROS sends are refused before there is memory for them.
func TestEncodeLimit(t *testing.T) { // not beside others: allocated counts what the whole process allocates
	typ := parse(t, "p/T", "A[16777216] a"+separator+"MSG: p/A\nint8[100] a")
	var err error
	if used := allocated(func() { _, err = typ.Encode(nil) }); used > 1<<20 || !errors.Is(err, rosmsg.ErrLimit) || !errors.Is(err, rosmsg.ErrValue) {
		t.Errorf("%v, %d bytes of memory", err, used)
	}
	empty := parse(t, "p/T", "E[] e"+separator+"MSG: p/E\n")
	if _, err := empty.Encode(map[string]any{"e": make([]struct{}, 1<<24+1)}); !errors.Is(err, rosmsg.ErrLimit) {
		t.Error(err)
	}
	if got, err := empty.Encode(map[string]any{"e": make([]struct{}, 3)}); string(got) != "\x03\x00\x00\x00" || err != nil {
		t.Errorf("% x, %v", got, err)
	}
}

// TestEncodeMade encodes what was decoded of random messages of random types.
func TestEncodeMade(t *testing.T) {
	t.Parallel()
	r := maker{rand.New(rand.NewPCG(1, 2))}
	for range 300 {
		m := r.message("made_msgs/Whole")
		typ := parse(t, m.name, m.definition)
		roundTrip(t, typ, m.data)
	}
}

// roundTrip encodes what a payload decodes to. The result has the same values and, but for bools of other bytes than 0
// and 1, the same bytes.
func roundTrip(t *testing.T, typ *rosmsg.Type, payload []byte) {
	t.Helper()
	m, err := typ.Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	again, err := typ.Encode(m)
	if err != nil || len(again) != len(payload) {
		t.Fatalf("%d bytes of %d, %v", len(again), len(payload), err)
	}
	n, err := typ.Decode(again)
	if err != nil {
		t.Fatal(err)
	}
	third, err := typ.Encode(n)
	if err != nil || !bytes.Equal(third, again) {
		t.Fatalf("%x, %v; want %x", third, err, again)
	}
	text, err := typ.AppendJSON(nil, payload)
	other, err2 := typ.AppendJSON(nil, again)
	if !bytes.Equal(text, other) || err != nil || err2 != nil {
		t.Fatalf("%s, %v; want %s, %v", other, err2, text, err)
	}
	for i := range again {
		if again[i] != payload[i] && again[i] != 1 {
			t.Fatalf("byte %d is %d, want %d", i, again[i], payload[i])
		}
	}
}

// FuzzEncode: what is decoded is encoded again as it was.
func FuzzEncode(f *testing.F) {
	seeds(f, func(definition string, payload []byte) { f.Add(definition, payload) })
	f.Fuzz(func(t *testing.T, definition string, payload []byte) {
		typ, err := rosmsg.Parse("p/T", definition)
		if err != nil {
			return
		}
		if _, err := typ.Decode(payload); err != nil {
			return
		}
		if text, err := typ.AppendJSON(nil, payload); err == nil && len(text) < 1<<20 {
			roundTrip(t, typ, payload)
		}
	})
}
