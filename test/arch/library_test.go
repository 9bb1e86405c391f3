package arch_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
