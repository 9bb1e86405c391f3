package mapping_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/msgdiff"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// TestBags converts every message of real bags to each distribution and back. What comes
// back is the same but for what the notes tell: values of every field but seq, those of
// log entries, and times that ROS 2 cannot represent.
func TestBags(t *testing.T) {
	t.Parallel()
	paths := []string{"../../../testdata/demo.bag"}
	if dir := os.Getenv("GOROSBAG_BAGS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.bag"))
		if err != nil || len(more) == 0 {
			t.Fatalf("no bags in GOROSBAG_BAGS=%s (%v)", dir, err)
		}
		paths = append(paths, more...)
	} else {
		t.Log("no real bags: set GOROSBAG_BAGS to a directory of bags to convert those too")
	}
	for _, path := range paths {
		for _, d := range []mapping.Distro{mapping.Foxy, mapping.Jazzy} {
			t.Run(filepath.Base(path)+"/"+string(d), func(t *testing.T) {
				t.Parallel()
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
				if err != nil {
					t.Fatal(err)
				}
				bagThereAndBack(t, r, d)
			})
		}
	}
}

func bagThereAndBack(t *testing.T, r *bagfmt.Reader, d mapping.Distro) {
	t.Helper()
	type ways struct {
		one, two *rosmsg.Type
		there    *mapping.To2
		back     *mapping.To1
	}
	m := newMapper(t, d, mapping.Options{})
	types := make(map[*rosbag.Connection]*ways)
	var n mapping.Counts
	messages := 0
	for msg, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		w, ok := types[msg.Conn]
		if !ok {
			h := msg.Conn.Header
			w = &ways{there: to2(t, m, h.Type(), h.MessageDefinition())}
			w.back = to1(t, m, w.there.Type, w.there.Schema)
			if w.one, err = rosmsg.Parse(h.Type(), h.MessageDefinition()); err != nil {
				t.Fatal(err)
			}
			if w.two, err = rosmsg.Parse(w.back.Type, w.back.Definition); err != nil {
				t.Fatal(err)
			}
			want := h.MD5Sum()
			if _, noetic, ok := noetic.Definition(w.back.Type); ok {
				want = noetic // the bag may have an older definition, with fewer constants
			}
			if w.back.MD5Sum != want {
				t.Errorf("%s: md5sum %s, want %s", h.Type(), w.back.MD5Sum, want)
			}
			types[msg.Conn] = w
		}
		if w.one.Check(msg.Data()) != nil {
			continue // damaged
		}
		message, err := w.there.Append(nil, msg.Data(), &n)
		if err != nil {
			t.Fatalf("%s: %v", msg.Conn.Topic, err)
		}
		again, err := w.back.Append(nil, message, &n)
		if err != nil {
			t.Fatalf("%s: %v", msg.Conn.Topic, err)
		}
		if n != (mapping.Counts{}) {
			n = mapping.Counts{}
			continue
		}
		messages++
		for difference, err := range msgdiff.All(w.one.Message(msg.Data()), w.two.Message(again)) {
			if err != nil {
				t.Fatal(err)
			}
			if name := filepath.Ext("." + difference.Path); name != ".seq" && w.back.Type != "rosgraph_msgs/Log" {
				t.Fatalf("%s field %s: %s", msg.Conn.Topic, difference.Path, cmp.Diff(msg.Data(), again))
			}
		}
	}
	if messages == 0 {
		t.Error("no message was compared")
	}
}
