package bag_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// noted makes a bag in which nothing is said of itself.
func noted(g *harness.Graph, name string) string {
	g.T.Helper()
	g.MakeBag(name,
		harness.Spoken{Topic: "/map", Node: "/base", Latching: true, Text: "map"},
		harness.Spoken{Topic: "/odom", Node: "/base", At: time.Second, Text: "1"},
		harness.Spoken{Topic: "/odom", Node: "/base", At: 3 * time.Second, Text: "2"})
	return filepath.Join(g.Dir, name)
}

// TestNote: stock's Python reads the notes that were added to a finished bag, its rosbag info
// says nothing else of the bag than before, and its reindex keeps all. What is cut from the bag
// has the notes.
func TestNote(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "")
	path := noted(g, "whole.bag")
	before := g.Run("rosbag", "info", "-y", "-k", "duration", path)
	run(g, "gobag", "note", "-q", path, "robot=r1", "site=hall 3")
	run(g, "gobag", "note", "-q", path, "robot=r2")
	run(g, "gobag", "split", "-q", "--duration", "2", path, "part")
	want := map[string]string{"robot": "r2", "site": "hall 3"}
	for i, b := range g.Annotations(path, filepath.Join(g.Dir, "part_000.bag"), filepath.Join(g.Dir, "part_001.bag")) {
		if d := cmp.Diff(want, b.Tags); d != "" {
			t.Errorf("bag %d: %s", i, d)
		}
	}
	if after := g.Run("rosbag", "info", "-y", "-k", "duration", path); after != before {
		t.Errorf("duration %s, it was %s", after, before)
	}
	if got, want := g.Run("gobag", "info", path), g.Run("rosbag", "info", path); len(want) == 0 || got[:min(len(got), len(want))] != want {
		t.Errorf("gobag info:\n%s\nrosbag info:\n%s", got, want)
	}
	g.Run("rosbag", "reindex", "-q", path)
	if d := cmp.Diff(want, g.Annotations(path)[0].Tags); d != "" {
		t.Errorf("after rosbag reindex: %s", d)
	}
	g.Start("gobag", "note", path, "robot").Ended(1, "write key=value")
}

// TestNoteKilled kills gobag note at each system call that changes the bag: it is the old or the
// new one, and another run adds the note.
func TestNoteKilled(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	harness.Need(t, "strace", "-qq", "-o", "/dev/null", "true")
	g := harness.NewGraph(t, "")
	path := noted(g, "whole.bag")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var killed []string
	for _, call := range []string{"pwrite64", "fsync"} {
		for n := 1; ; n++ {
			name := filepath.Join(g.Dir, fmt.Sprintf("%s_%d.bag", call, n))
			if err := os.WriteFile(name, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if g.Try("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call, "-P", name,
				"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), "--", g.Command("gobag").Path, "note", "-q", name, "robot=r1") == nil {
				break
			}
			killed = append(killed, name)
		}
	}
	if len(killed) < 5 {
		t.Fatalf("killed only at %v", killed)
	}
	olds := 0
	for i, b := range g.Annotations(killed...) {
		switch {
		case len(b.Tags) == 0:
			olds++
		case !cmp.Equal(b.Tags, map[string]string{"robot": "r1"}):
			t.Errorf("%s: %v", killed[i], b.Tags)
		}
		if odom := harness.Read(t, killed[i])["/odom"]; odom == nil || len(odom.Messages) != 2 {
			t.Errorf("%s has lost messages", killed[i])
		}
		run(g, "gobag", "note", "-q", killed[i], "robot=r1")
	}
	if olds == 0 || olds == len(killed) {
		t.Errorf("%d of %d are the old bag", olds, len(killed))
	}
	for i, b := range g.Annotations(killed...) {
		if !cmp.Equal(b.Tags, map[string]string{"robot": "r1"}) {
			t.Errorf("%s, after another run: %v", killed[i], b.Tags)
		}
	}
}
