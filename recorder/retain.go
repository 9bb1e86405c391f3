package recorder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Retention says which closed files of a recording are deleted, the oldest first:
// only files that this recording made, and none that Control.Pin protects. Zero values
// delete nothing; all limits hold together.
type Retention struct {
	Files    int           // keep at most this many closed files, as stock's --max-splits
	Bytes    int64         // keep at most this much in closed files
	Age      time.Duration // delete files that were closed longer ago
	KeepFree int64         // delete while less than this is free on the disk
}

func (r Retention) enabled() bool { return r != Retention{} }

// retainer deletes files. It is for concurrent use.
type retainer struct {
	Retention
	log  *zap.Logger
	free func() (int64, error)  // bytes on the disk
	need func(path string) bool // somebody needs the file yet

	deleting sync.Mutex // one at a time deletes, however long that takes the disk

	mu     sync.Mutex // never held while the disk is asked
	files  []kept     // that were not deleted, oldest first
	forgot map[*bagFile]bool
}

type kept struct {
	bag    *bagFile
	closed time.Time // zero while it is written
	pinned bool      // never to be deleted
}

// loose reports whether the file may be deleted, as far as this recording goes.
func (k kept) loose() bool { return !k.closed.IsZero() && !k.pinned }

// loose reports whether the file may be deleted.
func (r *retainer) loose(k kept) bool { return k.loose() && !r.need(k.bag.target) }

func newRetainer(r Retention, log *zap.Logger, free func() (int64, error), need func(string) bool) *retainer {
	return &retainer{Retention: r, log: log, free: free, need: need, forgot: map[*bagFile]bool{}}
}

// begin tells of a file that is written from now on.
func (r *retainer) begin(b *bagFile) {
	r.mu.Lock()
	r.files = append(r.files, kept{bag: b})
	r.mu.Unlock()
}

// add tells that a file is closed and enforces the limits.
func (r *retainer) add(b *bagFile, now time.Time) {
	r.mu.Lock()
	for i := range r.files {
		if r.files[i].bag == b {
			r.files[i].closed = now
		}
	}
	r.mu.Unlock()
	r.enforce(now)
}

// pin protects the files that were written to at since or later and returns their
// names, the oldest first.
func (r *retainer) pin(since time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for i := range r.files {
		if k := &r.files[i]; k.closed.IsZero() || !k.closed.Before(since) {
			k.pinned = true
			names = append(names, k.bag.target)
		}
	}
	return names
}

// enforce deletes what is too much.
func (r *retainer) enforce(now time.Time) {
	if !r.enabled() {
		return
	}
	r.deleting.Lock()
	defer r.deleting.Unlock()
	for {
		oldest := r.takeOldest(now, r.crowded())
		if oldest == nil {
			return
		}
		r.remove(oldest)
	}
}

// crowded reports whether there is less space on the disk than is to be kept.
func (r *retainer) crowded() bool {
	if r.KeepFree == 0 {
		return false
	}
	free, err := r.free()
	return err == nil && free < r.KeepFree
}

// takeOldest takes the oldest file that may be deleted off the list, if that is too much.
// Whoever pins files afterwards does not get it any more.
func (r *retainer) takeOldest(now time.Time, crowded bool) *bagFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.files, r.loose)
	if i < 0 && crowded { // a recording that goes on is worth more than an old file that somebody needs
		i = slices.IndexFunc(r.files, kept.loose)
	}
	if i < 0 || !crowded && !r.tooMuch(now, r.files[i].closed) {
		return nil
	}
	oldest := r.files[i].bag
	r.files = slices.Delete(r.files, i, i+1)
	return oldest
}

// tooMuch looks at the files that may be deleted, of which the oldest was closed at
// oldest. mu is held.
func (r *retainer) tooMuch(now, oldest time.Time) bool {
	var files int
	var bytes int64
	for _, k := range r.files {
		if r.loose(k) {
			files++
			bytes += k.bag.end
		}
	}
	return r.Files > 0 && files > r.Files || r.Bytes > 0 && bytes > r.Bytes || r.Age > 0 && now.Sub(oldest) > r.Age
}

// remove deletes a file if it is still the one that was recorded. What cannot be
// deleted is not tried again, as in stock.
func (r *retainer) remove(b *bagFile) {
	defer b.stall.begin("removal", b.target)()
	base := filepath.Base(b.target)
	st, err := b.dir.Lstat(base)
	if err == nil && !os.SameFile(st, b.id) {
		r.log.Warn("not the file that was recorded: it is left alone", zap.String("file", b.target))
		return
	}
	needed := r.need(b.target)
	if err == nil {
		err = b.dir.Remove(base)
	}
	gone := errors.Is(err, fs.ErrNotExist) // who takes the files may have deleted it, or the user
	if err != nil && !gone {
		r.log.Error("Unable to remove", zap.String("file", b.target), zap.Error(err))
		return
	}
	r.mu.Lock()
	r.forgot[b] = true
	r.mu.Unlock()
	if gone {
		return
	}
	if needed {
		r.log.Error("Removing before it was uploaded: the disk is too full", zap.String("file", b.target))
		return
	}
	r.log.Info("Removing", zap.String("file", b.target))
}

// deleted reports whether b was deleted.
func (r *retainer) deleted(b *bagFile) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forgot[b]
}
