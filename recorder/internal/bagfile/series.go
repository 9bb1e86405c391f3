package bagfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// Series creates the files of one recording in one directory. It keeps the directory open, so that a symlink
// that takes its place later has no effect. One goroutine creates files; each file has its own owner.
type Series struct {
	bagname.Sequence
	Dir *disk.Folder
	// the directory as the user wrote it
	DirName  string
	Watchdog *disk.Watchdog
	// replaces the file below each bag, in tests that inject faults; nil for none
	Wrap func(disk.Handle) disk.Handle

	mode Sync
}

// OpenSeries opens the directory of a series. numbered means that the name of the first file has a
// number, too.
func OpenSeries(o bagname.Output, mode Sync, numbered bool, log *zap.Logger) (*Series, error) {
	target := o.Target(time.Now(), 0)
	if strings.ContainsFunc(target, unicode.IsControl) {
		return nil, fmt.Errorf("output name %q holds a control character", target)
	}
	dirName, _ := filepath.Split(target)
	s := &Series{
		Sequence: bagname.Sequence{Output: o, Numbered: numbered}, mode: mode, DirName: dirName,
		Watchdog: disk.NewWatchdog(log),
	}
	dirName = cmp.Or(dirName, ".")
	var err error
	if s.Dir, err = disk.OpenFolder(dirName); err != nil {
		active := s.Next(time.Now()) + bagname.ActiveSuffix
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot open %s: directory %s does not exist: create it first", active,
				dirName)
		}
		return nil, fmt.Errorf("cannot open %s: %w", active, err)
	}
	return s, nil
}

// SnapshotSeries returns a series for the bags of snapshots, in the same directory. beside means that the
// recording has bags of its own.
func (s *Series) SnapshotSeries(beside bool) *Series {
	return &Series{
		Sequence: s.ForSnapshots(beside), mode: s.mode, DirName: s.DirName, Dir: s.Dir,
		Watchdog: s.Watchdog, Wrap: s.Wrap,
	}
}

// CheckFirst returns the error that Create would return because the name of the first file is taken, or
// because this user may not create files in the directory. It writes nothing.
func (s *Series) CheckFirst(now time.Time) error {
	target := s.Next(now)
	if err := files.Writable(filepath.Dir(target)); err != nil {
		return explainCreate(target, err)
	}
	if !s.Chosen() {
		return nil // Create finds another name
	}
	for _, name := range []string{filepath.Base(target), filepath.Base(target) + bagname.ActiveSuffix} {
		if _, err := s.Dir.Lstat(name); err == nil {
			return explainCreate(target, fs.ErrExist)
		}
	}
	return nil
}

// Create creates the next file as X.bag.active. It never overwrites a file: if the name is taken, the
// sequence gives another one.
func (s *Series) Create(now time.Time) (*File, error) {
	target := s.Next(now)
	defer s.Watchdog.Begin("creation", target)()
	f, err := createIn(s.Dir, filepath.Base(target), s.Mode)
	for n := 1; errors.Is(err, fs.ErrExist) && n < maxVariants; n++ {
		another, ok := s.Another(now, n)
		if !ok {
			return nil, explainCreate(target, err)
		}
		target = another
		f, err = createIn(s.Dir, filepath.Base(target), s.Mode)
	}
	if err != nil {
		return nil, explainCreate(target, err)
	}
	base := filepath.Base(target)
	b := &File{
		Place: disk.Place{Name: target, Folder: s.Dir, Watchdog: s.Watchdog}, file: disk.OSFile{File: f},
		Mode: s.mode, path: target + bagname.ActiveSuffix,
		Begun: now, stat: f.Stat,
	}
	disk.Lock(f)
	if s.Wrap != nil {
		b.file = s.Wrap(b.file)
	}
	b.syncs.init(now)
	if err = b.reserveFirst(s); err == nil {
		b.writer, err = bagfmt.NewWriter(b, bagfmt.WriterOptions{}) // writes the head of the bag
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", target+bagname.ActiveSuffix, err), f.Close(),
			s.Dir.Remove(base+bagname.ActiveSuffix))
	}
	if b.ID, err = f.Stat(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", target+bagname.ActiveSuffix, err), f.Close())
	}
	s.Used()
	return b, nil
}

// Path returns the present path of a file in the directory.
func (s *Series) Path(name string) string { return s.Dir.Path(filepath.Join(s.DirName, name)) }

// Place returns the place of a file in the directory.
func (s *Series) Place(name string, st fs.FileInfo) disk.Place {
	return disk.Place{Name: filepath.Join(s.DirName, name), Folder: s.Dir, ID: st, Watchdog: s.Watchdog}
}

// maxVariants is how many names are tried.
const maxVariants = 10_000

// Close closes the directory.
func (s *Series) Close() error { return s.Dir.Close() }

func createIn(dir *disk.Folder, base string, mode os.FileMode) (*os.File, error) {
	if _, err := dir.Lstat(base); err == nil {
		return nil, fmt.Errorf("%w: %s", fs.ErrExist, base)
	}
	f, err := disk.CreateFile(dir, base+bagname.ActiveSuffix, mode)
	if err != nil {
		return nil, err
	}
	if _, err := dir.Lstat(base); err == nil { // another recorder has finished a bag of this name meanwhile
		return nil, errors.Join(fmt.Errorf("%w: %s", fs.ErrExist, base), f.Close(),
			dir.Remove(base+bagname.ActiveSuffix))
	}
	return f, nil
}

// explainCreate says what to do about a bag that cannot be created.
func explainCreate(target string, err error) error {
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && path.Op == "chmod":
		// as FAT answers, although the directory may be written to
		return fmt.Errorf("cannot open %s: its file system does not take this mode of files (%w): record without --file-mode, or to another file system", target+bagname.ActiveSuffix, path.Err)
	case errors.Is(err, fs.ErrExist) && !fileExists(target+bagname.ActiveSuffix):
		return fmt.Errorf("%s exists: a recording never overwrites; choose another name or move it away",
			target)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists: another recorder writes it, or a recorder crashed; choose another name, or recover it with gobag reindex and rename it", target+bagname.ActiveSuffix)
	case errors.Is(err, syscall.ENOSPC) && disk.NoInodes(filepath.Dir(target)):
		return fmt.Errorf("cannot open %s: %w: it has no inode left for another file (see df -i): %w",
			target+bagname.ActiveSuffix, disk.ErrMinSpace, err)
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("cannot open %s: %w: %w", target+bagname.ActiveSuffix, disk.ErrMinSpace, err)
	case errors.Is(err, fs.ErrPermission):
		dir := filepath.Dir(target)
		return fmt.Errorf("cannot open %s: no permission to write in %s%s", target+bagname.ActiveSuffix, dir,
			disk.WhyDenied(dir))
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("cannot open %s: %w: name another directory, or in a container mount one",
			target+bagname.ActiveSuffix, syscall.EROFS)
	case errors.As(err, &path):
		err = path.Err // the error that is returned names the file
	}
	return fmt.Errorf("cannot open %s: %w", target+bagname.ActiveSuffix, err)
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Free returns how many bytes are free on the disk.
func (s *Series) Free() (int64, error) {
	defer s.Watchdog.Begin("free space check", s.Dir.Name())()
	return disk.FreeBytes(s.Dir.Handle)
}
