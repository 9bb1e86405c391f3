package bagfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Reopen opens the finished file once more, if it is still the one that was recorded.
func (b *Place) Reopen(size int64) (*os.File, error) {
	base := filepath.Base(b.Target())
	st, err := b.dir.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !b.is(st, size) {
		return nil, control.ErrNoBag
	}
	var f *os.File
	if err == nil {
		f, err = b.dir.Open(base)
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
	return st.Mode().IsRegular() && st.Size() == size && os.SameFile(st, b.id)
}
