package arch_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"go/doc"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// screen is how many lines go doc prints of a package on one screen.
const screen = 60

// longer are packages of which go doc prints more. The limits only fall.
var longer = map[string]int{"tcpros": 74}

// TestPublicPackages checks that programs of others can learn each public package: go doc of it fits a screen, and it
// has an example that runs.
func TestPublicPackages(t *testing.T) {
	t.Parallel()
	m := checkedPackages(t)
	for _, p := range m.packages {
		if !isPublic(p.name()) {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "go", "doc", p.ImportPath)
		cmd.Dir = root(t)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go doc %s: %v", p.ImportPath, err)
		}
		limit := cmp.Or(longer[p.name()], screen)
		if n := bytes.Count(out, []byte("\n")); n > limit {
			t.Errorf("go doc %s prints %d lines, more than %d: what may another package own?", p.name(), n, limit)
		}
		files := slices.DeleteFunc(slices.Clone(p.XTestGoFiles), func(name string) bool { return !strings.HasPrefix(name, "example") })
		examples := doc.Examples(m.parse(t, p.Dir, files)...)
		if !slices.ContainsFunc(examples, func(e *doc.Example) bool { return e.Output != "" }) {
			t.Errorf("%s has no example that runs", p.name())
		}
	}
}

// readers are the packages that a program imports to read a bag.
var readers = []string{"./bagfmt", "./rosbag", "./rosmsg"}

// TestReadersAreLean checks that reading a bag and decoding its messages pulls at most three modules of others.
func TestReadersAreLean(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, readers...)...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.DeleteFunc(slices.Compact(modules), func(m string) bool { return m+"/" == module })
	if len(modules) > 3 || len(modules) == 0 {
		t.Errorf("%d modules: %s", len(modules), modules)
	}
}

// TestRobotsGetNoTests checks that what runs on robots links no package for tests: the MCAP library's writer does, and
// only gobag writes MCAP files.
func TestRobotsGetNoTests(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"record", "play", "master"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/"+program)
		cmd.Dir = root(t)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages := strings.Fields(string(out))
		for _, unwanted := range []string{"testing", "github.com/foxglove/mcap/go/mcap"} {
			if slices.Contains(packages, unwanted) {
				t.Errorf("cmd/%s links %s", program, unwanted)
			}
		}
	}
}

// TestNoReplace checks that go.mod says nothing that counts in the main module only: programs of others would be built
// of other code.
func TestNoReplace(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var mod struct {
		Module           struct{ Path string }
		Replace, Exclude []any
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	if mod.Module.Path+"/" != module || len(mod.Replace)+len(mod.Exclude) > 0 {
		t.Errorf("module %s, replace %v, exclude %v", mod.Module.Path, mod.Replace, mod.Exclude)
	}
	if _, err := os.Stat(filepath.Join(root(t), "vendor")); err == nil {
		t.Error("there is a folder vendor")
	}
}
