// Package retention deletes the old bags of a recording when limits are exceeded. Bags of earlier
// recordings with the same output count, too: they are listed in a ledger, a file beside the bags.
package retention

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// Limits say which closed files are deleted, those that were recorded first before others: only files of
// this recording, or of earlier ones with the same directory and output name, and none that Pin protects.
// A file is deleted if any limit is exceeded; a zero value is no limit. Before any bag, the files go that
// bags were repaired from.
type Limits struct {
	Files    int           // keep at most this many closed bags, as stock's --max-splits
	Bytes    int64         // keep at most this much in closed files
	Age      time.Duration // delete files that were closed longer ago
	KeepFree int64         // delete while less than this is free on the disk
}

// Enabled reports whether there is any limit.
func (r Limits) Enabled() bool { return r != Limits{} }

// exceeded reports whether a number of files with a number of bytes exceeds a limit.
func (r Limits) exceeded(files int, bytes int64) bool {
	return r.Files > 0 && files > r.Files || r.Bytes > 0 && bytes > r.Bytes
}

// Retainer deletes files. It is for concurrent use.
type Retainer struct {
	Limits
	log  *zap.Logger
	Free func() (int64, error)  // returns the free bytes on the disk
	need func(path string) bool // reports whether a file still has to be uploaded

	ledger     *ledger     // nil without limits, or if no ledger can be opened
	noteFailed atomic.Bool // a write to the ledger has failed, and this was logged
	deleting   sync.Mutex  // held while one goroutine deletes files, also while it waits for the disk

	// guards the following fields; never held during I/O
	mu sync.Mutex
	// files that were not deleted, by number
	files []*Retained
	// the number of the latest file
	begunFiles int
	// files that this Retainer has deleted
	deleted int
	// deleted, and files that were gone already when this Retainer wanted to delete them
	gone int
	// files of crashed recorders that this Retainer has deleted, and that were not recovered before
	unrecovered int
}

// keptFiles is the length of the list beyond which it forgets files that no limit will ever delete.
const keptFiles = 256

// Retained is one file of the recording. The Retainer's mu guards the fields that change.
type Retained struct {
	disk.Place
	bag      string        // name of the bag in the ledger
	number   int           // in the order of recording: a repaired bag has that of its original
	known    disk.Identity // zero if the file system does not report identities
	bytes    int64
	closed   time.Time // when the recording ended, also of a repaired bag; zero while the file is written
	pinned   bool      // the file is never deleted
	busy     bool      // a repair works on the file
	untried  bool      // left by a crashed recorder, and to be repaired in this run
	original bool      // what a bag was repaired from: its content is in the bag, too
	last     bool      // the last file of the recording: it counts, and is never deleted
	deleted  bool
}

// closedUnpinned reports whether the file may be deleted, unless an upload needs it.
func (f *Retained) closedUnpinned() bool {
	return !f.closed.IsZero() && !f.pinned && !f.busy && !f.untried
}

// deletable reports whether the file may be deleted.
func (r *Retainer) deletable(f *Retained) bool { return f.closedUnpinned() && !r.needed(f) }

// needed reports whether a bag still has to be uploaded. Uploads know a bag by its finished name.
func (r *Retainer) needed(f *Retained) bool {
	return r.need(filepath.Join(filepath.Dir(f.Target()), f.bag))
}

// New returns a Retainer with limits r. free returns the free bytes on the disk, need reports whether a
// file still has to be uploaded; both may be called at any time.
func New(r Limits, log *zap.Logger, free func() (int64, error), need func(string) bool) *Retainer {
	return &Retainer{Limits: r, log: log, Free: free, need: need}
}

// Close closes the ledger that Load has opened.
func (r *Retainer) Close() error { return r.ledger.close() }

// note writes an entry to the ledger. An error is logged once: it concerns only later runs.
func (r *Retainer) note(w *disk.Watchdog, e entry) {
	if r.ledger == nil || e.ID == (disk.Identity{}) {
		return
	}
	end := w.Begin("note", r.ledger.name)
	err := r.ledger.add(e)
	end()
	if err != nil && !r.noteFailed.Swap(true) {
		r.log.Warn("the limits of later recordings may not hold for the bags of this one",
			zap.String("file", r.ledger.name), zap.Error(err))
	}
}

// syncLedger makes the notes durable.
func (r *Retainer) syncLedger(w *disk.Watchdog) {
	if r.ledger == nil {
		return
	}
	defer w.Begin("sync", r.ledger.name)()
	if err := r.ledger.sync(); err != nil {
		r.log.Debug("notes about bags are not on the disk", zap.String("file", r.ledger.name), zap.Error(err))
	}
}

// begun notes in the ledger that the file called name has become the file of bag, and returns its identity.
func (r *Retainer) begun(at disk.Place, bag entry, name string) disk.Identity {
	if r.ledger == nil {
		return disk.Identity{}
	}
	bag.ID, _, _, _ = disk.Identify(at.Folder, name)
	bag.Begun = true
	r.note(at.Watchdog, bag)
	return bag.ID
}

// list puts a file into the list, by its number. The caller holds mu.
func (r *Retainer) list(f *Retained) {
	i := slices.IndexFunc(r.files, func(other *Retained) bool { return other.number > f.number })
	if i < 0 {
		i = len(r.files)
	}
	r.files = slices.Insert(r.files, i, f)
}

// Begin adds a file that is written from now on.
func (r *Retainer) Begin(at disk.Place) *Retained {
	begun := &Retained{Place: at, bag: filepath.Base(at.Target())}
	begun.known = r.begun(at, entry{Bag: begun.bag}, begun.bag+bagname.ActiveSuffix)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begunFiles++
	begun.number = r.begunFiles
	r.files = append(r.files, begun)
	if len(r.files) <= keptFiles {
		return begun
	}
	// A file that no limit can delete any more is listed only for Pin, which needs the latest files.
	if i := slices.IndexFunc(r.files,
		func(f *Retained) bool { return !f.closed.IsZero() && (f.pinned || !r.Enabled()) }); i >= 0 {
		r.files = slices.Delete(r.files, i, i+1)
	}
	return begun
}

// Add notes that a file is closed, and enforces the limits. With protect, the file must not be deleted,
// and no limit is enforced: the disk may be at fault.
func (r *Retainer) Add(f *Retained, bytes int64, protect bool, now time.Time) {
	r.mu.Lock()
	f.closed, f.bytes, f.pinned = now, bytes, f.pinned || protect
	r.mu.Unlock()
	r.syncLedger(f.Watchdog)
	if !protect {
		r.Enforce(now)
	}
}

// AddLast is Add for the last file of the recording, which counts for the limits, and stays if it exceeds
// one alone.
func (r *Retainer) AddLast(f *Retained, bytes int64, protect bool, now time.Time) {
	r.mu.Lock()
	f.last = true
	r.mu.Unlock()
	r.Add(f, bytes, protect, now)
}

// Pin protects the files that were still written at since or later, and returns their names, the oldest
// first.
func (r *Retainer) Pin(since time.Time) []string {
	r.mu.Lock()
	var names []string
	var pinned []*Retained
	for _, f := range r.files {
		if f.closed.IsZero() || !f.closed.Before(since) {
			if !f.pinned {
				pinned = append(pinned, f)
			}
			f.pinned = true
			names = append(names, f.Target())
		}
	}
	r.mu.Unlock()
	for _, f := range pinned {
		r.note(f.Watchdog, entry{Bag: f.bag, ID: f.known, Pinned: true})
	}
	return names
}

// Enforce deletes files until the limits hold.
func (r *Retainer) Enforce(now time.Time) {
	if !r.Enabled() {
		return
	}
	r.deleting.Lock()
	defer r.deleting.Unlock()
	r.endBusy()
	for {
		next := r.takeNext(now, r.diskCrowded())
		if next == nil {
			return
		}
		r.remove(next)
	}
}

// diskCrowded reports whether there is less space on the disk than is to be kept.
func (r *Retainer) diskCrowded() bool {
	if r.KeepFree == 0 {
		return false
	}
	free, err := r.Free()
	return err == nil && free < r.KeepFree
}

// takeNext removes the file that goes next from the list, and returns it, if a limit is exceeded. Pin
// does not protect that file any more.
func (r *Retainer) takeNext(now time.Time, crowded bool) *Retained {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.next(now, crowded)
	if i < 0 {
		return nil
	}
	next := r.files[i]
	r.files = slices.Delete(r.files, i, i+1)
	return next
}

// next returns the index of the file that goes next, negative if no limit is exceeded: an original first, and
// then the bag that was recorded first. The caller holds mu.
func (r *Retainer) next(now time.Time, crowded bool) int {
	original, oldest, old := -1, -1, -1
	var files int
	var bytes int64
	for i, f := range r.files {
		if !r.deletable(f) {
			continue
		}
		bytes += f.bytes
		if !f.original {
			files++
		}
		switch {
		case f.last:
			continue
		case f.original && original < 0:
			original = i
		case !f.original && oldest < 0:
			oldest = i
		}
		if old < 0 && r.Age > 0 && now.Sub(f.closed) > r.Age {
			old = i
		}
	}
	if !crowded && !r.exceeded(files, bytes) {
		return old
	}
	over := slices.ContainsFunc(r.files, func(f *Retained) bool { return f.last })
	switch {
	case original >= 0:
		return original
	case oldest >= 0:
		return oldest
	case crowded && !over: // the present recording is worth more than an old file that waits for its upload
		return slices.IndexFunc(r.files, (*Retained).closedUnpinned)
	}
	return -1
}

// remove deletes a file if it is still the one that was recorded. A file that cannot be deleted is not
// tried again, as in stock.
func (r *Retainer) remove(b *Retained) {
	defer b.Watchdog.Begin("removal", b.Target())()
	base := filepath.Base(b.Target())
	st, err := b.Folder.Lstat(base)
	if err == nil && !b.isStill(base, st) {
		r.note(b.Watchdog, entry{Bag: b.bag, ID: b.known, Deleted: true})
		r.log.Warn("not the file that was recorded: it is left alone", loglimit.Each(),
			zap.String("file", b.Target()))
		return
	}
	needed := r.needed(b)
	if b.inRepair(base, err) { // the repair calls Recovered
		r.mu.Lock()
		b.busy = true
		r.list(b)
		r.mu.Unlock()
		return
	}
	if err == nil {
		err = b.Folder.Remove(base)
	}
	gone := errors.Is(err, fs.ErrNotExist) // the handover or the user may have deleted the file
	if err != nil && !gone {
		r.log.Error("Unable to remove", loglimit.Each(), zap.String("file", b.Target()), zap.Error(err))
		return
	}
	r.note(b.Watchdog, entry{Bag: b.bag, ID: b.known, Deleted: true})
	r.mu.Lock()
	b.deleted = true
	r.gone++
	unrecovered := !gone && !b.original && strings.HasSuffix(base, bagname.ActiveSuffix)
	if !gone {
		r.deleted++
	}
	if unrecovered {
		r.unrecovered++
	}
	r.mu.Unlock()
	switch {
	case gone:
	case needed:
		r.log.Error("Removing before it was uploaded: the disk is too full", loglimit.Each(),
			zap.String("file", b.Target()))
	case unrecovered:
		r.log.Error("Removing before it was recovered", loglimit.Each(), zap.String("file", b.Target()))
	default:
		r.log.Info("Removing", zap.String("file", b.Target()))
	}
}

// Status reports whether a file is protected, and whether it was deleted; a nil file is neither.
func (r *Retainer) Status(f *Retained) (pinned, deleted bool) {
	if f == nil {
		return false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return f.pinned, f.deleted
}

// Deletions returns how many files the Retainer has deleted, and how many files are gone: these, and
// files that it has found deleted by others. Files of earlier runs count, too.
func (r *Retainer) Deletions() (deleted, gone int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deleted, r.gone
}

// Unrecovered returns how many files of crashed recorders the Retainer has deleted that were not
// recovered before.
func (r *Retainer) Unrecovered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unrecovered
}

// endBusy clears the busy flag of files that no repair works on any more. The caller holds deleting.
func (r *Retainer) endBusy() {
	r.mu.Lock()
	var busy []*Retained
	for _, f := range r.files {
		if f.busy {
			busy = append(busy, f)
		}
	}
	r.mu.Unlock()
	for _, f := range busy {
		if disk.InUse(f.Folder, filepath.Base(f.Target())) {
			continue
		}
		r.mu.Lock()
		f.busy = false
		r.mu.Unlock()
	}
}
