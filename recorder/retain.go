package recorder

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Retention says which closed files of a recording are deleted, the oldest first:
// only files that this recording made. Zero values delete nothing; all limits hold
// together.
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
	free func() (int64, error) // bytes on the disk

	mu     sync.Mutex
	kept   []kept // closed files, oldest first
	forgot map[*bagFile]bool
}

type kept struct {
	bag    *bagFile
	id     fs.FileInfo // device and inode: a file of this name may be another one by now
	closed time.Time
}

func newRetainer(r Retention, log *zap.Logger, free func() (int64, error)) *retainer {
	return &retainer{Retention: r, log: log, free: free, forgot: map[*bagFile]bool{}}
}

// add hands a closed file over and enforces the limits.
func (r *retainer) add(b *bagFile, now time.Time) {
	r.mu.Lock()
	r.kept = append(r.kept, kept{b, b.id, now})
	r.mu.Unlock()
	r.enforce(now)
}

// enforce deletes what is too much.
func (r *retainer) enforce(now time.Time) {
	if !r.enabled() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.kept) > 0 && r.tooMuch(now) {
		oldest := r.kept[0]
		r.kept = r.kept[1:]
		r.remove(oldest)
	}
}

func (r *retainer) tooMuch(now time.Time) bool {
	var bytes int64
	for _, k := range r.kept {
		bytes += k.bag.end
	}
	switch {
	case r.Files > 0 && len(r.kept) > r.Files,
		r.Bytes > 0 && bytes > r.Bytes,
		r.Age > 0 && now.Sub(r.kept[0].closed) > r.Age:
		return true
	case r.KeepFree == 0:
		return false
	}
	free, err := r.free()
	return err == nil && free < r.KeepFree
}

// remove deletes a file if it is still the one that was recorded. What cannot be
// deleted is not tried again, as in stock.
func (r *retainer) remove(k kept) {
	base := filepath.Base(k.bag.target)
	st, err := k.bag.dir.Lstat(base)
	if err == nil && !os.SameFile(st, k.id) {
		r.log.Warn("not the file that was recorded: it is left alone", zap.String("file", k.bag.target))
		return
	}
	if err == nil {
		err = k.bag.dir.Remove(base)
	}
	if err != nil {
		r.log.Error("Unable to remove", zap.String("file", k.bag.target), zap.Error(err))
		return
	}
	r.forgot[k.bag] = true
	r.log.Info("Removing", zap.String("file", k.bag.target))
}

// deleted reports whether b was deleted.
func (r *retainer) deleted(b *bagFile) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forgot[b]
}
