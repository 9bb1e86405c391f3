package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
)

// TestDefinitionsOfROS2: a type without fields has an empty definition, types of ROS are known although the recording
// has no definition that can be read, and a topic without messages is no loss.
func TestDefinitionsOfROS2(t *testing.T) {
	t.Parallel()
	unknown := filepath.Join(t.TempDir(), "unknown.db3")
	w, err := db3.Create(t.Context(), unknown, "humble")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range []rosbag2.Topic{
		{Name: "/range", Type: "sensor_msgs/msg/Range", Serialization: "cdr"}, {Name: "/never", Type: "my_msgs/msg/Thing", Serialization: "cdr"},
	} {
		id, err := w.Add(topic)
		if err != nil {
			t.Fatal(err)
		}
		if topic.Name == "/never" {
			continue
		}
		// With the variance that ROS 1 lacks.
		if err := w.Write(id, 1e9, []byte("\x00\x01\x00\x00"+strings.Repeat("\x00", 8)+"\x01\x00\x00\x00\x00"+strings.Repeat("\x00", 3+5*4))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(t.Context(), &rosbag2.Metadata{}); err != nil {
		t.Fatal(err)
	}
	definitions := t.TempDir()
	writeBelow(t, filepath.Join(definitions, "my_msgs", "msg", "Thing.msg"), "int8 x\n")
	const never = "topic /never is left out: it has no messages; the recording has no definition of my_msgs/msg/Thing"
	idl := filepath.Join("testdata", "definitions", "ros2_idl_of_known_type.mcap")
	for _, tt := range []struct {
		command  string
		messages string // in the output
		said     string // once; empty: nothing of definitions
	}{
		{"convert testdata/definitions/ros2_empty_type.mcap OUT", "6 messages", ""},
		{"check testdata/definitions/ros2_empty_type.mcap", "6 messages of 2 connections", ""},
		{"info " + idl, "messages: 3", "/cmd: its definition of geometry_msgs/msg/Twist is IDL, where only the text of .msg files can be read: that of ROS jazzy is used"},
		{"check --deep " + idl, "3 messages of 1 connection", "is IDL"},
		{"convert " + idl + " OUT", "3 messages", "is IDL"},
		{"echo " + idl, "  z: 6.0\n", "is IDL"},
		{"info " + unknown, "messages: 1", never},
		{"info --definitions " + definitions + " " + unknown, "my_msgs/Thing", ""},
		{"check " + unknown, "1 message of 1 connection", "warning: /never: it has no messages; the recording has no definition"},
		{"check --definitions " + definitions + " " + unknown, "2 connections", ""},
		{"check --definitions " + filepath.Join(definitions, "my_msgs", "msg") + " " + unknown, "2 connections", ""},
		{"convert " + unknown + " OUT", "1 message", never},
		{"convert --definitions " + definitions + " " + unknown + " OUT", "1 message", ""},
		{"echo " + unknown, "range: 0.0\n", never},
		{"echo " + unknown, "range: 0.0\n", "fields that ROS 1 does not have are not shown: sensor_msgs/Range.variance\n"},
		{"echo --definitions " + definitions + " " + unknown, "range: 0.0\n", ""},
		{"diff " + unknown + " " + unknown, "the same", never},
	} {
		t.Run(tt.command, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := gobag(strings.Fields(strings.Replace(tt.command, "OUT", filepath.Join(t.TempDir(), "out.bag"), 1))...)
			said := strings.Count(stdout+stderr, tt.said)
			if tt.said == "" {
				said = 1 + strings.Count(stdout+stderr, "definition of ")
			}
			if code != 0 || !strings.Contains(stdout+stderr, tt.messages) || said != 1 && !strings.HasPrefix(tt.command, "diff") {
				t.Errorf("code %d, %s%s", code, stdout, stderr)
			}
		})
	}
	if code, _, stderr := gobag("info", "--definitions", filepath.Join(definitions, "no"), unknown); code != 1 || !strings.Contains(stderr, "--definitions") {
		t.Errorf("no such directory: code %d, %s", code, stderr)
	}
	if code, _, stderr := gobag("info", "--definitions", t.TempDir(), unknown); code != 1 || !strings.Contains(stderr, "has no .msg files") {
		t.Errorf("a directory without messages: code %d, %s", code, stderr)
	}
}

// writeBelow writes a file, and makes its directory.
func writeBelow(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
