package bag_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// noted makes a bag in which nothing is said of itself.
func noted(g *harness.Graph, name string) string {
	g.T.Helper()
	bags.Make(g, name,
		bags.StringMessage{Topic: "/map", Node: "/base", Latching: true, Text: "map"},
		bags.StringMessage{Topic: "/odom", Node: "/base", At: time.Second, Text: "1"},
		bags.StringMessage{Topic: "/odom", Node: "/base", At: 3 * time.Second, Text: "2"})
	return filepath.Join(g.Dir, name)
}

// TestNote: stock's Python reads the notes that were added to a finished bag, its rosbag info
// says nothing else of the bag than before, and its reindex keeps all. What is cut from the bag
// has the notes.
func TestNote(t *testing.T) {
	t.Parallel()
	harness.Long(t, "reads the bags with stock's tools in Python")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "")
	path := noted(g, "whole.bag")
	before := g.Run("rosbag", "info", "-y", "-k", "duration", path)
	run(g, "gobag", "note", "-q", path, "robot=r1", "site=hall 3")
	run(g, "gobag", "note", "-q", path, "robot=r2")
	run(g, "gobag", "split", "-q", "--duration", "2", path, "part")
	want := map[string]string{"robot": "r2", "site": "hall 3"}
	for i, b := range bags.Annotations(g, path, filepath.Join(g.Dir, "part_000.bag"), filepath.Join(g.Dir, "part_001.bag")) {
		if d := cmp.Diff(want, b.Tags); d != "" || b.Back > 0 {
			t.Errorf("bag %d: goes back in time %d times; %s", i, b.Back, d)
		}
	}
	if after := g.Run("rosbag", "info", "-y", "-k", "duration", path); after != before {
		t.Errorf("duration %s, it was %s", after, before)
	}
	if got, want := g.Run("gobag", "info", path), g.Run("rosbag", "info", path); len(want) == 0 || got[:min(len(got), len(want))] != want {
		t.Errorf("gobag info:\n%s\nrosbag info:\n%s", got, want)
	}
	g.Run("rosbag", "reindex", "-q", path)
	if d := cmp.Diff(want, bags.Annotations(g, path)[0].Tags); d != "" {
		t.Errorf("after rosbag reindex: %s", d)
	}
}
