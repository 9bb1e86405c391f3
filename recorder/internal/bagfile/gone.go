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

// goneEvery is how often the writer looks whether its file still has its name.
const goneEvery = 250 * time.Millisecond

// ErrMoved means that the file has another name now; nothing in it is lost.
var ErrMoved = errors.New("it was moved away while it was recorded, and is complete where it is now")

// ErrDeleted means that what was written cannot be read any more.
var ErrDeleted = errors.New("it was deleted while it was recorded: what was in it is lost")

// gone returns why the file does not have its name any more, if that is so.
func (b *File) gone() error {
	defer b.Watchdog.Begin("name check", b.Path())()
	st, err := b.Folder.Lstat(filepath.Base(b.Target()) + bagname.ActiveSuffix)
	if err == nil && os.SameFile(st, b.ID) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // also if it cannot be told
	}
	why := ErrMoved
	if st, err := b.stat(); err == nil && disk.Unlinked(st) {
		why = ErrDeleted
	}
	return fmt.Errorf("%s: %w", b.Path(), why)
}

// CheckName returns why the file does not have its name any more, if that is so. It looks
// every 250 ms only.
func (b *File) CheckName(now time.Time) error {
	if now.Sub(b.looked) < goneEvery {
		return nil
	}
	b.looked = now
	return b.gone()
}
