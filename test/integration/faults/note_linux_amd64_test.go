package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestNoteKilled kills gobag note before and after each system call that changes the bag: it is
// the old or the new one, and another run adds the note.
func TestNoteKilled(t *testing.T) {
	t.Parallel()
	harness.Long(t, "kills dozens of programs")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "")
	bags.Make(g, "whole.bag",
		bags.StringMessage{Topic: "/odom", Node: "/base", At: time.Second, Text: "1"},
		bags.StringMessage{Topic: "/odom", Node: "/base", At: 3 * time.Second, Text: "2"})
	whole, err := os.ReadFile(filepath.Join(g.Dir, "whole.bag"))
	if err != nil {
		t.Fatal(err)
	}
	var killed []string
	for _, how := range []string{"before", "after"} {
		for at := 1; ; at++ {
			path := filepath.Join(g.Dir, fmt.Sprintf("%s_%d.bag", how, at))
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			tr := &tracer{at: at, how: how}
			if err := tr.run(g.Command("gobag", "note", "-q", path, "robot=r1")); err != nil {
				t.Fatal(err)
			}
			if !tr.killed {
				break
			}
			killed = append(killed, path)
		}
	}
	if len(killed) < 10 {
		t.Fatalf("killed only at %v", killed)
	}
	olds := 0
	for i, b := range bags.Annotations(g, killed...) {
		switch {
		case len(b.Tags) == 0:
			olds++
		case !cmp.Equal(b.Tags, map[string]string{"robot": "r1"}):
			t.Errorf("%s: %v", killed[i], b.Tags)
		}
		if odom := bags.Read(t, killed[i])["/odom"]; odom == nil || len(odom.Messages) != 2 {
			t.Errorf("%s has lost messages", killed[i])
		}
		g.Start("gobag", "note", "-q", killed[i], "robot=r1").Ended(0)
	}
	if olds == 0 || olds == len(killed) {
		t.Errorf("%d of %d are the old bag", olds, len(killed))
	}
	for i, b := range bags.Annotations(g, killed...) {
		if !cmp.Equal(b.Tags, map[string]string{"robot": "r1"}) {
			t.Errorf("%s, after another run: %v", killed[i], b.Tags)
		}
	}
}
