package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// unprivileged calls f with the rights of a user that owns nothing, if this is root.
func unprivileged(f func()) {
	var wg sync.WaitGroup
	// owner: unprivileged; ends with f. The thread ends, too, as it stays locked.
	wg.Go(func() {
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			_ = unix.Setfsuid(65534)
		}
		f()
	})
	wg.Wait()
}

// TestCheckDirectory: a directory that an upload could not write to is found without writing to it.
func TestCheckDirectory(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for dir := top; strings.HasPrefix(filepath.Base(filepath.Dir(dir)), "Test"); dir = filepath.Dir(dir) {
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"open": 0o777, "closed": 0o555} {
		if err := os.Mkdir(filepath.Join(top, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(top, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"file://TOP/open":                     "",
		"file://TOP/open/a/b?create_dir=true": "",
		"s3://bucket/none":                    "",
		"file://TOP/open/a":                   "no such directory: make or mount it, or add ?create_dir=true to the URL",
		"file://TOP/file":                     "TOP/file is a file: want a directory",
		"file://TOP/closed":                   "write to TOP/closed: permission denied: give the user of this program write access to the directory",
		"file://TOP/closed/a?create_dir=true": "write to TOP/closed: permission denied: give the user of this program write access to the directory",
	} {
		url, want = strings.ReplaceAll(url, "TOP", top), strings.ReplaceAll(want, "TOP", top)
		got := ""
		unprivileged(func() {
			if err := store.CheckDirectory(url); err != nil {
				got = store.Message(err)
			}
		})
		if got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if left, err := os.ReadDir(filepath.Join(top, "open")); err != nil || len(left) > 0 {
		t.Errorf("the check has left %v, %v", left, err)
	}
}
