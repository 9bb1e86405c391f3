package bagfmt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
)

// bagFiles lists the files that names stand for.
func bagFiles(fsys fs.FS, names []string) ([]string, error) {
	var out []string
	add := func(list ...string) {
		slices.SortFunc(list, compareNames)
		for _, name := range list {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	for _, name := range names {
		info, err := fs.Stat(fsys, name)
		switch {
		case err == nil && !info.IsDir():
			add(name)
			continue
		case err == nil:
			in, err := bagsIn(fsys, name)
			if err != nil {
				return nil, &FileError{name, err}
			}
			add(in...)
			continue
		}
		found, bad := fs.Glob(fsys, name)
		if bad != nil || len(found) == 0 {
			return nil, &FileError{name, err}
		}
		add(found...)
	}
	return out, nil
}

// bagsIn lists the bags and MCAP files in a directory, also those that were not closed. X.orig.bag
// beside X.bag is the same again, as a tool left it, and not listed.
func bagsIn(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var names, out []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && (strings.HasSuffix(name, ".bag") || strings.HasSuffix(name, ".bag.active") || strings.HasSuffix(name, ".mcap")) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		ext := path.Ext(name)
		if first, backup := strings.CutSuffix(name, ".orig"+ext); !backup || !slices.Contains(names, first+ext) {
			out = append(out, path.Join(dir, name))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: no bags in the directory", fs.ErrNotExist)
	}
	return out, nil
}

// compareNames orders names as people do: runs of digits count as numbers.
func compareNames(a, b string) int {
	whole := strings.Compare(a, b) // of equal numbers with other zeros in front
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m > 0 && n > 0 {
			x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[m:], b[n:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return whole
}

// digits counts the digits at the start of s.
func digits(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if n < 0 {
		return len(s)
	}
	return n
}

// lazyFile is a file that is open only while it is needed, because a long recording may
// have more parts than a process may have open files.
type lazyFile struct {
	fsys  fs.FS
	name  string
	size  int64       // when it was opened first
	known bool        // size is
	f     fs.File     // nil while it is closed
	at    io.ReaderAt // f
}

// ReadAt implements io.ReaderAt while the file is open.
func (d *lazyFile) ReadAt(p []byte, off int64) (int, error) {
	if d.f == nil {
		return 0, fs.ErrClosed
	}
	return d.at.ReadAt(p, off)
}

var (
	errNoReadAt = errors.New("the file cannot be read at any place")
	errChanged  = errors.New("the file has changed since it was opened first")
)

// open opens the file if it is not open.
func (d *lazyFile) open() error {
	if d.f != nil {
		return nil
	}
	info, err := fs.Stat(d.fsys, d.name) // before opening: that would wait for the writer of a FIFO
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file", rosbag.ErrNotBag)
	}
	f, err := d.fsys.Open(d.name)
	if err != nil {
		return err
	}
	if err := d.check(f); err != nil {
		return errors.Join(err, f.Close())
	}
	d.f = f
	return nil
}

// check checks that f, just opened, is usable as the file of d.
func (d *lazyFile) check(f fs.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return errNoReadAt
	}
	if !d.known {
		d.size, d.known = info.Size(), true
	}
	if info.Size() < d.size { // one that is still being recorded grows
		return errChanged
	}
	d.at = at
	return nil
}

// close closes the file if it is open.
func (d *lazyFile) close() error {
	if d.f == nil {
		return nil
	}
	f := d.f
	d.f, d.at = nil, nil
	return f.Close()
}
