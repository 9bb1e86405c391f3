package recorder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// activeSuffix marks a bag that is being written, as in stock.
const activeSuffix = ".active"

// syncBytes and syncEvery bound what a power cut can take with SyncInterval.
const (
	syncBytes = 32 << 20
	syncEvery = time.Second
)

// file is what a bag needs of the operating system; tests put faults behind it.
type file interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Reserve(from, end int64) error
	Close() error
}

// bagFile is one bag from its creation as X.bag.active to X.bag. One goroutine
// writes; Sync and due may run beside it.
type bagFile struct {
	target   string  // X.bag, as the user will see it
	dir      *folder // where it is; not its own
	file     file
	writer   *bagfmt.Writer
	end      int64 // bytes written; after a failed write, the end of the last good one
	mode     Sync
	sealed   string                      // where it is now
	id       fs.FileInfo                 // device and inode: a file of this name may be another one by now
	stat     func() (fs.FileInfo, error) // of the open file
	begun    time.Time
	last     bool // of the recording
	snapshot bool // of a snapshot
	stall    *stall

	torn     bool                     // the last write failed
	reserved int64                    // up to here the file has room
	looked   time.Time                // when gone was asked
	away     error                    // why it does not have its name any more, if that is so; final when it is closed
	messages map[bagfmt.ConnID]uint64 // in it, guarded by pipeline.mu

	finished chan struct{} // closed when the file is, and all is done about it
	fault    error         // why it was not closed well; final then, as is the following
	ended    time.Time

	mu       sync.Mutex // guards the following
	dirty    int64      // bytes written and not synced
	synced   time.Time  // when the last sync began
	busy     bool       // a sync is under way
	syncErr  error      // final: a failed sync is never repeated
	syncedTo int64      // bytes known to be on the disk
	idle     sync.Cond  // busy became false
	closed   bool       // the file is closed: a late interval sync has nothing to do
}

// start writes the head of the bag.
func (b *bagFile) start() (err error) {
	b.writer, err = bagfmt.NewWriter(b, bagfmt.WriterOptions{})
	return err
}

// Write appends to the file. It implements io.Writer for bagfmt.Writer. After an
// error the next call writes over what was written in part.
func (b *bagFile) Write(p []byte) (int, error) {
	defer b.stall.begin("write", b.sealed)()
	n, err := b.file.WriteAt(p, b.end)
	if b.torn = err != nil; b.torn {
		return n, err
	}
	b.end += int64(n)
	b.mu.Lock()
	b.dirty += int64(n)
	b.mu.Unlock()
	return n, nil
}

// WriteAt implements io.WriterAt for the header that bagfmt.Writer rewrites.
func (b *bagFile) WriteAt(p []byte, off int64) (int, error) {
	defer b.stall.begin("write", b.sealed)()
	n, err := b.file.WriteAt(p, off)
	b.end = max(b.end, off+int64(n))
	return n, err
}

// Truncate cuts off what a failed write left behind, for bagfmt.Writer. It gives back
// the room behind that as well, and so takes it again.
func (b *bagFile) Truncate(size int64) error {
	b.end = size
	if !b.torn {
		return nil
	}
	defer b.stall.begin("truncate", b.sealed)()
	if err := b.file.Truncate(size); err != nil {
		return err
	}
	b.reserved = 0
	b.file.Reserve(size, size+b.writer.IndexBytes(nil)) //nolint:errcheck,gosec // the index is written in any case
	return nil
}

// reserveLeast and reserveMost bound how far ahead of the writing room is reserved.
const (
	reserveLeast = 1 << 20
	reserveMost  = 32 << 20
)

// reserve makes sure, before c is written, of room for it and for the index that has to
// follow. So a disk that is full, by whomever, ends the bag between two chunks and in
// good order.
func (b *bagFile) reserve(c *bagfmt.SealedChunk) error {
	need := b.end + int64(len(c.Record)) + b.writer.IndexBytes(c)
	if need <= b.reserved {
		return nil
	}
	defer b.stall.begin("reservation", b.sealed)()
	ahead := need + min(max(b.end, reserveLeast), reserveMost)
	if err := b.file.Reserve(b.end, ahead); err == nil {
		b.reserved = ahead
		return nil
	}
	if err := b.file.Reserve(b.end, need); err != nil {
		return fmt.Errorf("no room for the next %d bytes at %d: %w", need-b.end, b.end, err)
	}
	b.reserved = need
	return nil
}

// release gives back the room that the finished bag does not need. What could not be
// reserved in whole may have been had in part: ext4 keeps that.
func (b *bagFile) release() error {
	defer b.stall.begin("truncate", b.sealed)()
	b.reserved = 0
	return b.file.Truncate(b.end)
}

// Sync waits for the disk. A sync that failed once is final and is not repeated:
// the kernel may have thrown the data away and would report success. It has been
// reported then, and the bag is finished without it, to be readable at least.
func (b *bagFile) Sync() error {
	if b.mode == SyncNone {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.busy {
		b.idle.Wait()
	}
	if b.syncErr != nil || b.closed {
		return nil
	}
	covered, end := b.dirty, b.syncedTo+b.dirty
	b.busy, b.synced = true, time.Now()
	b.mu.Unlock()
	answered := b.stall.begin("sync", b.sealed)
	err := b.file.Sync()
	if err == nil && end == covered {
		err = b.syncDir() // the first time: the name must not get lost either
	}
	answered()
	b.mu.Lock()
	b.busy = false
	b.idle.Broadcast()
	if err != nil {
		b.syncErr = fmt.Errorf("sync of %s failed: what was written after byte %d may be lost: %w", b.sealed, b.syncedTo, err)
		return b.syncErr
	}
	b.dirty -= covered
	b.syncedTo = end
	return nil
}

// write appends one chunk with its index records.
func (b *bagFile) write(c *bagfmt.SealedChunk) error {
	err := b.reserve(c)
	if err == nil {
		err = b.writer.WriteChunk(c)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.sealed, err)
	}
	return nil
}

// due reports whether an interval sync should start.
func (b *bagFile) due(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mode == SyncInterval && !b.busy && b.syncErr == nil && b.dirty > 0 && (b.dirty >= syncBytes || now.Sub(b.synced) >= syncEvery)
}

// finish writes the index, makes the bag durable and gives it its name, unless somebody
// has moved it: that is not our business, and nothing of it is lost. After a
// failed write the writer cuts it back to its last whole chunk first, so that what is
// there can be read and the index finds room.
func (b *bagFile) finish() error {
	closed := b.writer.Close()
	errs := []error{b.release()}
	b.away = b.gone()
	errs = append(errs, b.closeFile())
	switch {
	case errors.Is(b.away, errDeleted):
		errs = append(errs, b.away)
	case closed != nil:
		errs = append(errs, fmt.Errorf("%s is left without an index: recover it with gobag reindex: %w", b.sealed, closed))
	case b.away == nil:
		errs = append(errs, b.rename())
	}
	return errors.Join(append(errs, b.syncErr)...)
}

// discard removes a bag that has nothing in it.
func (b *bagFile) discard() error {
	return errors.Join(b.closeFile(), b.dir.Remove(filepath.Base(b.target)+activeSuffix))
}

// closeFile waits for a sync that is under way.
func (b *bagFile) closeFile() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.busy {
		b.idle.Wait()
	}
	b.closed = true
	defer b.stall.begin("closing", b.sealed)()
	return b.file.Close()
}

// unsafe reports whether a sync of the file has failed.
func (b *bagFile) unsafe() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.syncErr != nil
}

// rename drops the .active suffix, not over another file, and makes that durable.
func (b *bagFile) rename() error {
	defer b.stall.begin("renaming", b.sealed)()
	base := filepath.Base(b.target)
	err := renameNew(b.dir.handle, base+activeSuffix, base)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s appeared during the recording: the finished bag stays at %s", b.target, b.sealed)
	case err != nil:
		return fmt.Errorf("the finished bag stays at %s: %w", b.sealed, err)
	}
	b.sealed = b.target
	if b.mode == SyncNone {
		return nil
	}
	return b.syncDir()
}

// syncDir makes the names in the directory durable.
func (b *bagFile) syncDir() error { return b.dir.handle.Sync() }
