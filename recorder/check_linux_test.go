package recorder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestCheckOutput: what the name and the directory of the bag lack, looked at and tried. Nothing stays behind.
func TestCheckOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "taken.bag"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const missing, taken = "does not exist: create it first", "taken.bag exists"
	for name, tc := range map[string]struct {
		o          recorder.Options
		check, try string
	}{
		"free":           {o: recorder.Options{Output: recorder.Output{Name: dir + "/free"}}},
		"taken":          {recorder.Options{Output: recorder.Output{Name: dir + "/taken"}}, taken, taken},
		"taken, not yet": {o: recorder.Options{Output: recorder.Output{Name: dir + "/taken"}, Begin: control.StateStopped}},
		"no directory":   {recorder.Options{Output: recorder.Output{Name: dir + "/no/x"}}, missing, missing},
		"nor later":      {recorder.Options{Output: recorder.Output{Name: dir + "/no/x"}, Begin: control.StateStopped}, missing, missing},
		"read-only":      {recorder.Options{Output: recorder.Output{Name: "/proc/x"}}, "", "cannot open /proc/x.bag.active"},
		"later":          {recorder.Options{Output: recorder.Output{Name: "/proc/x"}, Snapshot: recorder.Snapshot{Mode: control.SnapshotOnly}}, "", "cannot open /proc/try_"},
	} {
		check(t, name, recorder.CheckOutput(tc.o), tc.check)
		check(t, name+", tried", recorder.TryOutput(tc.o), tc.try)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v are left (%v)", files, err)
	}
}

// check compares the text of an error with the part of it that is wanted; empty for no error.
func check(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}
