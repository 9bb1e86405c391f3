package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingSelected: a command that selects nothing says so, exits with 1 and writes no empty bag,
// unless that is allowed.
func TestNothingSelected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := demoBag, filepath.Join(dir, "out.bag")
	empty := filepath.Join(dir, "empty.bag")
	if code, _, stderr := gobag("filter", "--allow-empty", "-s", "100", in, empty); code != 0 || !strings.Contains(stderr, "empty.bag: 0 messages") {
		t.Fatalf("code %d, %s", code, stderr)
	}
	const span = ", which lasts 10.0 s from @1748682000.003000000 on; --allow-empty"
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"late":              {[]string{"filter", "-s", "100", in, out}, span},
		"early":             {[]string{"filter", "--until", "@1748681999", in, out}, span},
		"type":              {[]string{"filter", "--type", "nav_msgs/Path", in, out}, span},
		"expression":        {[]string{"filter", in, out, `topic == "/odom" and m.pose.pose.position.x > 1e9`}, span},
		"MCAP":              {[]string{"filter", "-s", "100", in, filepath.Join(dir, "out.mcap")}, span},
		"field":             {[]string{"filter", in, out, `m.psoe.x > 1`}, "m.psoe"},
		"field, not":        {[]string{"filter", in, out, `topic == "/map" or m.psoe.x > 1`}, "m.psoe"},
		"topic":             {[]string{"filter", in, out, `topic == "/odmo" or topic == "/map"`}, "expression: /odmo: no such topic; did you mean /odom?"},
		"topic of a list":   {[]string{"filter", in, out, `topic in ["/odmo", "/map"]`}, "did you mean /odom?"},
		"empty bag":         {[]string{"filter", empty, out}, "nothing is selected of " + empty + ", which has no messages; --allow-empty"},
		"split":             {[]string{"split", "--duration", "1", empty, filepath.Join(dir, "part")}, "nothing is selected of " + empty},
		"echo":              {[]string{"echo", in, "-s", "100"}, span},
		"echo of an empty":  {[]string{"echo", empty}, "nothing is selected of " + empty},
		"echo, expression":  {[]string{"echo", in, "--expr", `topic == "/odmo"`}, "did you mean /odom?"},
		"convert":           {[]string{"convert", "-t", "/nosuch", in, out}, span},
		"convert, ROS 2":    {[]string{"convert", "-t", "/nosuch", in, filepath.Join(dir, "run_ros2"), "--to", "ros2"}, span},
		"convert, dry":      {[]string{"convert", "-t", "/nosuch", in, filepath.Join(dir, "run_ros2"), "--to", "ros2", "--dry-run"}, span},
		"convert, MCAP":     {[]string{"convert", "-x", "*", in, filepath.Join(dir, "out.mcap")}, span},
		"convert, two":      {[]string{"convert", "-t", "/nosuch", in, empty, filepath.Join(dir, "run_ros2"), "--to", "ros2"}, ", nor of " + empty + ", which has no messages; --allow-empty"},
		"convert, empty":    {[]string{"convert", empty, out}, "nothing is selected of " + empty + ", which has no messages; --allow-empty"},
		"merge":             {[]string{"merge", "-o", out, empty, empty}, "nothing is selected of " + empty},
		"diff":              {[]string{"diff", "-x", "*", in, in}, span},
		"find":              {[]string{"find", `topic == "/nosuch"`, dir}, "none of 1 bag matches; --allow-empty"},
		"echo, until early": {[]string{"echo", in, "--until", "@1748681999"}, span},
	} {
		code, stdout, stderr := gobag(tc.args...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, tc.want) {
			t.Errorf("%s: code %d, %q, stderr %q, want %q", name, code, stdout, stderr, tc.want)
		}
		if all := names(t, dir); len(all) != 1 {
			t.Errorf("%s: there are %q", name, all)
		}
	}
	for _, args := range []string{
		"filter -s 5 --topic /map IN LATCHED", // was published before, and is repeated
		"echo --allow-empty IN -s 100", "convert --allow-empty -t /nosuch IN LATCHED", "convert --allow-empty -t /nosuch --to ros2 IN DIR2", "merge --allow-empty -o LATCHED EMPTY",
		"diff --allow-empty -x * IN IN", "diff EMPTY EMPTY", `find --allow-empty topic=="/nosuch" DIR`,
		"split --allow-empty --duration 1 EMPTY DIR/part", "echo IN -n 1 --expr m?.psoe==nil",
		// A topic of another robot, and one that is as similar as its neighbor.
		`echo IN -n 1 --expr topic=="/odom"||topic=="/gps"`, `echo IN -n 1 --expr topic=="/odom"||topic=="/odom2"`,
	} {
		code, _, stderr := gobag(strings.Fields(strings.NewReplacer("IN", in, "EMPTY", empty, "DIR2", filepath.Join(t.TempDir(), "ros2"), "DIR", dir, "LATCHED", filepath.Join(t.TempDir(), "out.bag")).Replace(args))...)
		if code != 0 {
			t.Errorf("%s: code %d, %s", args, code, stderr)
		}
	}
	b, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := piped(strings.NewReader(string(b)), "filter", "-", out, `topic == "/odmo" or topic == "/map"`); code != 1 || !strings.Contains(stderr, "did you mean /odom?") || len(names(t, dir)) != 1 {
		t.Errorf("a pipe: code %d, %s", code, stderr)
	}
}
