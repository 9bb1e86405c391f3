package mapping_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// most is how long the result of a payload may be in the tests: see package cdr.
func most(payload []byte) int { return 2*64*len(payload) + 4<<20 }

// FuzzTo2 checks that what goes to ROS 2 comes back, and is the same in ROS 2 again.
func FuzzTo2(f *testing.F) {
	for name, in := range samples() {
		if len(in) < 1<<10 {
			definition, _, _ := noetic.Definition(name)
			f.Add(name, definition, []byte(in))
		}
	}
	for _, name := range []string{"rosgraph_msgs/Log", "visualization_msgs/Marker", "shape_msgs/SolidPrimitive", "sensor_msgs/CameraInfo", "std_msgs/Duration", "std_msgs/Empty"} {
		definition, _, _ := noetic.Definition(name)
		f.Add(name, definition, make([]byte, 300))
	}
	f.Add("A_b/c", "bool T\nint8 t\nEmpty[] e\ntime[2] x\nstring S=\"#\nbyte B=-1\n"+dashes+"MSG: A_b/Empty\n", make([]byte, 23))
	f.Add("sensor_msgs/CameraInfo", "float64[9] K\nHeader header\nfloat64[] D\nstring[] d\n"+dashes+"MSG: std_msgs/Header\nstring frame_id\ntime stamp\n", make([]byte, 100))
	f.Fuzz(func(t *testing.T, name, definition string, payload []byte) {
		m := newMapper(t, mapping.Jazzy, mapping.Options{})
		there, err := m.To2(name, definition)
		if err != nil {
			if !errors.Is(err, mapping.ErrType) && !errors.Is(err, rosmsg.ErrDefinition) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		back, err := m.To1(there.Type, there.Schema)
		if errors.Is(err, msg.ErrLimit) || errors.Is(err, rosmsg.ErrLimit) {
			return // the types of times count, too
		}
		if err != nil {
			t.Fatalf("%v, of\n%s", err, there.Schema)
		}
		again, err := newMapper(t, mapping.Jazzy, mapping.Options{}).To2(back.Type, back.Definition)
		if err != nil || again.Type != there.Type || again.Hash != there.Hash {
			t.Fatalf("%v, of\n%s", err, back.Definition)
		}
		message, err := there.Append(nil, payload, nil)
		if err != nil {
			if !errors.Is(err, mapping.ErrCorrupt) || message != nil {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if len(message) > most(payload) {
			t.Fatalf("%d bytes become %d", len(payload), len(message))
		}
		var n mapping.Counts
		one, err := back.Append(nil, message, &n)
		if err != nil {
			t.Fatalf("%x: %v", message, err)
		}
		two, err := again.Append(nil, one, nil)
		if n.ClampedTimes == 0 && (err != nil || !bytes.Equal(two, message)) {
			t.Fatalf("%x, want %x (%v)", two, message, err)
		}
	})
}

// FuzzTo1 does the same from the other side.
func FuzzTo1(f *testing.F) {
	m := newMapper(f, mapping.Jazzy, mapping.Options{})
	for name, in := range samples() {
		if len(in) < 1<<10 {
			there := stockTo2(f, m, name)
			message, err := there.Append(nil, in, nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(there.Type, there.Schema, message)
		}
	}
	for _, name := range []string{"rcl_interfaces/msg/Log", "visualization_msgs/msg/Marker", "builtin_interfaces/msg/Time", "rcl_interfaces/msg/ParameterEvent"} {
		schema, _ := m.Schema(name)
		f.Add(name, schema, append([]byte{0, 1, 0, 0}, make([]byte, 600)...))
	}
	f.Add("p/msg/T", "string<=2 a\nE[<=3] e\nwstring w\nint8 C=1\n"+dashes+"MSG: p/E\n", []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3, 0, 0, 0})
	f.Add("rosgraph_msgs/msg/Log", "std_msgs/Header header\nbyte level\nstring[] topics\n", []byte{0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, name, schema string, message []byte) {
		m := newMapper(t, mapping.Jazzy, mapping.Options{})
		back, err := m.To1(name, schema)
		if err != nil {
			if !errors.Is(err, mapping.ErrType) && !errors.Is(err, msg.ErrDefinition) && !errors.Is(err, rosmsg.ErrDefinition) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		one, err := rosmsg.Parse(back.Type, back.Definition)
		if err != nil || one.MD5Sum() != back.MD5Sum {
			t.Fatalf("%v, of\n%s", err, back.Definition)
		}
		payload, err := back.Append(nil, message, nil)
		if err != nil {
			if !errors.Is(err, mapping.ErrCorrupt) || payload != nil {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if len(payload) > most(message) {
			t.Fatalf("%d bytes become %d", len(message), len(payload))
		}
		if err := one.Check(payload); err != nil && !errors.Is(err, rosmsg.ErrLimit) {
			t.Fatalf("%x: %v, of\n%s", payload, err, back.Definition)
		}
	})
}
