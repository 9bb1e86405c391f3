package recorder_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

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
		"later":          {recorder.Options{Output: recorder.Output{Name: "/proc/x"}, Snapshot: recorder.Snapshot{Mode: control.SnapshotOnly}}, "", "cannot open /proc/try_"},
	} {
		check(t, name, recorder.CheckOutput(tc.o), tc.check)
		check(t, name+", tried", recorder.TryOutput(tc.o), tc.try)
	}
	check(t, "read-only, tried", recorder.TryOutput(recorder.Options{Output: recorder.Output{Name: "/proc/x"}}), "cannot open /proc/x.bag.active")
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v are left (%v)", files, err)
	}
}

// TestCheckOutputWithoutPermission: a directory that this user may not write to is found without a try, with the same text,
// whether the name is chosen or not.
func TestCheckOutputWithoutPermission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	var tried, checked []string
	var wg sync.WaitGroup
	// owner: this test. The thread ends with the function, as it stays locked.
	wg.Go(func() {
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			_ = unix.Setfsuid(65534) // a user that owns nothing
		}
		for _, o := range []recorder.Options{
			{Output: recorder.Output{Name: dir + "/x"}}, {Output: recorder.Output{Prefix: dir + "/x"}}, {Output: recorder.Output{Name: dir + "/x"}, Begin: control.StateStopped},
		} {
			checked, tried = append(checked, fmt.Sprint(recorder.CheckOutput(o))), append(tried, fmt.Sprint(recorder.TryOutput(o)))
		}
	})
	wg.Wait()
	const denied = "no permission to write in "
	for i, text := range checked[:2] {
		if !strings.Contains(text, denied+dir) || !strings.Contains(tried[i], denied+dir) {
			t.Errorf("%d: checked: %s\ntried: %s", i, text, tried[i])
		}
	}
	if checked[2] != "<nil>" { // begins without a bag
		t.Errorf("a recording that begins stopped: %s", checked[2])
	}
}

// check compares the text of an error with the part of it that is wanted; empty for no error.
func check(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}
