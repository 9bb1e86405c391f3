package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Places chooses the paths of the new versions of the bags of one command: the same name in another
// directory, or the path of the original, which becomes NAME.orig.bag as with rosbag compress, decompress
// and reindex. Even with --force, a new version never replaces an input or another new version.
type Places struct {
	dir    string
	force  bool
	inputs []input
	made   []string // paths of the new versions that are complete
}

// input is a bag as it was when the command started.
type input struct {
	path   string
	st     os.FileInfo
	placed bool // Place has chosen a path for its new version
}

// NewPlaces returns the places for the bags at paths. dir is that of --output-dir; if it is empty, the
// originals are replaced. With force, backups and other files that are in the way are overwritten.
func NewPlaces(paths []string, dir string, force bool) *Places {
	a := &Places{dir: dir, force: force}
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil { // opening it reports the error
			a.inputs = append(a.inputs, input{path: path, st: st})
		}
	}
	return a
}

// Dirs returns the directories that new versions are written to, each once.
func (a *Places) Dirs() []string {
	if a.dir != "" {
		return []string{a.dir}
	}
	var dirs []string
	for _, x := range a.inputs {
		dirs = append(dirs, filepath.Dir(x.path))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Placement is the file of a new version, with the backup of the original.
type Placement struct {
	*File
	original os.FileInfo
	backup   string // path of the backup; empty if the original is not replaced
	kept     bool   // the backup is already a link to the original, made by a run that was interrupted
	replaces bool   // another file has the path of the backup, and force allows to overwrite it
	places   *Places
}

// Backup returns the path of the backup of the original; empty if the original stays as it is.
func (p *Placement) Backup() string { return p.backup }

// About says which file an error is about, which comes from writing the new version: the caller names the
// original.
func (p *Placement) About(err error) error {
	if err == nil || p.backup != "" {
		return err
	}
	return fmt.Errorf("%s: %w", wording.Shown(p.path), err)
}

// Place creates the file for the new version of path, with the permissions of the original.
func (a *Places) Place(path string) (*Placement, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, wording.Explain(err)
	}
	if err := a.refuseDuplicate(path); err != nil {
		return nil, err
	}
	p := &Placement{original: st, places: a}
	to, force := path, a.force
	switch same, err := a.inPlace(path); {
	case err != nil:
		return nil, err
	case same:
		err, force = p.findBackup(path, st), true
		if err != nil {
			return nil, err
		}
	default:
		to = filepath.Join(a.dir, filepath.Base(path))
		if err := a.refuseOverwrite(to); err != nil {
			return nil, err
		}
	}
	if p.File, err = Create(to, force); err != nil {
		return nil, fmt.Errorf("%s: %w", wording.Shown(to), err)
	}
	if err := p.Chmod(st.Mode().Perm()); err != nil {
		p.Abort()
		return nil, wording.Explain(err)
	}
	return p, nil
}

// refuseDuplicate returns an error if Place was called for the same file before, under this or another name:
// the file of that name is the new version by now, which must not become the backup.
func (a *Places) refuseDuplicate(path string) error {
	for i := range a.inputs {
		x := &a.inputs[i]
		if x.path != path {
			continue
		}
		for _, y := range a.inputs {
			if y.placed && os.SameFile(x.st, y.st) {
				return fmt.Errorf("skipped: is the same file as %s, which was done before",
					wording.Shown(y.path))
			}
		}
		x.placed = true
		return nil
	}
	return nil
}

// inPlace reports whether the new version of path replaces the file at path.
func (a *Places) inPlace(path string) (bool, error) {
	if a.dir == "" {
		return true, nil
	}
	to, err := os.Stat(a.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("%s: no such directory; make it first", wording.Shown(a.dir))
	case err != nil:
		return false, fmt.Errorf("%s: %w", wording.Shown(a.dir), wording.Explain(err))
	}
	from, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return false, wording.Explain(err)
	}
	return os.SameFile(from, to), nil
}

// refuseOverwrite returns an error if the file at path to is an input or a new version.
func (a *Places) refuseOverwrite(to string) error {
	st, err := os.Stat(to)
	if err != nil {
		return nil //nolint:nilerr // what does not exist is neither
	}
	for _, x := range a.inputs {
		if os.SameFile(x.st, st) {
			return fmt.Errorf("skipped: %s is an input, too, and would be overwritten", wording.Shown(to))
		}
	}
	for _, path := range a.made {
		if other, err := os.Stat(path); err == nil && os.SameFile(other, st) {
			return fmt.Errorf("skipped: %s was written for another bag just now", wording.Shown(to))
		}
	}
	return nil
}

// findBackup chooses the path of the backup of path.
func (p *Placement) findBackup(path string, st os.FileInfo) error {
	ext := filepath.Ext(path)
	p.backup = strings.TrimSuffix(path, ext) + ".orig" + ext
	there, err := os.Lstat(p.backup)
	if err != nil {
		return nil //nolint:nilerr // keepOriginal returns any error but that there is no such file
	}
	if p.kept = os.SameFile(there, st); p.kept { // not a link that leads to path
		return nil
	}
	if !p.places.force {
		return fmt.Errorf("skipped: the backup %s exists; use --force to overwrite it",
			wording.Shown(p.backup))
	}
	p.replaces = true
	return p.places.refuseOverwrite(p.backup)
}

// Commit makes the new version durable, and renames the original and the new version. At any time the file at
// path is complete, the old or the new one. Only on a file system without links there is none between the
// two renames.
func (p *Placement) Commit() error {
	switch now, err := os.Stat(p.path); {
	case p.backup == "":
	case err != nil:
		p.Abort()
		return wording.Explain(err)
	case !os.SameFile(now, p.original) || now.Size() != p.original.Size() ||
		!now.ModTime().Equal(p.original.ModTime()):
		p.Abort()
		return errors.New("was changed meanwhile, perhaps by a recorder; it is left as it is")
	default:
		if err := p.keepOriginal(); err != nil {
			p.Abort()
			return fmt.Errorf("backup %s: %w", wording.Shown(p.backup), wording.Explain(err))
		}
	}
	if err := p.File.Commit(); err != nil {
		p.restore()
		return p.About(err)
	}
	p.places.made = append(p.places.made, p.path)
	return nil
}

// keepOriginal makes the original the backup, and makes the name of the backup durable.
func (p *Placement) keepOriginal() error {
	if err := p.Sync(); err != nil || p.kept { // before anything changes
		return err
	}
	err := p.link()
	if err != nil && !errors.Is(err, fs.ErrExist) { // the file system knows no links, or not for us
		if _, taken := os.Lstat(p.backup); taken == nil && !p.replaces {
			return err
		}
		err = os.Rename(p.path, p.backup)
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(p.backup))
}

// link makes the path of the backup a second name of the original. It overwrites a file only if that was
// there when Place was called, and with force.
func (p *Placement) link() error {
	if !p.replaces {
		return os.Link(p.path, p.backup)
	}
	temp := temporary(p.backup)
	err := os.Link(p.path, temp)
	if err == nil {
		err = os.Rename(temp, p.backup)
		// Renaming does nothing if both are names of one file, as when two runs replace the same bag.
		if e := os.Remove(temp); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if now, gone := os.Stat(p.backup); errors.Is(err, fs.ErrNotExist) && gone == nil &&
		os.SameFile(now, p.original) {
		return nil // another run has taken the second name for a leftover, and has made the backup
	}
	return err
}

// restore undoes keepOriginal if the new version did not get its name.
func (p *Placement) restore() {
	if p.backup == "" || p.kept {
		return
	}
	switch now, err := os.Stat(p.path); {
	case errors.Is(err, fs.ErrNotExist):
		_ = os.Rename(p.backup, p.path) // else it stays the backup
	case err == nil && os.SameFile(now, p.original):
		_ = os.Remove(p.backup) // a second link
	}
}

// NotInput returns an error if the file out is one of the inputs, also by another name.
func NotInput(out string, inputs []string) error {
	st, err := os.Stat(out)
	if err != nil {
		return nil //nolint:nilerr // what does not exist is no input
	}
	for _, in := range inputs {
		if other, err := os.Stat(in); err == nil && os.SameFile(st, other) {
			return errors.New("is an input too; write to another file")
		}
	}
	return nil
}
