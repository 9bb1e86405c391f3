package bagfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"go.uber.org/zap"
)

// Output names the bags.
type Output struct {
	Prefix string // PREFIX_<date>.bag; a trailing .bag of the prefix is dropped. Empty: <date>.bag
	Name   string // NAME.bag, a trailing .bag is not doubled. Beats Prefix

	// Template beats both: the letters of strftime, and {time} for the date as in other
	// names, {split} for the number of the file and {host} for the name of the machine.
	// A name that is taken gets a number behind.
	Template string

	Mode os.FileMode // of the files, whatever the umask; zero means 0640, and less if the umask says so
}

// path returns where a finished bag goes. A number that is not negative is part of
// the name. The parts and their order are stock's.
func (o Output) path(now time.Time, number int) string {
	if o.Template != "" {
		return strings.TrimSuffix(o.expand(now, max(number, 0)), ".bag") + ".bag"
	}
	var parts []string
	if name := strings.TrimSuffix(o.Name, ".bag"); name != "" {
		parts = append(parts, name)
	} else {
		if prefix := strings.TrimSuffix(o.Prefix, ".bag"); prefix != "" {
			parts = append(parts, prefix)
		}
		parts = append(parts, now.Format(dateLayout))
	}
	if number >= 0 {
		parts = append(parts, strconv.Itoa(number))
	}
	return strings.Join(parts, "_") + ".bag"
}

// Dir returns the directory that the bags of a recording that begins now go to.
func (o Output) Dir() string {
	dir, _ := filepath.Split(o.path(time.Now(), 0))
	return cmp.Or(dir, ".")
}

// Series creates the files of one recording, all in one directory that it holds
// open: no symlink that is swapped in later can lead out of it. One goroutine
// creates; the files themselves have their own owners.
type Series struct {
	Output
	Dir      *Folder
	DirName  string // as the user wrote it
	Watchdog *Watchdog
	Wrap     func(Handle) Handle // puts faults between a bag and its file, for tests

	mode     Sync
	numbered bool // also the first file has its number in the name
	number   int  // of the next file
	plain    bool // names have no number, but where one is taken
}

// OpenSeries opens the directory. numbered says that also the first file has its number in
// the name.
func OpenSeries(o Output, mode Sync, numbered bool, log *zap.Logger) (*Series, error) {
	target := o.path(time.Now(), 0)
	if strings.ContainsFunc(target, unicode.IsControl) {
		return nil, fmt.Errorf("output name %q holds a control character", target)
	}
	dirName, _ := filepath.Split(target)
	s := &Series{Output: o, mode: mode, numbered: numbered, DirName: dirName, Watchdog: newWatchdog(log)}
	dirName = cmp.Or(dirName, ".")
	var err error
	if s.Dir, err = OpenFolder(dirName); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot open %s: directory %s does not exist: create it first", s.NextPath(time.Now())+ActiveSuffix, dirName)
		}
		return nil, fmt.Errorf("cannot open %s: %w", s.NextPath(time.Now())+ActiveSuffix, err)
	}
	return s, nil
}

// ForSnapshots returns what creates the bags of snapshots in the same directory: one by
// the name that was asked for, beside the recording's own with a word more.
func (s *Series) ForSnapshots(beside bool) *Series {
	o := &Series{Output: s.Output, mode: s.mode, plain: true, DirName: s.DirName, Dir: s.Dir, Watchdog: s.Watchdog, Wrap: s.Wrap}
	if !beside {
		return o
	}
	const word = "snapshot"
	if o.Template != "" {
		o.Template = strings.TrimSuffix(o.Template, ".bag") + "_" + word
		return o
	}
	name := cmp.Or(strings.TrimSuffix(o.Name, ".bag"), strings.TrimSuffix(o.Prefix, ".bag"))
	if name != "" && !strings.HasSuffix(name, "/") {
		name += "_"
	}
	o.Name, o.Prefix = "", name+word
	return o
}

// NextPath returns the name of the next file.
func (s *Series) NextPath(now time.Time) string {
	if (s.plain || s.number == 0 && !s.numbered) && s.Template == "" {
		return s.path(now, -1)
	}
	return s.path(now, s.number)
}

// CheckFirst returns the error of Create about a first file whose name is taken.
func (s *Series) CheckFirst(now time.Time) error {
	if s.plain || s.Template != "" || s.Name == "" {
		return nil // Create finds another name
	}
	target := s.NextPath(now)
	for _, name := range []string{filepath.Base(target), filepath.Base(target) + ActiveSuffix} {
		if _, err := s.Dir.Lstat(name); err == nil {
			return explainCreate(target, fs.ErrExist)
		}
	}
	return nil
}

// Create creates the next file as X.bag.active, never over an existing one. Where the name is
// taken it takes the next number that is free; for the first file of a recording, whose name
// has the date, the next second that is free, so that it may lie a second or more ahead: a supervisor
// restarts a recorder within one.
// The first name of a recording by Name was chosen by somebody: that it is taken is an error.
func (s *Series) Create(now time.Time) (*File, error) {
	target := s.NextPath(now)
	defer s.Watchdog.Begin("creation", target)()
	f, err := createIn(s.Dir, filepath.Base(target), s.Mode)
	for n := 1; errors.Is(err, fs.ErrExist) && n < maxVariants; n++ {
		switch {
		case s.plain || s.Template != "":
			target = strings.TrimSuffix(s.NextPath(now), ".bag") + "_" + strconv.Itoa(n) + ".bag"
		case s.number > 0:
			s.number++
			target = s.NextPath(now)
		case s.Name == "":
			target = s.NextPath(now.Add(time.Duration(n) * time.Second))
		default:
			return nil, explainCreate(target, err)
		}
		f, err = createIn(s.Dir, filepath.Base(target), s.Mode)
	}
	if err != nil {
		return nil, explainCreate(target, err)
	}
	base := filepath.Base(target)
	b := &File{
		Place: Place{target: target, dir: s.Dir, watchdog: s.Watchdog}, file: OSFile{f}, Mode: s.mode, synced: now, path: target + ActiveSuffix,
		Begun: now, stat: f.Stat,
	}
	Lock(f)
	if s.Wrap != nil {
		b.file = s.Wrap(b.file)
	}
	b.idle.L = &b.mu
	if err = b.reserveFirst(s); err == nil {
		err = b.start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", target+ActiveSuffix, err), f.Close(), s.Dir.Remove(base+ActiveSuffix))
	}
	if b.id, err = f.Stat(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", target+ActiveSuffix, err), f.Close())
	}
	s.number++
	return b, nil
}

// Path returns where the file of that name in the directory is now.
func (s *Series) Path(name string) string { return s.Dir.Path(filepath.Join(s.DirName, name)) }

// place returns where a file of the directory is.
func (s *Series) place(name string, st fs.FileInfo) Place {
	return Place{target: filepath.Join(s.DirName, name), dir: s.Dir, id: st, watchdog: s.Watchdog}
}

// maxVariants is how many names are tried where one is taken.
const maxVariants = 10_000

// Close lets go of the directory.
func (s *Series) Close() error { return s.Dir.Close() }

func createIn(dir *Folder, base string, mode os.FileMode) (*os.File, error) {
	if _, err := dir.Lstat(base); err == nil {
		return nil, fmt.Errorf("%w: %s", fs.ErrExist, base)
	}
	f, err := CreateFile(dir, base+ActiveSuffix, mode)
	if err != nil {
		return nil, err
	}
	if _, err := dir.Lstat(base); err == nil { // one that was being written has got its name meanwhile
		return nil, errors.Join(fmt.Errorf("%w: %s", fs.ErrExist, base), f.Close(), dir.Remove(base+ActiveSuffix))
	}
	return f, nil
}

// CreateFile creates a file with the mode of Output.Mode.
func CreateFile(dir *Folder, name string, mode os.FileMode) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil || mode == 0 {
		return f, err
	}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, f.Close(), dir.Remove(name))
	}
	return f, nil
}

// explainCreate says what to do about a bag that cannot be created.
func explainCreate(target string, err error) error {
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && path.Op == "chmod": // as FAT answers, although the directory may be written to
		return fmt.Errorf("cannot open %s: its file system does not take this mode of files (%w): record without --file-mode, or to another file system", target+ActiveSuffix, path.Err)
	case errors.Is(err, fs.ErrExist) && !fileExists(target+ActiveSuffix):
		return fmt.Errorf("%s exists: a recording never overwrites; choose another name or move it away", target)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists: another recorder writes it or one died; choose another name, or move or reindex it", target+ActiveSuffix)
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("cannot open %s: %w: %w", target+ActiveSuffix, ErrMinSpace, err)
	case errors.Is(err, fs.ErrPermission):
		dir := filepath.Dir(target)
		return fmt.Errorf("cannot open %s: no permission to write in %s%s", target+ActiveSuffix, dir, whyDenied(dir))
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("cannot open %s: %w: name another directory, or in a container mount one", target+ActiveSuffix, err)
	}
	return fmt.Errorf("cannot open %s: %w", target+ActiveSuffix, err)
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Free returns what is free on the disk.
func (s *Series) Free() (int64, error) {
	defer s.Watchdog.Begin("free space check", s.Dir.Name())()
	return FreeBytes(s.Dir.Handle)
}
