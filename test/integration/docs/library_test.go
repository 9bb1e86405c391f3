//go:build unix

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// programs builds the programs of a page, and returns their paths by the title that they stand below.
func programs(t *testing.T, page string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	dir, all := t.TempDir(), make(map[string]string)
	part := regexp.MustCompile("(?ms)^## ([^\n]*)\n(?:[^#`][^\n]*\n|\n)*```go\n(package main\n.*?)^```")
	for i, found := range part.FindAllSubmatch(b, -1) {
		path := filepath.Join(dir, "program"+strconv.Itoa(i))
		if err := os.WriteFile(path+".go", found[2], 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", "build", "-o", path, path+".go") // a file, so that it is built as a part of this module
		cmd.Dir = root
		if out, err := testkit.CombinedOutput(cmd); err != nil {
			t.Fatalf("%s: %v\n%s", found[1], err, out)
		}
		all[string(found[1])] = path
	}
	if blocks := strings.Count(string(b), "```go\n"); len(all) != blocks || blocks == 0 {
		t.Fatalf("%d programs, %d blocks of Go", len(all), blocks)
	}
	return all
}

// TestLibraryPrograms builds and runs each program of docs/library.md.
func TestLibraryPrograms(t *testing.T) {
	t.Parallel()
	harness.Long(t, "builds the programs of a page")
	all := programs(t, "docs/library.md")
	g := harness.NewGraph(t, "gomaster")
	demo, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.Dir, "run1.bag"), demo, 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(title string) *harness.Process {
		path, ok := all[title]
		if !ok {
			t.Fatalf("no program below %q", title)
		}
		delete(all, title)
		return g.Launch(title, g.Command(path))
	}
	start("Read a bag and decode its messages").Ended(0, " 9.")

	start("Write a bag").Ended(0)
	harness.Contains(t, g.Run("gobag", "echo", "wheels.bag", "--json"), `"frame_id":"base_link","speeds":[1.0,1.5]`)

	listener, driver := start("Subscribe"), start("Publish")
	listener.Printed(`/cmd_vel {"linear":{"x":0.5,"y":0.0,"z":0.0},"angular":{"x":0.0,"y":0.0,"z":0.0}} <nil>`)
	start("Record inside your program").Ended(0, "/cmd_vel 20 messages in drive.bag")
	harness.Contains(t, g.Run("gobag", "info", "drive.bag"), "geometry_msgs/Twist")
	listener.Stop()
	driver.Stop()

	light := start("Provide a service")
	g.Eventually("the service", func() bool { return g.Try(all["Call a service"]) == nil })
	start("Call a service").Ended(0, "true on")
	light.Signal(syscall.SIGTERM) // as systemd and docker stop a program
	light.Ended(0)
	for title := range all {
		t.Errorf("the program below %q is not run", title)
	}
}
