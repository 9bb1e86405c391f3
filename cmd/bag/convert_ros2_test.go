package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestToROS2DiskFull converts into a file system that has no room for the result.
func TestToROS2DiskFull(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"mcap", "sqlite3"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := mountSmall(dir); err != nil {
				t.Skip("no small file system: ", err)
			}
			t.Cleanup(func() {
				if err := unmount(dir); err != nil {
					t.Error(err)
				}
			})
			in := write(t, "big.bag", bigBag(t, 9<<20))
			code, _, stderr := gobag("convert", in, filepath.Join(dir, "run"), "--to", "ros2", "--storage", storage, "--compression", "none")
			if code != 1 || !strings.Contains(stderr, syscall.ENOSPC.Error()) {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			if left := names(t, dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
