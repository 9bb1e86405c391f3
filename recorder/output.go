package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Output names the bags.
type Output struct {
	Prefix string // PREFIX_<date>.bag; a trailing .bag of the prefix is dropped. Empty: <date>.bag
	Name   string // NAME.bag, a trailing .bag is not doubled. Beats Prefix

	// Template beats both: the letters of strftime, and {time} for the date as in other
	// names, {split} for the number of the file and {host} for the name of the machine.
	// A name that is taken gets a number behind.
	Template string
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

// outputs creates the files of one recording, all in one directory that it holds
// open: no symlink that is swapped in later can lead out of it. One goroutine
// creates; the files themselves have their own owners.
type outputs struct {
	Output
	mode     Sync
	numbered bool // also the first file has its number in the name
	dirName  string
	dir      *folder
	number   int  // of the next file
	plain    bool // names have no number, but where one is taken
	stall    *stall

	wrap func(file) file // tests put faults between a bag and its file
}

// openOutputs opens the directory.
func openOutputs(o Output, mode Sync, numbered bool) (*outputs, error) {
	target := o.path(time.Now(), 0)
	if strings.ContainsAny(target, "\x00\n\r") {
		return nil, fmt.Errorf("recorder: output name %q holds a control character", target)
	}
	dirName, _ := filepath.Split(target)
	s := &outputs{Output: o, mode: mode, numbered: numbered, dirName: dirName, stall: newStall()}
	dirName = cmp.Or(dirName, ".")
	var err error
	if s.dir, err = openFolder(dirName); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("recorder: cannot open %s: directory %s does not exist: create it first", s.path(time.Now())+activeSuffix, dirName)
		}
		return nil, fmt.Errorf("recorder: cannot open %s: %w", s.path(time.Now())+activeSuffix, err)
	}
	return s, nil
}

// folder is an open directory. It can be made durable, and asked for its free space,
// also when the process may open no further file.
type folder struct {
	*os.Root
	handle *os.File
}

func openFolder(name string) (*folder, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	handle, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &folder{root, handle}, nil
}

// Close lets go of the directory.
func (f *folder) Close() error { return errors.Join(f.handle.Close(), f.Root.Close()) }

// ofSnapshots returns what creates the bags of snapshots in the same directory: one by
// the name that was asked for, beside the recording's own with a word more.
func (s *outputs) ofSnapshots(beside bool) *outputs {
	o := &outputs{Output: s.Output, mode: s.mode, plain: true, dirName: s.dirName, dir: s.dir, stall: s.stall, wrap: s.wrap}
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

// path returns the name of the next file.
func (s *outputs) path(now time.Time) string {
	if (s.plain || s.number == 0 && !s.numbered) && s.Template == "" {
		return s.Output.path(now, -1)
	}
	return s.Output.path(now, s.number)
}

// create creates the next file as X.bag.active, never over an existing one. Behind the
// first name, which somebody chose, and with a template it takes the next number that
// is free.
func (s *outputs) create(now time.Time) (*bagFile, error) {
	target := s.path(now)
	defer s.stall.begin("creation", target)()
	f, err := createIn(s.dir, filepath.Base(target))
	for n := 1; errors.Is(err, fs.ErrExist) && (s.number > 0 || s.plain || s.Template != "") && n < maxVariants; n++ {
		if s.plain || s.Template != "" {
			target = strings.TrimSuffix(s.path(now), ".bag") + "_" + strconv.Itoa(n) + ".bag"
		} else {
			s.number++
			target = s.path(now)
		}
		f, err = createIn(s.dir, filepath.Base(target))
	}
	if err != nil {
		return nil, explainCreate(target, err)
	}
	base := filepath.Base(target)
	b := &bagFile{
		target: target, dir: s.dir, file: osFile{f}, mode: s.mode, synced: now, sealed: target + activeSuffix, finished: make(chan struct{}),
		begun: now, stat: f.Stat, stall: s.stall, messages: map[bagfmt.ConnID]uint64{},
	}
	lock(f)
	if s.wrap != nil {
		b.file = s.wrap(b.file)
	}
	b.idle.L = &b.mu
	if err := b.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("recorder: %s: %w", target+activeSuffix, err), f.Close(), s.dir.Remove(base+activeSuffix))
	}
	if b.id, err = f.Stat(); err != nil {
		return nil, errors.Join(fmt.Errorf("recorder: %s: %w", target+activeSuffix, err), f.Close())
	}
	s.number++
	return b, nil
}

// maxVariants is how many names are tried where one is taken.
const maxVariants = 10_000

// close lets go of the directory.
func (s *outputs) close() error { return s.dir.Close() }

func createIn(dir *folder, base string) (*os.File, error) {
	if _, err := dir.Lstat(base); err == nil {
		return nil, fmt.Errorf("%w: %s", fs.ErrExist, base)
	}
	f, err := dir.OpenFile(base+activeSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return nil, err
	}
	if _, err := dir.Lstat(base); err == nil { // one that was being written has got its name meanwhile
		return nil, errors.Join(fmt.Errorf("%w: %s", fs.ErrExist, base), f.Close(), dir.Remove(base+activeSuffix))
	}
	return f, nil
}

// explainCreate says what to do about a bag that cannot be created.
func explainCreate(target string, err error) error {
	switch {
	case errors.Is(err, fs.ErrExist) && !fileExists(target+activeSuffix):
		return fmt.Errorf("recorder: %s exists: a recording never overwrites; choose another name or move it away", target)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("recorder: %s exists: another recorder writes it or one died; choose another name, or move or reindex it", target+activeSuffix)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("recorder: cannot open %s: no permission to write in %s", target+activeSuffix, filepath.Dir(target))
	}
	return fmt.Errorf("recorder: cannot open %s: %w", target+activeSuffix, err)
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
