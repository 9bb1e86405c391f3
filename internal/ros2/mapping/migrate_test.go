package mapping_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

const headerBlock = dashes + "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

// TestOldDefinitions brings definitions that are older than noetic to those of today.
func TestOldDefinitions(t *testing.T) {
	t.Parallel()
	m := newMapper(t, mapping.Jazzy, mapping.Options{})
	// A range with its fields in another order, one that is gone, and two that are missing.
	old := to2(t, m, "sensor_msgs/Range", "float32 range\nHeader header\nstring comment\nuint8 radiation_type\nfloat64 max_range\nfloat32 min_range\n"+headerBlock)
	today := stockTo2(t, m, "sensor_msgs/Range")
	if old.Type != today.Type || old.Hash != today.Hash || old.Schema != today.Schema {
		t.Errorf("schema\n%s", old.Schema)
	}
	want := []string{
		"sensor_msgs/Range: field comment is dropped",
		"sensor_msgs/Range: field field_of_view is added, empty",
		"sensor_msgs/Range: field max_range is added, empty", // a float64 is no float32
		"sensor_msgs/Range: field max_range is dropped",
		"sensor_msgs/Range: field variance is added, empty",
		"sensor_msgs/Range: old definition, fields are matched by name",
		"std_msgs/Header: field seq is dropped",
	}
	if diff := cmp.Diff(want, lines(old.Notes)); diff != "" {
		t.Errorf("notes: -want +got\n%s", diff)
	}
	in := payload(nil).u32(0x3f800000).header("sonar").text("ok").u8(1).f64(9).u32(0x40000000)
	got, err := old.Append(nil, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	expected := "00010000" + "00f15365 05000000 06000000 736f6e617200 01 00 00000000 00000040 00000000 0000803f 00000000"
	if hex.EncodeToString(got) != strings.ReplaceAll(expected, " ", "") {
		t.Errorf("%x, want %s", got, expected)
	}
	// The way back yields the noetic definition.
	back := to1(t, m, old.Type, old.Schema)
	if definition, md5sum, _ := noetic.Definition("sensor_msgs/Range"); back.MD5Sum != md5sum || back.Definition != definition {
		t.Errorf("back as %s\n%s", back.MD5Sum, back.Definition)
	}
	for i := range in {
		if _, err := old.Append(nil, in[:i:i], nil); !errors.Is(err, mapping.ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

// TestOtherLength checks that an array of another length is another field.
func TestOtherLength(t *testing.T) {
	t.Parallel()
	c := to2(t, newMapper(t, mapping.Jazzy, mapping.Options{}), "std_msgs/ColorRGBA", "float32[2] r\nfloat32[] g\nfloat32 b\nfloat32 a\n")
	got, err := c.Append(nil, payload(nil).u32(1, 2, 0, 3, 4), nil)
	if want := append([]byte{0, 1, 0, 0}, payload(nil).u32(0, 0, 3, 4)...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x (%v), want %x", got, err, want)
	}
	c = to2(t, newMapper(t, mapping.Jazzy, mapping.Options{}), "sensor_msgs/CameraInfo", "float64[8] K\nfloat64[9] R\n")
	if notes := lines(c.Notes); !slices.Contains(notes, "sensor_msgs/CameraInfo: field K is dropped") || !slices.Contains(notes, "sensor_msgs/CameraInfo: field R is r") {
		t.Errorf("notes %q", notes)
	}
}

// TestMarkers converts a marker as Humble and Galactic know it.
func TestMarkers(t *testing.T) {
	t.Parallel()
	m := newMapper(t, mapping.Humble, mapping.Options{})
	in := payload(nil).header("map").text("ns").u32(1, 2, 0).f64(1, 2, 3, 0, 0, 0, 1, 1, 1, 1).u32(0, 0, 0, 0x3f800000, 5, 6).u8(1).
		u32(1).f64(1, 2, 3).u32(0).text("hello").text("").u8(1)
	there := stockTo2(t, m, "visualization_msgs/Marker")
	message, err := there.Append(nil, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	galactic := stockTo2(t, newMapper(t, mapping.Galactic, mapping.Options{}), "visualization_msgs/Marker")
	short, err := galactic.Append(nil, in, nil)
	if err != nil || len(short) >= len(message) {
		t.Fatalf("%d bytes for Galactic, %d for Humble (%v)", len(short), len(message), err)
	}
	// A mapper reads the messages of every distribution by the schema beside them.
	for _, c := range []struct {
		schema  string
		message []byte
	}{{there.Schema, message}, {galactic.Schema, short}} {
		var n mapping.Counts
		got, err := to1(t, m, there.Type, c.schema).Append(nil, c.message, &n)
		want := slices.Clone(in)
		copy(want, []byte{0, 0, 0, 0}) // seq
		if err != nil || !bytes.Equal(got, want) || n != (mapping.Counts{}) {
			t.Errorf("%x (%v), want %x", got, err, want)
		}
	}
	// Before the text are the format of the texture, empty with its padding, and two counts.
	filled := slices.Clone(message)
	filled[bytes.Index(message, append([]byte{6, 0, 0, 0}, "hello"...))-12] = 'x'
	var n mapping.Counts
	if _, err := to1(t, m, there.Type, there.Schema).Append(nil, filled, &n); err != nil || n.DroppedValues != 1 {
		t.Errorf("%d values dropped (%v), want one", n.DroppedValues, err)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	m := newMapper(t, mapping.Jazzy, mapping.Options{})
	there := stockTo2(t, m, "rosgraph_msgs/Log")
	in := payload(nil).header("frame").u8(8).text("/node").text("msg").text("f.cpp").text("main").u32(7).u32(1).text("/rosout")
	got, err := there.Append(nil, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	back := to1(t, m, "rcl_interfaces/msg/Log", there.Schema)
	again, err := back.Append(nil, got, nil)
	want := payload(nil).u32(0, 1700000000, 5).text("").u8(8).text("/node").text("msg").text("f.cpp").text("main").u32(7).u32(0)
	if err != nil || got[12] != 40 || !bytes.Equal(again, want) {
		t.Errorf("%x, %x, want %x (%v)", got, again, want, err)
	}
	if want := []string{
		"rosgraph_msgs/Log: field header.frame_id is dropped", "rosgraph_msgs/Log: field header.seq is dropped",
		"rosgraph_msgs/Log: field header.stamp is stamp", "rosgraph_msgs/Log: field topics is dropped",
		"rosgraph_msgs/Log: type is rcl_interfaces/msg/Log",
	}; !slices.Equal(lines(there.Notes), want) {
		t.Errorf("notes %q, want %q", lines(there.Notes), want)
	}
}

// TestTo1 checks the ROS 1 definitions of types that only ROS 2 has, and of bags that other
// tools made of ROS 1 bags.
func TestTo1(t *testing.T) {
	t.Parallel()
	m := newMapper(t, mapping.Jazzy, mapping.Options{Rename: map[string]string{"old_msgs/Scan": "new_msgs/msg/Scan"}})
	tests := []struct {
		name, schema    string
		typ, definition string
		notes           []string
	}{
		{
			name: "p/msg/T", schema: "std_msgs/Header header\nbyte b\nchar c 5\nstring<=4 s \"x\"\nfloat32[<=3] f\nbuiltin_interfaces/Time[2] t\nduration d\nOwn[] o\n" +
				dashes + "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n" + dashes + "MSG: p/Own\nint8 A=1\nstring<=5 S=\"it's\"\nstring Q='a\\'b'\nbool B=true\nbyte X=200\nwstring W=\"x\"\nint8 x\n",
			typ: "p/T", definition: "std_msgs/Header header\nbyte b\nuint8 c\nstring s\nfloat32[] f\ntime[2] t\nduration d\np/Own[] o\n\n" +
				headerBlock + "\n" + dashes + "MSG: p/Own\nint8 A=1\nstring S=it's\nstring Q=a'b\nbool B=True\nint8 x\n",
			notes: []string{"p/Own: constant W is dropped", "p/Own: constant X is dropped", "std_msgs/Header: field seq is added, empty"},
		},
		{name: "builtin_interfaces/msg/Duration", schema: "int32 sec\nuint32 nanosec", typ: "std_msgs/Duration", definition: "duration data\n", notes: []string{"builtin_interfaces/Duration: type is std_msgs/Duration"}},
		{name: "std_msgs/msg/Duration", schema: "builtin_interfaces/Duration data", typ: "std_msgs/Duration", definition: "duration data\n"},
		{name: "std_msgs/msg/Empty", schema: "", typ: "std_msgs/Empty", definition: ""},
		{name: "p/msg/Empty", schema: "", typ: "p/Empty", definition: ""},
		{name: "new_msgs/msg/Scan", schema: "int8 x", typ: "old_msgs/Scan", definition: "int8 x\n", notes: []string{"new_msgs/Scan: type is old_msgs/Scan"}},
	}
	for _, tt := range tests {
		c := to1(t, m, tt.name, tt.schema)
		if c.Type != tt.typ {
			t.Errorf("%s becomes %s, want %s", tt.name, c.Type, tt.typ)
		}
		if diff := cmp.Diff(tt.definition, c.Definition); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.notes, lines(c.Notes)); diff != "" {
			t.Errorf("%s: notes: -want +got\n%s", tt.name, diff)
		}
	}
	// Other tools keep the names of ROS 1 fields and types.
	definition, md5sum, _ := noetic.Definition("sensor_msgs/CameraInfo")
	info := stockTo2(t, m, "sensor_msgs/CameraInfo")
	upper := strings.NewReplacer("[] d", "[] D", "[9] k", "[9] K", "[9] r", "[9] R", "[12] p", "[12] P").Replace(info.Schema)
	if c := to1(t, m, info.Type, upper); c.MD5Sum != md5sum || c.Definition != definition || len(c.Notes) != 1 {
		t.Errorf("camera info with capitals becomes %s, notes %v", c.MD5Sum, c.Notes)
	}
	log := to1(t, m, "rosgraph_msgs/msg/Log", "std_msgs/Header header\nbyte level\nstring name\nstring msg\nstring file\nstring function\nuint32 line\nstring[] topics\n"+
		dashes+"MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n")
	if _, md5sum, _ := noetic.Definition("rosgraph_msgs/Log"); log.MD5Sum != md5sum {
		t.Errorf("log becomes %s, want %s", log.MD5Sum, md5sum)
	}
	message := append([]byte{0, 1, 0, 0}, payload(nil).u32(1, 2, 0).u8(8, 0, 0, 0).u32(0, 0, 0, 0, 9, 0)...)
	if got, err := log.Append(nil, message, nil); err != nil || got[16] != 8 {
		t.Errorf("level of a log that kept its type: %x (%v)", got, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	m := newMapper(t, mapping.Jazzy, mapping.Options{Rename: map[string]string{"q/A": "p/msg/A"}})
	for _, tt := range []struct {
		name, definition string
		err              error
		text             string
	}{
		{"T", "", mapping.ErrType, `"T" is not of the form package/Type: type has no counterpart`},
		{"*", "", mapping.ErrType, ""},
		{"a/b/C", "", mapping.ErrType, ""},
		{"a/B", "C c", rosmsg.ErrDefinition, ""},
		{"a/B", "E[16777216] e\n" + dashes + "MSG: a/E\n", mapping.ErrType, ""},
	} {
		if _, err := m.To2(tt.name, tt.definition); !errors.Is(err, tt.err) || tt.text != "" && err.Error() != tt.text {
			t.Errorf("to ROS 2, %s: %v", tt.name, err)
		}
	}
	for _, tt := range []struct {
		name, schema string
		err          error
		text         string
	}{
		{"a/srv/B_Event", "", mapping.ErrType, "a/srv/B_Event is no message, but part of a service or an action: type has no counterpart"},
		{"a/msg/B", "wstring w", mapping.ErrType, "a/msg/B field w: wstring has no layout that all of ROS 2 agrees on: type has no counterpart"},
		{"std_msgs/msg/String", "wstring data", mapping.ErrType, ""},
		{"a/msg/B", "C c", msg.ErrDefinition, ""},
		{"a/msg/B", dashes + "IDL: a/msg/B\n", msg.ErrDefinition, ""},
		{"a/msg/B", "p/A a\nq/A b\n" + dashes + "MSG: p/A\n" + dashes + "MSG: q/A\n", mapping.ErrType, "p/msg/A and q/msg/A are both q/A in ROS 1: type has no counterpart"},
	} {
		if _, err := m.To1(tt.name, tt.schema); !errors.Is(err, tt.err) || tt.text != "" && err.Error() != tt.text {
			t.Errorf("to ROS 1, %s: %v", tt.name, err)
		}
	}
	late := to2(t, newMapper(t, mapping.Jazzy, mapping.Options{RefuseLateTimes: true}), "std_msgs/Time", "time data")
	if _, err := late.Append(nil, []byte{0, 0, 0, 0x80, 0, 0, 0, 0}, nil); !errors.Is(err, mapping.ErrCorrupt) {
		t.Errorf("a late time: %v", err)
	}
}

// TestNamesThatCollide checks that two types never have one name, whichever comes first.
func TestNamesThatCollide(t *testing.T) {
	t.Parallel()
	m := newMapper(t, mapping.Jazzy, mapping.Options{})
	for _, tt := range []struct{ name, want string }{
		{"a/Foo_Bar", "a/msg/FooBar"},
		{"a/FooBar", "a/msg/FooBar2"},
		{"a/Foo_Bar", "a/msg/FooBar"},
		{"a/foo_bar", "a/msg/FooBar3"},
		{"Std_Msgs/string", "std_msgs/msg/String2"},
		{"std_msgs/String", "std_msgs/msg/String"},
	} {
		if got := to2(t, m, tt.name, "string data").Type; got != tt.want {
			t.Errorf("%s becomes %s, want %s", tt.name, got, tt.want)
		}
	}
}
