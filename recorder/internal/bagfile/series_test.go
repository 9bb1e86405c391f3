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

	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// TestExplainCreate: each cause has its own advice, and keeps what callers compare it with.
func TestExplainCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	free, finished, active := filepath.Join(dir, "free.bag"), filepath.Join(dir, "finished.bag"), filepath.Join(dir, "begun.bag")
	for _, path := range []string{finished, active + bagname.ActiveSuffix} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		target string
		err    error
		is     error
		want   string
	}{
		{free, &fs.PathError{Op: "chmod", Path: "x", Err: syscall.EPERM}, syscall.EPERM, "cannot open free.bag.active: its file system does not take this mode of files (operation not permitted): record without --file-mode, or to another file system"},
		{finished, fs.ErrExist, nil, "finished.bag exists: a recording never overwrites; choose another name or move it away"},
		{active, fs.ErrExist, nil, "begun.bag.active exists: another recorder writes it, or a recorder crashed; choose another name, or recover it with gobag reindex and rename it"},
		{free, syscall.ENOSPC, disk.ErrMinSpace, "cannot open free.bag.active: " + disk.ErrMinSpace.Error() + ": no space left on device"},
		{free, syscall.EDQUOT, disk.ErrMinSpace, "cannot open free.bag.active: " + disk.ErrMinSpace.Error() + ": disk quota exceeded"},
		{free, &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, nil, "cannot open free.bag.active: no permission to write in " + dir + disk.WhyDenied(dir)},
		{free, &fs.PathError{Op: "openat", Path: "free.bag.active", Err: syscall.EROFS}, syscall.EROFS, "cannot open free.bag.active: read-only file system: name another directory, or in a container mount one"},
		{free, &fs.PathError{Op: "openat", Path: "free.bag.active", Err: syscall.ENAMETOOLONG}, syscall.ENAMETOOLONG, "cannot open free.bag.active: file name too long"},
		{free, syscall.EIO, syscall.EIO, "cannot open free.bag.active: input/output error"},
	} {
		err := explainCreate(tc.target, tc.err)
		if got := strings.ReplaceAll(err.Error(), dir+"/", ""); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
		if tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%v is not %v", err, tc.is)
		}
	}
}

// TestCreateFile: the mode is the one that was asked for, whatever the umask; nothing is overwritten.
func TestCreateFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, err := disk.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for name, mode := range map[string]os.FileMode{"default": 0, "open": 0o666, "closed": 0o600} {
		f, err := disk.CreateFile(folder, name, mode)
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		f.Close()
		if err != nil || mode != 0 && st.Mode() != mode || mode == 0 && st.Mode()&^0o640 != 0 {
			t.Errorf("%s: mode %v, %v", name, st.Mode(), err)
		}
		if f, err := disk.CreateFile(folder, name, mode); f != nil || !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s, again: %v, %v", name, f, err)
		}
	}
}

// TestNumberedNames: the first file has a number if all have one, or with a template; a number
// that another file has is left out.
func TestNumberedNames(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 15, 30, 0, time.Local)
	for name, tc := range map[string]struct {
		out      bagname.Output
		numbered bool
		want     []string
	}{
		"named":           {bagname.Output{Name: "run"}, false, []string{"run.bag", "run_1.bag", "run_3.bag"}},
		"numbered":        {bagname.Output{Name: "run"}, true, []string{"run_0.bag", "run_1.bag", "run_3.bag"}},
		"template":        {bagname.Output{Template: "run_{split}"}, false, []string{"run_0.bag", "run_1.bag", "run_2_1.bag"}},
		"template, again": {bagname.Output{Template: "run_{split}"}, true, []string{"run_0.bag", "run_1.bag", "run_2_1.bag"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "run_2.bag"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, p := range []*string{&tc.out.Name, &tc.out.Template} {
				if *p != "" {
					*p = filepath.Join(dir, *p)
				}
			}
			s, err := OpenSeries(tc.out, SyncNone, tc.numbered, zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, want := range tc.want {
				b, err := s.Create(now)
				if err != nil {
					t.Fatal(err)
				}
				if got := filepath.Base(b.Target()); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if err := b.Finish(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
