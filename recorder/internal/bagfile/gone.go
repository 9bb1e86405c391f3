package bagfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// goneEvery is how often the writer checks whether its file still has its name.
const goneEvery = 250 * time.Millisecond

// ErrMoved means that the file has another name; nothing in it is lost.
var ErrMoved = errors.New("it was moved away while it was recorded, and is complete where it is now")

// ErrDeleted means that the file has no name any more, so that its content is lost when it is closed.
var ErrDeleted = errors.New("it was deleted while it was recorded: what was in it is lost")

// gone returns ErrMoved or ErrDeleted if the file has lost its name, and otherwise nil.
func (b *File) gone() error {
	defer b.Watchdog.Begin("name check", b.Path())()
	st, err := b.Folder.Lstat(filepath.Base(b.Target()) + bagname.ActiveSuffix)
	if err == nil && os.SameFile(st, b.ID) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // the file has its name, or that is not known
	}
	why := ErrMoved
	if st, err := b.stat(); err == nil && disk.Unlinked(st) {
		why = ErrDeleted
	}
	return fmt.Errorf("%s: %w", b.Path(), why)
}

// CheckName returns ErrMoved or ErrDeleted if the file has lost its name. It looks at most every 250 ms.
func (b *File) CheckName(now time.Time) error {
	if now.Sub(b.looked) < goneEvery {
		return nil
	}
	b.looked = now
	return b.gone()
}
