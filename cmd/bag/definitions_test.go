package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// TestBentDefinitions reads bags as publishers of other libraries than those of ROS make them: the definition is
// empty, lacks parts, or has an empty line too many. Each command reads the messages, and says so once if it takes
// a definition from ROS.
func TestBentDefinitions(t *testing.T) {
	t.Parallel()
	const twist = "linear: \n  x: 1.0\n  y: 2.0\n  z: 3.0\nangular: \n  x: 4.0\n  y: 5.0\n  z: 6.0\n---\n"
	for _, tt := range []struct{ name, topic, field, text, said string }{
		{"twist_empty", "/cmd", "m.linear.y == 2", twist, "/cmd: its definition of geometry_msgs/Twist is empty: that of ROS noetic is used"},
		{"twist_without_parts", "/cmd", "m.linear.y == 2", twist, "/cmd: its definition of geometry_msgs/Twist lacks geometry_msgs/Vector3: that of ROS noetic is used"},
		{"twist_blank_line", "/cmd", "m.linear.y == 2", twist, ""},
		{"own_without_header", "/own", "m.header.seq == 1", "x: 1.5\n---\n", "/own: its definition of my_msgs/Stamped lacks std_msgs/Header: that of ROS noetic is used"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := filepath.Join("testdata", "definitions", tt.name+".bag")
			dir := t.TempDir()
			run := func(once bool, args ...string) (stdout string) {
				t.Helper()
				code, stdout, stderr := gobag(args...)
				_, what, _ := strings.Cut(tt.said, ": ")
				want := 0
				if once && what != "" {
					want = 1
				}
				if code != 0 || strings.Count(stdout+stderr, what) != want && what != "" {
					t.Errorf("%v: code %d, %s%s", args, code, stdout, stderr)
				}
				return stdout
			}
			if text := run(true, "echo", in); !strings.HasSuffix(text, tt.text) {
				t.Errorf("echo: %s", text)
			}
			run(true, "check", "--deep", in)
			run(true, "filter", in, filepath.Join(dir, "some.bag"), tt.field)
			if n := counts(t, filepath.Join(dir, "some.bag"))[tt.topic]; n != 1 {
				t.Errorf("the expression selects %d messages", n)
			}
			for _, out := range [][]string{{"o.mcap"}, {"ros2", "--to", "ros2"}} {
				path := filepath.Join(dir, out[0])
				run(true, append([]string{"convert", in, path}, out[1:]...)...)
				if text := run(false, "echo", path); !strings.HasSuffix(text, tt.text) {
					t.Errorf("echo of %s: %s", out[0], text)
				}
				r, err := bags.Open(t.Context(), path, bags.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range r.Connections() { // for readers without a table of types
					typ, err := rosmsg.Parse(c.Header.Type(), c.Header.MessageDefinition())
					if err != nil || typ.MD5Sum() != c.Header.MD5Sum() || strings.Contains(c.Header.MessageDefinition(), "\n\nMSG:") {
						t.Errorf("definition in %s: %q, %v", out[0], c.Header.MessageDefinition(), err)
					}
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
