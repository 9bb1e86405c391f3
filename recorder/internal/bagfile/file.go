// Package bagfile creates, syncs, closes and names the bag files of one recording. It knows nothing of topics
// and messages.
//
// Each type has a lock of its own or a single owner. No lock is held during I/O.
package bagfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// syncBytes and syncEvery bound what a power cut can destroy with SyncInterval.
const (
	syncBytes = 32 << 20
	syncEvery = time.Second
)

// Sync says when a recording waits for the disk.
type Sync int

// The zero value is the default.
const (
	SyncInterval Sync = iota // every second or 32 MiB, while writing goes on
	SyncChunk                // after each chunk
	SyncNone                 // never: the kernel decides
)

// File is one bag from its creation as X.bag.active until it is X.bag. One goroutine writes and then finishes
// the bag; other goroutines may call Sync and SyncDue.
type File struct {
	disk.Place
	Mode  Sync
	Begun time.Time // when the file was created

	file      disk.Handle
	writer    *bagfmt.Writer
	end       int64                       // bytes written; after a failed write, those before it
	path      string                      // present path of the file, as long as its directory is not moved
	stat      func() (fs.FileInfo, error) // of the open file
	torn      bool                        // the last write failed
	repeated  rosbag.Repeated             // the repeated messages that the bag begins with
	reserved  int64                       // offset up to which room on the disk is reserved
	holdsRoom bool                        // the disk may hold reserved room beyond the end
	looked    time.Time                   // when CheckName last looked
	away      error                       // why the file has lost its name; nil if it has not; set by Finish
	syncs     syncs                       // how much of the file is on the disk
}

// Wrap replaces the file below the bag, in tests that inject faults.
func (b *File) Wrap(wrap func(disk.Handle) disk.Handle) { b.file = wrap(b.file) }

// Path returns the present path of the bag: X.bag.active until it is finished.
func (b *File) Path() string { return b.Folder.Path(b.path) }

// Bytes returns how many bytes are written.
func (b *File) Bytes() int64 { return b.end }

// Away returns why the bag has lost its name, ErrMoved or ErrDeleted, or nil. It is called after Finish.
func (b *File) Away() error { return b.away }

// Write appends to the file. It implements io.Writer for bagfmt.Writer. After an error, the next call
// overwrites what a part of the write has left.
func (b *File) Write(p []byte) (int, error) {
	defer b.Watchdog.Begin("write", b.Path())()
	n, err := b.file.WriteAt(p, b.end)
	if b.torn = err != nil; b.torn {
		return n, err
	}
	b.end += int64(n)
	b.syncs.wrote(n)
	return n, nil
}

// WriteAt implements io.WriterAt for the header that bagfmt.Writer rewrites.
func (b *File) WriteAt(p []byte, off int64) (int, error) {
	defer b.Watchdog.Begin("write", b.Path())()
	n, err := b.file.WriteAt(p, off)
	b.end = max(b.end, off+int64(n))
	return n, err
}

// Truncate cuts off what a failed write has left, for bagfmt.Writer. That frees the reserved room after size,
// too, so Truncate reserves room for the index again.
func (b *File) Truncate(size int64) error {
	b.end = size
	if !b.torn {
		return nil
	}
	if err := b.truncate(); err != nil {
		return err
	}
	b.reserveRoom(size, size+b.writer.IndexBytes(nil)) //nolint:errcheck,gosec // the index is written in any case
	return nil
}

const reserveMost = 32 << 20 // bytes that are reserved ahead of writing at most

// reserveFirst reserves room for more than the head of a bag, so that no empty bags are left on a full disk.
func (b *File) reserveFirst(s *Series) error {
	if free, err := disk.FreeBytes(s.Dir.Handle); err == nil && free < disk.LeastRoom {
		return fmt.Errorf("%w: %d bytes are free on the disk: %w", disk.ErrMinSpace, free, syscall.ENOSPC)
	}
	// a limit of the process is not the disk's
	if err := b.reserveRoom(0, disk.LeastRoom); err != nil && !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: no room for its first %d bytes: %w", disk.ErrMinSpace, disk.LeastRoom, err)
	}
	return nil
}

// reserve reserves room for c and for the index after it, before c is written. So a disk that becomes full,
// whatever fills it, ends the bag between two chunks, and the bag is indexed.
func (b *File) reserve(c *chunk.Sealed) error {
	need := b.end + int64(len(c.Record)) + b.writer.IndexBytes(c)
	if need <= b.reserved {
		return nil
	}
	defer b.Watchdog.Begin("reservation", b.Path())()
	ahead := need + min(max(b.end, disk.LeastRoom), reserveMost)
	if err := b.reserveRoom(b.end, ahead); err == nil {
		b.reserved = ahead
		return nil
	}
	if err := b.reserveRoom(b.end, need); err != nil {
		return fmt.Errorf("no room for the next %d bytes at %d: %w", need-b.end, b.end, err)
	}
	b.reserved = need
	return nil
}

// reserveRoom reserves room in the range from from to end, if the file system can.
func (b *File) reserveRoom(from, end int64) error {
	err := b.file.Reserve(from, end)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case !errors.Is(err, syscall.EFBIG): // which a limit of the process causes before anything is reserved
		b.holdsRoom = true // also after an error: ext4 keeps blocks of a failed reservation
	}
	return err
}

// truncate cuts the file, with its reserved room, to the bytes of the bag. A file of that size without
// reserved room stays as it is: fusefat refuses to truncate a file to its own size.
func (b *File) truncate() error {
	defer b.Watchdog.Begin("truncate", b.Path())()
	if st, err := b.stat(); err == nil && st.Size() == b.end && !b.holdsRoom {
		return nil
	}
	b.reserved = 0
	return b.file.Truncate(b.end)
}

// Sync waits until the bytes that were written are on the disk. It returns the error of a failed sync
// once. A failed sync is not repeated: the kernel may have dropped the data, and would report success.
// The bag is then finished without a sync, so that it can at least be read.
func (b *File) Sync() error {
	if b.Mode == SyncNone {
		return nil
	}
	from, end, ok := b.syncs.begin()
	if !ok {
		return nil
	}
	answered := b.Watchdog.Begin("sync", b.Path())
	err := b.file.Sync()
	if err == nil && from == 0 {
		err = b.syncDir() // at the first sync: a power cut must not destroy the name either
	}
	answered()
	return b.syncs.finish(end, err, b.Path())
}

// WriteChunk appends one chunk with its index records.
func (b *File) WriteChunk(c *chunk.Sealed) error {
	err := b.reserve(c)
	if err == nil {
		err = b.writer.WriteChunk(c)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.Path(), err)
	}
	return nil
}

// WriteRepeated is WriteChunk for repeated latched messages at the start of a bag. All have the same time.
func (b *File) WriteRepeated(c *chunk.Sealed) error {
	if err := b.WriteChunk(c); err != nil {
		return err
	}
	for _, n := range c.Counts {
		b.repeated.Count += n.Count
	}
	b.repeated.Time = c.Start
	b.writer.SetRepeated(b.repeated)
	return nil
}

// SyncDue reports whether an interval sync should start.
func (b *File) SyncDue(now time.Time) bool {
	return b.Mode == SyncInterval && b.syncs.due(now)
}

// Finish writes the index, syncs the bag and gives it its final name. A bag that somebody has moved keeps
// its new name, and loses nothing. After a failed write, the writer first cuts the bag back to its last
// whole chunk, so that the bag can be read and there is room for the index.
func (b *File) Finish() error {
	closed := b.writer.Close()
	errs := []error{b.truncate()}
	b.away = b.gone()
	errs = append(errs, b.closeFile())
	switch {
	case errors.Is(b.away, ErrDeleted):
		errs = append(errs, b.away)
	case closed != nil:
		errs = append(errs,
			fmt.Errorf("%s is left without an index: recover it with gobag reindex: %w", b.Path(), closed))
	case b.away == nil:
		errs = append(errs, b.rename())
	}
	return errors.Join(append(errs, b.syncs.failed())...)
}

// Discard closes and removes a bag without messages.
func (b *File) Discard() error {
	return errors.Join(b.closeFile(), b.Folder.Remove(filepath.Base(b.Target())+bagname.ActiveSuffix))
}

// closeFile closes the file, after the sync that is in progress.
func (b *File) closeFile() error {
	b.syncs.close()
	defer b.Watchdog.Begin("closing", b.Path())()
	return b.file.Close()
}

// SyncFailed reports whether a sync of the file has failed.
func (b *File) SyncFailed() bool {
	return b.syncs.failed() != nil
}

// rename removes the suffix .active from the name, unless another file has that name, and syncs the
// directory.
func (b *File) rename() error {
	defer b.Watchdog.Begin("renaming", b.Path())()
	base := filepath.Base(b.Target())
	err := disk.RenameNew(b.Folder.Handle, base+bagname.ActiveSuffix, base)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s appeared during the recording: the finished bag stays at %s", b.Target(),
			b.Path())
	case err != nil:
		return fmt.Errorf("the finished bag stays at %s: %w", b.Path(), err)
	}
	b.path = b.Name
	if b.Mode == SyncNone {
		return nil
	}
	return b.syncDir()
}

// syncDir makes the names in the directory durable.
func (b *File) syncDir() error { return b.Folder.Handle.Sync() }
