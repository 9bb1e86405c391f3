package rosmsg_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func parse(tb testing.TB, name, text string) *rosmsg.Type {
	tb.Helper()
	t, err := rosmsg.Parse(name, text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

const poseText = `Header header
Pose[] poses
float64[2] limits
uint8[] raw
bool last`

var poses = poseText + separator + headerText + separator + "MSG: p/Pose\nPoint at\nstring name" + separator + "MSG: p/Point\nfloat32 x\nfloat32 y"

func posesPayload() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 7)
	b = le.AppendUint32(le.AppendUint32(b, 100), 5)
	b = append(b, "\x03\x00\x00\x00map"...)
	b = le.AppendUint32(b, 2)
	for _, p := range []struct {
		x, y float32
		name string
	}{{1, 2, "one"}, {3, 4.5, ""}} {
		b = le.AppendUint32(le.AppendUint32(b, math.Float32bits(p.x)), math.Float32bits(p.y))
		b = append(le.AppendUint32(b, uint32(len(p.name))), p.name...)
	}
	b = le.AppendUint64(le.AppendUint64(b, math.Float64bits(math.Inf(-1))), math.Float64bits(math.NaN()))
	b = append(b, 2, 0, 0, 0, 0xfe, 0xff)
	return append(b, 1)
}

const posesJSON = `{"header":{"seq":7,"stamp":{"secs":100,"nsecs":5},"frame_id":"map"},` +
	`"poses":[{"at":{"x":1.0,"y":2.0},"name":"one"},{"at":{"x":3.0,"y":4.5},"name":""}],` +
	`"limits":["-Infinity","NaN"],"raw":"/v8=","last":true}`

func TestDecode(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	payload := posesPayload()
	m, err := typ.Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	for i := range payload {
		payload[i] = 0xee // the message keeps nothing of the payload
	}
	want := []any{
		[]any{"seq", "i:7"}, []any{"stamp", "t:100.5"}, []any{"frame_id", "s:map"},
	}
	if d := cmp.Diff(want, canonical(m.Get("header"))); d != "" {
		t.Errorf("header (-want +got):\n%s", d)
	}
	all, ok := m.Get("poses").([]*rosmsg.Message)
	if !ok || len(all) != 2 || all[0].Get("name") != "one" {
		t.Errorf("poses are %v", m.Get("poses"))
	}
	if d := cmp.Diff([]byte{0xfe, 0xff}, m.Get("raw")); d != "" {
		t.Errorf("raw (-want +got):\n%s", d)
	}
	if m.Get("last") != true || m.Get("nothing") != nil {
		t.Errorf("last is %v, nothing %v", m.Get("last"), m.Get("nothing"))
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	got, err := typ.AppendJSON([]byte("x"), posesPayload())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("x"+posesJSON, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	one := parse(t, "p/S", "string s\nuint64 n\nfloat64 f\nduration d")
	payload := append([]byte("\x0f\x00\x00\x00\"\\\n\x1b\x7f\xc2\x9b\xc3\xa9\xff/</\x00!"), "\xff\xff\xff\xff\xff\xff\xff\xff"...)
	payload = binary.LittleEndian.AppendUint64(payload, math.Float64bits(1e22))
	payload = append(payload, "\xff\xff\xff\xff\x01\x00\x00\x00"...)
	got, err = one.AppendJSON(nil, payload)
	want := `{"s":"\"\\\n\u001b\u007f\u009bé` + "\ufffd" + `/</\u0000!","n":18446744073709551615,"f":1e+22,"d":{"secs":-1,"nsecs":1}}`
	if err != nil || string(got) != want || !json.Valid(got) {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// TestCutPayload cuts a payload everywhere: whatever is done with it fails at the
// right place, and never reads past the cut.
func TestCutPayload(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	full := posesPayload()
	for i := range full {
		cut := full[:i:i]
		_, decodeErr := typ.Decode(cut)
		_, jsonErr := typ.AppendJSON(nil, cut)
		_, textErr := typ.AppendText(nil, cut, rosmsg.TextOptions{})
		_, shortErr := typ.AppendText(nil, cut, rosmsg.TextOptions{NoArrays: true, NoStrings: true})
		_, csvErr := typ.Message(cut).AppendCSV(nil, 0, rosmsg.TextOptions{})
		_, lastErr := typ.Lookup(cut, "last")
		for what, err := range map[string]error{
			"decode": decodeErr, "JSON": jsonErr, "text": textErr, "short text": shortErr, "CSV": csvErr, "check": typ.Check(cut), "lookup": lastErr,
		} {
			var e *rosmsg.DecodeError
			if !errors.As(err, &e) || !errors.Is(err, rosmsg.ErrCorrupt) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("cut at %d: %s: %v", i, what, err)
			}
			if e.Offset > i || e.Path == "" || e.Type != "p/Poses" {
				t.Errorf("cut at %d: %s: error of %s, %s at %d", i, what, e.Type, e.Path, e.Offset)
			}
		}
	}
	if err := typ.Check(full); err != nil {
		t.Error(err)
	}
	full[31] = 200
	_, err := typ.Decode(full)
	if want := `p/Poses: poses[0].name at 31: string of 200 bytes, 38 left`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTrailing(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/Poses", poses)
	long := append(posesPayload(), 1, 2)
	m, err := typ.Decode(long)
	if m == nil || !errors.Is(err, rosmsg.ErrTrailing) || m.Get("last") != true {
		t.Errorf("message %v, error %v", m, err)
	}
	b, err := typ.AppendJSON(nil, long)
	if string(b) != posesJSON || !errors.Is(err, rosmsg.ErrTrailing) {
		t.Errorf("%s, error %v", b, err)
	}
	if err := typ.Check(long); !errors.Is(err, rosmsg.ErrTrailing) || !errors.Is(err, rosmsg.ErrCorrupt) {
		t.Errorf("check: %v", err)
	}
	if v, err := typ.Lookup(long, "poses[1].at.y"); err != nil || v.Float() != 4.5 {
		t.Errorf("lookup: %v, %v", v.Float(), err)
	}
}

// TestTimesAsText has nanoseconds beyond a second, which stock brings in order when
// it reads a message's own fields, and leaves as they are inside of these.
func TestTimesAsText(t *testing.T) {
	t.Parallel()
	typ := parse(t, "p/T", "time at\nduration took\nIn part\ntime[] all"+separator+"MSG: p/In\ntime at")
	le := binary.LittleEndian
	at := le.AppendUint32(le.AppendUint32(nil, 10), 2_000_000_005)
	took := le.AppendUint32(le.AppendUint32(nil, 10), 1<<32-1)
	payload := slices.Concat(at, took, at, []byte{1, 0, 0, 0}, at)
	text, err := typ.AppendText(nil, payload, rosmsg.TextOptions{})
	want := `at: 
  secs: 12
  nsecs:         5
took: 
  secs: 9
  nsecs: 999999999
part: 
  at: 
    secs: 10
    nsecs: 2000000005
all: 
  - 
    secs: 10
    nsecs: 2000000005`
	if d := cmp.Diff(want, string(text)); err != nil || d != "" {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
}

// TestBombs has small payloads that claim to be large.
// It is not parallel: what others allocate would count.
func TestBombs(t *testing.T) {
	testkit.SkipInRace(t, "memory is measured, and the detector takes more")
	const empty = "MSG: p/E\n"
	nested := "A a" + separator + "MSG: p/A\nB[200] b" + separator + "MSG: p/B\nC[200] c" + separator + "MSG: p/C\nE[200] e" + separator + empty
	for _, test := range []struct {
		name, text string
		payload    []byte
		want       error
	}{
		{"elements without content", "E[] e" + separator + empty, []byte{0xff, 0xff, 0xff, 0xff}, rosmsg.ErrLimit},
		{"many elements without content", "E[] e" + separator + empty, []byte{0, 0, 0xff, 0}, rosmsg.ErrLimit},
		{"fixed array without content", "E[16777216] e" + separator + empty, nil, rosmsg.ErrLimit},
		{"nested", nested, nil, rosmsg.ErrLimit},
		{"numbers", "float64[] f", []byte{0xff, 0xff, 0xff, 0x7f}, io.ErrUnexpectedEOF},
		{"strings", "string[] s", []byte{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0}, io.ErrUnexpectedEOF},
		{"string", "string s", []byte{0xff, 0xff, 0xff, 0xff, 0}, io.ErrUnexpectedEOF},
		{"fixed array", "float64[16777216] f", []byte{1}, io.ErrUnexpectedEOF},
		{"messages", "M[] m" + separator + "MSG: p/M\nstring[1000000] s", []byte{0xff, 0xff, 0xff, 0xff}, io.ErrUnexpectedEOF},
	} {
		t.Run(test.name, func(t *testing.T) {
			typ := parse(t, "p/T", test.text)
			for what, do := range map[string]func() error{
				"decode": func() error { _, err := typ.Decode(test.payload); return err },
				"JSON":   func() error { _, err := typ.AppendJSON(nil, test.payload); return err },
				"text":   func() error { _, err := typ.AppendText(nil, test.payload, rosmsg.TextOptions{}); return err },
				"CSV":    func() error { _, err := typ.Message(test.payload).AppendCSV(nil, 0, rosmsg.TextOptions{}); return err },
			} {
				if used := allocated(func() {
					if err := do(); !errors.Is(err, test.want) {
						t.Errorf("%s: error %v, want %v", what, err, test.want)
					}
				}); used > 5<<20 {
					t.Errorf("%s takes %d bytes for a payload of %d", what, used, len(test.payload))
				}
			}
		})
	}
}

// TestPrintBombs has messages that are small, and small to decode, but long to print.
func TestPrintBombs(t *testing.T) {
	name := strings.Repeat("a", 256)
	text := "A[] " + name
	for i := range 40 {
		text += separator + fmt.Sprintf("MSG: p/%s\n%s %s", strings.Repeat("A", i+1), strings.Repeat("A", i+2), name)
	}
	text += separator + "MSG: p/" + strings.Repeat("A", 41) + "\nint8[1000] " + name
	typ := parse(t, "p/T", text)
	payload := append([]byte{40, 0, 0, 0}, make([]byte, 40_000)...)
	if _, err := typ.Decode(payload); err != nil {
		t.Fatal(err)
	}
	b, err := typ.Message(payload).AppendCSVHeader(nil, rosmsg.TextOptions{})
	if !errors.Is(err, rosmsg.ErrLimit) || len(b) > 16<<20 {
		t.Errorf("header of %d bytes, error %v", len(b), err)
	}
	typ = parse(t, "p/T", "A[] a"+separator+"MSG: p/A\nB "+name+separator+"MSG: p/B\nC "+name+separator+"MSG: p/C\nbool "+name)
	payload = append([]byte{0x40, 0x9c, 0, 0}, make([]byte, 40_000)...)
	for what, do := range map[string]func() ([]byte, error){
		"JSON": func() ([]byte, error) { return typ.AppendJSON(nil, payload) },
		"text": func() ([]byte, error) { return typ.AppendText(nil, payload, rosmsg.TextOptions{}) },
	} {
		if b, err := do(); !errors.Is(err, rosmsg.ErrLimit) || len(b) > 16<<20 {
			t.Errorf("%s of %d bytes, error %v", what, len(b), err)
		}
	}
}

// allocated returns how many bytes the process allocates in do: a test that asks for it
// runs alone, without t.Parallel.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
