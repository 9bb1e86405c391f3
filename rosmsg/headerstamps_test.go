package rosmsg_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosmsg"
)

const poseStampedText = "Header header\ngeometry_msgs/Point position"

var (
	pointBlock     = separator + "MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z"
	transformBlock = separator + "MSG: geometry_msgs/TransformStamped\nHeader header\nstring child_frame_id\nfloat64[7] transform"
)

// stampHere stands for a stamp in a payload that serialize makes.
type stampHere struct{}

// zeros are as many bytes.
type zeros int

// serialize puts values one after the other as ROS does, and returns where the stamps are.
func serialize(values ...any) (payload []byte, stamps []int) {
	for _, v := range values {
		switch v := v.(type) {
		case int:
			payload = binary.LittleEndian.AppendUint32(payload, uint32(v))
		case string:
			payload = append(binary.LittleEndian.AppendUint32(payload, uint32(len(v))), v...)
		case zeros:
			payload = append(payload, make([]byte, v)...)
		case stampHere:
			stamps = append(stamps, len(payload))
			payload = append(payload, "STAMPED!"...)
		}
	}
	return payload, stamps
}

func TestHeaderStamps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name, definition string
		values           []any
		none             bool // the type has no stamps
	}{
		"header first":         {"p/T", "Header header\nstring s" + separator + headerText, []any{7, stampHere{}, "map", "text"}, false},
		"header last":          {"p/T", "string s\nuint8[3] b\nHeader h" + separator + headerText, []any{"text", zeros(3), 7, stampHere{}, ""}, false},
		"two headers":          {"p/T", "Header a\nint64 i\nHeader b" + separator + headerText, []any{7, stampHere{}, "a", zeros(8), 7, stampHere{}, "b"}, false},
		"a header itself":      {"std_msgs/Header", headerText[len("MSG: std_msgs/Header\n"):], []any{7, stampHere{}, "map"}, false},
		"a header of ROS 1.1":  {"p/T", "roslib/Header h" + separator + "MSG: roslib/Header\nuint32 seq\ntime stamp\nstring frame_id", []any{7, stampHere{}, "map"}, false},
		"geometry_msgs/Pose":   {"geometry_msgs/PoseStamped", poseStampedText + separator + headerText + pointBlock, []any{7, stampHere{}, "map", zeros(24)}, false},
		"array of no messages": {"p/T", "M[] m" + separator + "MSG: p/M\nHeader h" + separator + headerText, []any{0}, false},
		"tf": {
			"tf2_msgs/TFMessage", "geometry_msgs/TransformStamped[] transforms" + transformBlock + separator + headerText,
			[]any{3, 1, stampHere{}, "map", "odom", zeros(56), 2, stampHere{}, "odom", "", zeros(56), 3, stampHere{}, "", "laser", zeros(56)},
			false,
		},
		"path": {
			"nav_msgs/Path", "Header header\ngeometry_msgs/PoseStamped[] poses" + separator + "MSG: geometry_msgs/PoseStamped\n" + poseStampedText + separator + headerText + pointBlock,
			[]any{1, stampHere{}, "map", 2, 1, stampHere{}, "map", zeros(24), 2, stampHere{}, "", zeros(24)},
			false,
		},
		"diagnostics": {
			"diagnostic_msgs/DiagnosticArray", "Header header\nS[] status" + separator + "MSG: diagnostic_msgs/S\nbyte level\nstring name\nV[] values" + separator +
				"MSG: diagnostic_msgs/V\nstring key\nstring value" + separator + headerText,
			[]any{1, stampHere{}, "", 2, zeros(1), "disk", 1, "used", "5 %", zeros(1), "cpu", 0},
			false,
		},
		"fixed array": {
			"p/T", "bool b\nM[2] m\nstring s" + separator + "MSG: p/M\nstring s\nHeader h\nint32[2] i" + separator + headerText,
			[]any{zeros(1), "x", 1, stampHere{}, "a", zeros(8), "yy", 2, stampHere{}, "bb", zeros(8), "end"},
			false,
		},
		"arrays in arrays": {
			"p/T", "A[] a\nint8 last" + separator + "MSG: p/A\nB[2] b\nfloat32 f" + separator + "MSG: p/B\nHeader[] h\nstring[] s" + separator + headerText,
			[]any{2, 1, 7, stampHere{}, "x", 0, 0, 2, "s", "t", zeros(4), 0, 0, 2, 8, stampHere{}, "y", 9, stampHere{}, "z", 0, zeros(4), zeros(1)},
			false,
		},
		"deep": {
			"p/T", "A a" + separator + "MSG: p/A\nuint16 i\nB b\nuint16 j" + separator + "MSG: p/B\nbool b\nC c" + separator + "MSG: p/C\nHeader h" + separator + headerText,
			[]any{zeros(2), zeros(1), 7, stampHere{}, "map", zeros(2)},
			false,
		},
		"goal: its ID has a time that is no stamp": {
			"p/Goal", "Header header\nID id" + separator + "MSG: p/ID\ntime stamp\nstring id" + separator + headerText,
			[]any{7, stampHere{}, "map", zeros(8), "goal-1"},
			false,
		},
		"fields before and after the stamp": {
			"p/T", "Header h" + separator + "MSG: std_msgs/Header\nstring s\nuint32 a\nuint32 b\ntime stamp\nuint32 c\nuint32 d\nstring e\nbool f",
			[]any{"s", 1, 2, stampHere{}, 3, 4, "e", zeros(1)},
			false,
		},
		"clock":                       {"rosgraph_msgs/Clock", "time clock", []any{stampHere{}}, false},
		"clock by another name":       {"p/T", "time clock", []any{stampHere{}}, false},
		"no header of another name":   {"p/T", "p/Header h" + separator + "MSG: p/Header\ntime stamp", []any{zeros(8)}, true},
		"no header without its stamp": {"p/T", "Header h" + separator + "MSG: std_msgs/Header\nuint64 stamp", []any{zeros(8)}, true},
		"no time on its own":          {"std_msgs/Time", "time data", []any{zeros(8)}, true},
		"nothing":                     {"std_msgs/Empty", "", nil, true},
		"no elements":                 {"p/T", "Header[0] h\nstring s" + separator + headerText, []any{"x"}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := parse(t, tc.name, tc.definition).HeaderStamps()
			if (h == nil) != tc.none {
				t.Fatalf("has stamps: %v", h != nil)
			}
			if h == nil {
				return
			}
			payload, want := serialize(tc.values...)
			got, err := h.AppendOffsets([]int{-1}, payload)
			if d := cmp.Diff(append([]int{-1}, want...), got); d != "" || err != nil {
				t.Fatalf("error %v, (-want +got):\n%s", err, d)
			}
			if _, err := h.AppendOffsets(nil, append(slices.Clone(payload), 0)); err != nil {
				t.Errorf("with a byte after it: %v", err)
			}
			typ := parse(t, tc.name, tc.definition)
			for n := range payload {
				got, err := h.AppendOffsets([]int{-1}, payload[:n:n])
				if !errors.Is(err, rosmsg.ErrCorrupt) || !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 1 {
					t.Fatalf("%d of %d bytes: offsets %v, error %v", n, len(payload), got, err)
				}
				if want := typ.Check(payload[:n:n]); err.Error() != want.Error() {
					t.Fatalf("%d of %d bytes: %q, Check says %q", n, len(payload), err, want)
				}
			}
		})
	}
}

// A count that the payload cannot hold ends neither in a loop nor in memory.
func TestHeaderStampsOfHugeArrays(t *testing.T) {
	h := parse(t, "p/T", "M[] m"+separator+"MSG: p/M\nHeader[] h"+separator+headerText).HeaderStamps()
	for _, payload := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, append([]byte{0xff, 0xff, 0xff, 0x7f}, make([]byte, 1000)...)} {
		if used := allocated(func() {
			if got, err := h.AppendOffsets(nil, payload); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) > 0 {
				t.Errorf("%x: %v, %v", payload[:4], got, err)
			}
		}); used > 1<<20 {
			t.Errorf("%x: %d bytes allocated", payload[:4], used)
		}
	}
}

// The plan of a type that nests is as large as its definition, not as its messages.
func TestHeaderStampsOfNestedTypes(t *testing.T) {
	const depth = 26
	text := "T0 a\nT0 b"
	for i := range depth {
		text += fmt.Sprintf("%sMSG: p/T%d\nT%d a\nT%d b", separator, i, i+1, i+1)
	}
	text += fmt.Sprintf("%sMSG: p/T%d\nHeader[] h%s%s", separator, depth, separator, headerText)
	typ := parse(t, "p/T", text)
	var h *rosmsg.HeaderStamps
	if used := allocated(func() { h = typ.HeaderStamps() }); used > 1<<20 {
		t.Errorf("%d bytes allocated", used)
	}
	if _, err := h.AppendOffsets(nil, make([]byte, 1000)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	// Elements without content are passed over together.
	h = parse(t, "p/T", "Header h\nE[16777216] e\nE[] f"+separator+"MSG: p/E\nF[4096] f\nHeader[0] h"+separator+"MSG: p/F\nHeader[0] h"+separator+headerText).HeaderStamps()
	payload, want := serialize(7, stampHere{}, "map", 1<<24)
	if got, err := h.AppendOffsets(nil, payload); err != nil || !slices.Equal(got, want) {
		t.Errorf("offsets %v, error %v", got, err)
	}
}

// Made-up messages have as many stamps as decoding them shows, with the same values.
func TestHeaderStampsOfMadeMessages(t *testing.T) {
	t.Parallel()
	const seed = 4711
	r := maker{rand.New(rand.NewPCG(seed, 1))}
	found := 0
	for range 3000 {
		m := r.message("made_msgs/M")
		typ, err := rosmsg.Parse(m.name, m.definition)
		if err != nil {
			continue
		}
		found += compareStamps(t, typ, m.data)
	}
	if found < 1000 {
		t.Errorf("%d stamps in all messages: this tests nothing", found)
	}
}

// compareStamps finds the stamps of a message by its plan and by decoding it, and returns
// how many there are.
func compareStamps(tb testing.TB, typ *rosmsg.Type, payload []byte) int {
	tb.Helper()
	var want []rosmsg.Stamp
	m, err := typ.Decode(payload)
	if err == nil || errors.Is(err, rosmsg.ErrTrailing) {
		want = headerStamps(m, nil)
	}
	h := typ.HeaderStamps()
	if h == nil {
		if len(want) > 0 {
			tb.Fatalf("no plan for %d stamps", len(want))
		}
		return 0
	}
	offsets, planErr := h.AppendOffsets(nil, payload)
	if planErr != nil {
		if !errors.Is(planErr, rosmsg.ErrCorrupt) || len(offsets) > 0 {
			tb.Fatalf("offsets %v with error %v", offsets, planErr)
		}
		if errors.Is(err, rosmsg.ErrLimit) {
			return 0 // the one bounds what is unfolded, the other elements without content
		}
		if err == nil || errors.Is(err, rosmsg.ErrTrailing) {
			tb.Fatalf("plan: %v, decoding: %v", planErr, err)
		}
		return 0
	}
	if errors.Is(err, rosmsg.ErrLimit) {
		return 0
	}
	if err != nil && !errors.Is(err, rosmsg.ErrTrailing) {
		tb.Fatalf("plan: no error, decoding: %v", err)
	}
	var got []rosmsg.Stamp
	last := -8
	for _, at := range offsets {
		if at < last+8 || at+8 > len(payload) {
			tb.Fatalf("offsets %v in %d bytes", offsets, len(payload))
		}
		last = at
		got = append(got, rosmsg.Stamp{Secs: binary.LittleEndian.Uint32(payload[at:]), Nsecs: binary.LittleEndian.Uint32(payload[at+4:])})
	}
	if !slices.Equal(got, want) {
		tb.Fatalf("%d stamps %v, decoding shows %d: %v", len(got), got, len(want), want)
	}
	return len(got)
}

// headerStamps appends the stamps in a decoded message.
func headerStamps(v any, all []rosmsg.Stamp) []rosmsg.Stamp {
	switch v := v.(type) {
	case *rosmsg.Message:
		for i, f := range v.Type.Fields() {
			stamp, isTime := v.Values[i].(rosmsg.Stamp)
			switch {
			case isTime && (v.Type.Name() == "std_msgs/Header" && f.Name == "stamp" || f.Name == "clock" && v.Type.MD5Sum() == "a9c97c1d230cfc112e270351a944ee47"):
				all = append(all, stamp)
			default:
				all = headerStamps(v.Values[i], all)
			}
		}
	case []*rosmsg.Message:
		for _, m := range v {
			all = headerStamps(m, all)
		}
	}
	return all
}

func TestHeaderStampsAllocateNothing(t *testing.T) {
	payload, want := serialize(2, 1, stampHere{}, "map", "odom", zeros(56), 2, stampHere{}, "odom", "base", zeros(56))
	h := parse(t, "tf2_msgs/TFMessage", "geometry_msgs/TransformStamped[] transforms"+transformBlock+separator+headerText).HeaderStamps()
	offsets := make([]int, 0, len(want))
	if n := testing.AllocsPerRun(1000, func() {
		var err error
		if offsets, err = h.AppendOffsets(offsets[:0], payload); err != nil {
			t.Error(err)
		}
	}); n != 0 || !slices.Equal(offsets, want) {
		t.Errorf("%v allocations, offsets %v", n, offsets)
	}
}

// FuzzHeaderStamps looks for stamps by any definition in anything.
func FuzzHeaderStamps(f *testing.F) {
	seeds(f, func(definition string, payload []byte) { f.Add(definition, payload) })
	payload, _ := serialize(1, 7, stampHere{}, "map", "odom", zeros(56))
	f.Add("geometry_msgs/TransformStamped[] transforms"+transformBlock+separator+headerText, payload)
	f.Add("time clock", make([]byte, 8))
	f.Add("A[2] a\nstring s"+separator+"MSG: p/A\nHeader[] h\nuint8[] b"+separator+headerText, make([]byte, 20))
	f.Fuzz(func(t *testing.T, definition string, payload []byte) {
		typ, err := rosmsg.Parse("p/T", definition)
		if err != nil {
			return
		}
		compareStamps(t, typ, payload[:len(payload):len(payload)])
	})
}
