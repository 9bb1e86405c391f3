package msgfiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/msgfiles"
)

// TestOpen finds the same type whichever folder of a workspace is named.
func TestOpen(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	dir := filepath.Join(ws, "install", "share", "my", "msg")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "T.msg"), []byte("int8 a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for folder := dir; folder != filepath.Dir(ws); folder = filepath.Dir(folder) {
		f, err := msgfiles.Open(folder)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		text, ok, err := f.Text("my/T")
		file, _ := f.File("my/T")
		if !ok || err != nil || text != "int8 a\n" || filepath.Join(folder, file) != filepath.Join(dir, "T.msg") {
			t.Errorf("%s: %q, %v, %v, %s", folder, text, ok, err, file)
		}
	}
	if _, err := msgfiles.Open(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "has no .msg files") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := msgfiles.Open(filepath.Join(ws, "no")); err == nil {
		t.Error("a folder that is not there is no error")
	}
}
