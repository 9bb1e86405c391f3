package ros2_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestDefinitionsOfTypes checks by which definition messages are read, and what is said about that.
func TestDefinitionsOfTypes(t *testing.T) {
	t.Parallel()
	const cdr = "\x00\x01\x00\x00"
	empty, twist := cdr+"\x00", cdr+strings.Repeat("\x00", 48)
	// The header, the kind with padding after it, and four floats; since iron there is another float.
	humbleRange := cdr + strings.Repeat("\x00", 8) + "\x01\x00\x00\x00\x00" + strings.Repeat("\x00", 3+4*4)
	ironRange := humbleRange + strings.Repeat("\x00", 4)
	const idl = "================================================================================\nIDL: geometry_msgs/msg/Twist\nmodule geometry_msgs {\n};\n"
	for _, tt := range []struct {
		name                      string
		typ, encoding, definition string
		data                      string // of a message; empty: the topic has none
		note, damage              string // parts of what is said
		user                      string // definition by --definitions
	}{
		{name: "type without fields", typ: "my_msgs/msg/Stop", encoding: "ros2msg", data: empty},
		{name: "type without fields or dummy", typ: "my_msgs/msg/Stop", encoding: "ros2msg", data: cdr},
		{name: "type of ROS without fields", typ: "std_msgs/msg/Empty", encoding: "ros2msg", data: empty},
		{name: "comment only", typ: "my_msgs/msg/Stop", encoding: "ros2msg", definition: "# stop\n", data: empty},
		{name: "no definition", typ: "my_msgs/msg/Stop", data: empty, damage: "the recording has no definition of my_msgs/msg/Stop; goplay and gobag info, echo, check and convert take a directory that has it as --definitions"},
		{name: "empty definition of a type with fields", typ: "my_msgs/msg/Go", encoding: "ros2msg", data: twist, damage: "the recording has no definition of my_msgs/msg/Go"},
		{name: "no definition and no messages", typ: "my_msgs/msg/Stop", note: "topic /t is left out: it has no messages; the recording has no definition of my_msgs/msg/Stop"},
		{name: "IDL and no messages", typ: "my_msgs/msg/Stop", encoding: "ros2idl", definition: "module a", note: "it has no messages; its definition of my_msgs/msg/Stop is IDL"},

		{name: "known, no definition", typ: "geometry_msgs/msg/Twist", data: twist},
		{name: "known, empty definition", typ: "geometry_msgs/msg/Twist", encoding: "ros2msg", data: twist, note: "topic /t: its definition of geometry_msgs/msg/Twist is empty: that of ROS jazzy is used"},
		{name: "known, placeholder", typ: "geometry_msgs/msg/Twist", encoding: "ros2msg", definition: "# unknown", data: twist, note: "has no fields: that of ROS"},
		{name: "known, one line", typ: "geometry_msgs/msg/Twist", encoding: "ros2msg", definition: "geometry_msgs/msg/Twist", data: twist, note: `has errors (line 1: "" is no name for a field): that of ROS`},
		{name: "known, IDL", typ: "geometry_msgs/msg/Twist", encoding: "ros2idl", definition: "module geometry_msgs", data: twist, note: "is IDL, where only the text of .msg files can be read: that of ROS"},
		{name: "known, IDL as rosbag2 stores it", typ: "geometry_msgs/msg/Twist", encoding: "ros2msg", definition: idl, data: twist, note: "is IDL"},
		{name: "known, definition does not fit", typ: "geometry_msgs/msg/Twist", encoding: "ros2msg", definition: "int8 x", data: twist, note: "does not fit its messages: that of ROS"},
		{name: "known, own definition fits", typ: "sensor_msgs/msg/Range", encoding: "ros2msg", definition: "int8 x", data: cdr + "\x01"},
		{name: "known, fits none", typ: "geometry_msgs/msg/Twist", encoding: "ros2msg", definition: "int8 x", data: twist[:20], note: "does not fit its messages"},
		{name: "new package", typ: "turtlesim/msg/Pose", data: cdr + strings.Repeat("\x00", 20)},
		{name: "older distribution", typ: "sensor_msgs/msg/Range", data: humbleRange},
		{name: "newer distribution", typ: "sensor_msgs/msg/Range", data: ironRange},

		{name: "IDL", typ: "my_msgs/msg/Go", encoding: "ros2idl", definition: "module a", data: twist, damage: "its definition of my_msgs/msg/Go is IDL"},
		{name: "errors", typ: "my_msgs/msg/Go", encoding: "ros2msg", definition: "int8", data: twist, damage: "its definition of my_msgs/msg/Go has errors (line 1:"},
		{name: "IDL and the user's definition", typ: "my_msgs/msg/Go", encoding: "ros2idl", definition: "module a", data: twist, user: "float64[6] x", note: "is IDL, where only the text of .msg files can be read: that of --definitions is used"},
		{name: "no definition but the user's", typ: "my_msgs/msg/Go", data: twist, user: "float64[6] x"},
		{name: "the user's definition has errors", typ: "my_msgs/msg/Go", data: twist, user: "float64", damage: "definition of my_msgs/msg/Go, line 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			topic := rosbag2.Topic{Name: "/t", Type: tt.typ, Serialization: "cdr", Encoding: tt.encoding, Definition: tt.definition}
			var rows []got
			if tt.data != "" {
				rows = append(rows, got{topic: "/t", at: 1e9, data: tt.data}, got{topic: "/t", at: 2e9, data: tt.data})
			}
			o := ros2.OpenOptions{}
			if tt.user != "" {
				o.Definitions = func(string) (string, bool, error) { return tt.user, true, nil }
			}
			s := openSource(t, database(t, []rosbag2.Topic{topic}, rows...), o)
			said := func(what string, all []error, want string) {
				if (want != "") != (len(all) > 0) || len(all) > 1 || want != "" && !strings.Contains(all[0].Error(), want) {
					t.Errorf("%s: %v, want %q", what, all, want)
				}
			}
			said("notes", s.Info().Notes, tt.note)
			said("damage", s.Info().Damage, tt.damage)
			all, wrong := lines(s, rosbag.Query{})
			want := len(rows)
			if tt.damage != "" || tt.name == "known, fits none" {
				want = 0
			}
			if len(all) != want || (len(wrong) > 0) != (tt.name == "known, fits none") {
				t.Errorf("%d messages, want %d; errors %v", len(all), want, wrong)
			}
		})
	}
}

// TestOtherChannelDecides: without definitions, the messages of another topic, or of a later file, say which
// distribution recorded.
func TestOtherChannelDecides(t *testing.T) {
	t.Parallel()
	humble := "\x00\x01\x00\x00" + strings.Repeat("\x00", 8) + "\x01\x00\x00\x00\x00" + strings.Repeat("\x00", 3+4*4)
	kind := rosbag2.Topic{Type: "sensor_msgs/msg/Range", Serialization: "cdr"}
	silent, other := kind, kind
	silent.Name, other.Name = "/a", "/b"
	dir := t.TempDir()
	for i, rows := range [][]got{{}, {{topic: "/b", at: 1e9, data: humble}}, {{topic: "/a", at: 2e9, data: humble}}} {
		file := database(t, []rosbag2.Topic{silent, other}, rows...)
		if err := os.Rename(file, filepath.Join(dir, fmt.Sprintf("x_%d.db3", i))); err != nil {
			t.Fatal(err)
		}
	}
	s := openSource(t, dir, ros2.OpenOptions{})
	all, wrong := lines(s, rosbag.Query{})
	if len(all) != 2 || len(wrong) > 0 || len(s.Info().Damage) > 0 || len(s.Connections()) != 2 {
		t.Errorf("%d messages, %v, %v", len(all), wrong, s.Info().Damage)
	}
}
