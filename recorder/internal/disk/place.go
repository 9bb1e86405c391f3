package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Place is where a bag is, and what distinguishes it from another file of the same name.
type Place struct {
	Name     string      // X.bag, with the directory as the user wrote it
	Folder   *Folder     // shared with all files of the directory
	ID       fs.FileInfo // device and inode of the bag
	Watchdog *Watchdog
}

// Target returns the path that the bag has once it is finished.
func (b *Place) Target() string { return b.Folder.Path(b.Name) }

// Path returns the present path of the bag. path is its path when it was closed.
func (b *Place) Path(path string) string { return b.Folder.Path(path) }

// Reopen opens the finished bag, if it is still the file that was recorded and has this size. Otherwise it
// returns control.ErrNoBag.
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

// is reports whether st is that of the finished bag. The size counts, because the inode of a deleted file
// may be used again.
func (b *Place) is(st fs.FileInfo, size int64) bool {
	return st.Mode().IsRegular() && st.Size() == size && os.SameFile(st, b.ID)
}
