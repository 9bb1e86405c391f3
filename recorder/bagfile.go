package recorder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Output names the bag.
type Output struct {
	Prefix string // PREFIX_<date>.bag; a trailing .bag of the prefix is dropped. Empty: <date>.bag
	Name   string // NAME.bag, a trailing .bag is not doubled. Beats Prefix
}

// activeSuffix marks a bag that is being written, as in stock.
const activeSuffix = ".active"

// syncBytes and syncEvery bound what a power cut can take with SyncInterval.
const (
	syncBytes = 32 << 20
	syncEvery = time.Second
)

// path returns where the finished bag goes.
func (o Output) path(now time.Time) string {
	name := strings.TrimSuffix(o.Name, ".bag")
	if name == "" {
		name = now.Format("2006-01-02-15-04-05")
		if prefix := strings.TrimSuffix(o.Prefix, ".bag"); prefix != "" {
			name = prefix + "_" + name
		}
	}
	return name + ".bag"
}

// file is what a bag needs of the operating system; tests put faults behind it.
type file interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Close() error
}

// bagFile is one bag from its creation as X.bag.active to X.bag. One goroutine
// writes; Sync and due may run beside it.
type bagFile struct {
	target string   // X.bag, as the user will see it
	dir    *os.Root // where it is
	file   file
	writer *bagfmt.Writer
	end    int64 // bytes written; after a failed write, the end of the last good one
	mode   Sync
	sealed string // where it is now

	mu       sync.Mutex // guards the following
	dirty    int64      // bytes written and not synced
	synced   time.Time  // when the last sync began
	busy     bool       // a sync is under way
	syncErr  error      // final: a failed sync is never repeated
	syncedTo int64      // bytes known to be on the disk
	idle     sync.Cond  // busy became false
}

// createBag creates X.bag.active, never over an existing file.
func createBag(o Output, mode Sync, now time.Time) (*bagFile, error) {
	target := o.path(now)
	if strings.ContainsAny(target, "\x00\n\r") {
		return nil, fmt.Errorf("recorder: output name %q holds a control character", target)
	}
	dirName, base := filepath.Split(target)
	if dirName == "" {
		dirName = "."
	}
	dir, err := os.OpenRoot(dirName)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("recorder: cannot open %s: directory %s does not exist: create it first", target+activeSuffix, dirName)
		}
		return nil, fmt.Errorf("recorder: cannot open %s: %w", target+activeSuffix, err)
	}
	f, err := createIn(dir, base)
	if err != nil {
		return nil, errors.Join(explainCreate(target, err), dir.Close())
	}
	b := &bagFile{target: target, dir: dir, file: osFile{f}, mode: mode, synced: now, sealed: target + activeSuffix}
	b.idle.L = &b.mu
	if err := b.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("recorder: %s: %w", target+activeSuffix, err), f.Close(), dir.Remove(base+activeSuffix), dir.Close())
	}
	return b, nil
}

// start writes the head of the bag.
func (b *bagFile) start() (err error) {
	b.writer, err = bagfmt.NewWriter(b, bagfmt.WriterOptions{})
	return err
}

func createIn(dir *os.Root, base string) (*os.File, error) {
	if _, err := dir.Lstat(base); err == nil {
		return nil, fmt.Errorf("%w: %s", fs.ErrExist, base)
	}
	return dir.OpenFile(base+activeSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
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

// Write appends to the file. It implements io.Writer for bagfmt.Writer. After an
// error the next call writes over what was written in part.
func (b *bagFile) Write(p []byte) (int, error) {
	n, err := b.file.WriteAt(p, b.end)
	if err != nil {
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
	n, err := b.file.WriteAt(p, off)
	b.end = max(b.end, off+int64(n))
	return n, err
}

// Truncate cuts off what a failed write left behind, for bagfmt.Writer.
func (b *bagFile) Truncate(size int64) error {
	b.end = size
	return b.file.Truncate(size)
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
	if b.syncErr != nil {
		return nil
	}
	covered, end := b.dirty, b.syncedTo+b.dirty
	b.busy, b.synced = true, time.Now()
	b.mu.Unlock()
	err := b.file.Sync()
	if err == nil && end == covered {
		err = b.syncDir() // the first time: the name must not get lost either
	}
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
	if err := b.writer.WriteChunk(c); err != nil {
		return fmt.Errorf("%s: %w", b.sealed, err)
	}
	if b.mode == SyncChunk {
		return b.Sync()
	}
	return nil
}

// due reports whether an interval sync should start.
func (b *bagFile) due(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mode == SyncInterval && !b.busy && b.syncErr == nil && b.dirty > 0 && (b.dirty >= syncBytes || now.Sub(b.synced) >= syncEvery)
}

// finish writes the index, makes the bag durable and gives it its name. After a
// failed write the writer cuts it back to its last whole chunk first, so that what is
// there can be read and the index finds room.
func (b *bagFile) finish() error {
	var errs []error
	closed := b.writer.Close()
	if closed == nil {
		errs = append(errs, b.file.Close(), b.rename())
	} else {
		errs = append(errs, fmt.Errorf("%s is left without an index: %w", b.sealed, closed), b.file.Close())
	}
	return errors.Join(append(errs, b.syncErr, b.dir.Close())...)
}

// rename drops the .active suffix, not over another file, and makes that durable.
func (b *bagFile) rename() error {
	base := filepath.Base(b.target)
	dir, err := b.dir.Open(".")
	if err != nil {
		return err
	}
	err = renameNew(dir, base+activeSuffix, base)
	if closed := dir.Close(); err == nil {
		err = closed
	}
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
func (b *bagFile) syncDir() error {
	dir, err := b.dir.Open(".")
	if err != nil {
		return err
	}
	err = dir.Sync()
	return errors.Join(err, dir.Close())
}
