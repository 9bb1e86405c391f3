package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Place is where a bag is, and what identifies it there.
type Place struct {
	Name     string      // X.bag, as the user named it
	Folder   *Folder     // not its own
	ID       fs.FileInfo // device and inode: a file of this name may be another one by now
	Watchdog *Watchdog
}

// Target returns the finished bag's name, X.bag, as the user will see it.
func (b *Place) Target() string { return b.Folder.Path(b.Name) }

// Path returns where the finished bag is now that was at path when it was closed.
func (b *Place) Path(path string) string { return b.Folder.Path(path) }

// Reopen opens the finished file once more, if it is still the one that was recorded.
func (b *Place) Reopen(size int64) (*os.File, error) {
	base := filepath.Base(b.Target())
	st, err := b.Folder.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !b.is(st, size) {
		return nil, control.ErrNoBag
	}
	var f *os.File
	if err == nil {
		f, err = b.Folder.Open(base)
	}
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err != nil || !b.is(st, size) {
		return nil, errors.Join(control.ErrNoBag, err, f.Close())
	}
	return f, nil
}

// is reports whether st is of the finished file. The number of one that was deleted may
// be used again.
func (b *Place) is(st fs.FileInfo, size int64) bool {
	return st.Mode().IsRegular() && st.Size() == size && os.SameFile(st, b.ID)
}
