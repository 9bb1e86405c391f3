package bagfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
)

// createBag creates the first file of a recording.
func createBag(o bagname.Output, mode Sync, now time.Time) (*File, error) {
	s, err := OpenSeries(o, mode, false, zap.NewNop())
	if err != nil {
		return nil, err
	}
	return s.Create(now)
}

func TestCreateBagNeverOverwrites(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(dir string) error
		want    string
	}{
		"finished bag": {func(dir string) error { return os.WriteFile(dir+"/x.bag", []byte("precious"), 0o600) }, "exists: a recording never overwrites"},
		"active bag":   {func(dir string) error { return os.WriteFile(dir+"/x.bag.active", []byte("precious"), 0o600) }, "another recorder writes it, or a recorder crashed"},
		"symlink":      {func(dir string) error { return os.Symlink("/dev/null", dir+"/x.bag.active") }, "exists"},
		"dangling":     {func(dir string) error { return os.Symlink("nothing", dir+"/x.bag") }, "exists"},
		"no directory": {os.Remove, "does not exist: create it first"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tc.prepare(dir); err != nil {
				t.Fatal(err)
			}
			_, err := createBag(bagname.Output{Name: filepath.Join(dir, "x")}, SyncNone, time.Now())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want an error with %q", err, tc.want)
			}
			for _, name := range []string{"x.bag", "x.bag.active"} {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(b) > 0 && string(b) != "precious" {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// TestModeRefused: FAT takes few modes of files. Then the directory is not to blame.
func TestModeRefused(t *testing.T) {
	t.Parallel()
	err := explainCreate("x.bag", errors.Join(&fs.PathError{Op: "chmod", Path: "x.bag.active", Err: syscall.EPERM}))
	want := "cannot open x.bag.active: its file system does not take this mode of files (operation not permitted): record without --file-mode, or to another file system"
	if err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestDatedNameTaken: a recorder that is started twice within a second records both times.
func TestDatedNameTaken(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 15, 59, 0, time.Local)
	prefix := filepath.Join(t.TempDir(), "robot")
	for _, want := range []string{"2026-11-21-08-15-59", "2026-11-21-08-16-00", "2026-11-21-08-16-01"} {
		b, err := createBag(bagname.Output{Prefix: prefix}, SyncNone, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := prefix + "_" + want + ".bag"; b.Target() != got {
			t.Errorf("%s, want %s", b.Target(), got)
		}
	}
}

func TestTargetThatAppearsMeanwhileIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	b, err := createBag(bagname.Output{Name: path}, SyncInterval, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".bag", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Finish(); err == nil || !strings.Contains(err.Error(), "the finished bag stays at") {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(path + ".bag"); err != nil || string(got) != "precious" {
		t.Errorf("the other file holds %q, %v", got, err)
	}
	f, err := os.Open(path + ".bag.active")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{}); err != nil {
		t.Errorf("the bag cannot be read: %v", err)
	}
}

func TestControlCharactersInNames(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"\n", "\r", "\x00", "\t", "\x07", "\x1b[2J", "\x7f", "\u0085"} {
		name := t.TempDir() + "/a" + c + "b"
		for _, o := range []bagname.Output{{Name: name}, {Prefix: name}, {Template: name}} {
			if _, err := createBag(o, SyncNone, time.Now()); err == nil || !strings.Contains(err.Error(), "control character") {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
}

// TestTemplateThatRepeats: never over another file.
func TestTemplateThatRepeats(t *testing.T) {
	t.Parallel()
	s, err := OpenSeries(bagname.Output{Template: t.TempDir() + "/day_%d"}, SyncNone, true, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"day_21.bag", "day_21_1.bag", "day_21_2.bag"} {
		b, err := s.Create(time.Date(2026, 11, 21, 1, 2, 3, 0, time.Local))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(b.Target()) != want {
			t.Errorf("%s, want %s", b.Target(), want)
		}
		if err := b.Finish(); err != nil {
			t.Fatal(err)
		}
	}
}
