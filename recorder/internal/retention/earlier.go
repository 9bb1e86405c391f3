package retention

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// Load adds the bags of earlier runs with the same output, as far as they are still the files that were
// recorded. orphans are the names of the files that will be repaired: the latest waitingOrphans of them
// are not deleted before that was tried, see Trying. Without limits Load does nothing. After an error the
// limits hold for the files of this run only.
func (r *Retainer) Load(s *bagfile.Series, orphans []string) error {
	if !r.Enabled() {
		return nil
	}
	ledger, list, err := openLedger(s.Dir, ledgerName(s.Output))
	if err != nil {
		return err
	}
	bags := list.alive()
	if list.isStale() {
		if err := ledger.compact(bags); err != nil {
			r.log.Debug("compacting the list of bags failed", zap.String("file", ledger.name), zap.Error(err))
		}
	}
	r.ledger, r.begunFiles = ledger, list.begun
	now := time.Now()
	for _, e := range bags {
		f, gone := e.find(s, now)
		switch {
		case f != nil:
			f.untried = !f.original && e.Repair != repairBegun &&
				slices.Contains(orphans, filepath.Base(f.Name))
			r.files = append(r.files, f)
		case gone:
			r.note(s.Watchdog, entry{Bag: e.Bag, ID: e.ID, Deleted: true})
		}
	}
	waiting := 0
	for _, f := range slices.Backward(r.files) {
		if f.untried {
			waiting++
			f.untried = waiting <= waitingOrphans
		}
	}
	r.syncLedger(s.Watchdog)
	return nil
}

// waitingOrphans is how many orphans no limit deletes before their repair was tried. A recorder that is
// killed again and again before it can repair one leaves one each time.
const waitingOrphans = 2

// Look is Load for a recording that does not begin: nothing is written or locked.
func (r *Retainer) Look(s *bagfile.Series) error {
	name := ledgerName(s.Output)
	st, err := s.Dir.Lstat(name)
	if !r.Enabled() || errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
		return nil
	}
	f, err := s.Dir.Open(name)
	if err != nil {
		return err
	}
	list, err := (&ledger{name: name, file: f}).read(max(0, st.Size()-longestLedger))
	now := time.Now()
	for _, e := range list.alive() {
		if f, _ := e.find(s, now); f != nil {
			r.files = append(r.files, f)
		}
	}
	return errors.Join(err, f.Close())
}

// find returns the file of an entry, which may have another name now: a crashed recorder leaves
// X.bag.active, and a repair keeps that file as X.bag.orig.active. If find returns nil, gone says that the
// file certainly does not exist any more.
func (e *listedBag) find(s *bagfile.Series, now time.Time) (f *Retained, gone bool) {
	defer s.Watchdog.Begin("search", s.Path(e.Bag))()
	gone = true
	for _, name := range []string{
		e.Name, e.Bag, e.Bag + bagname.ActiveSuffix,
		e.Bag + bagname.OriginalSuffix,
	} {
		if name == "" {
			continue
		}
		st, err := s.Dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		id, size, changed, ok := disk.Identify(s.Dir, name)
		if err != nil || !ok && st.Mode().IsRegular() {
			gone = false
			continue
		}
		if !ok || id != e.ID {
			continue
		}
		if changed.Year() < 2000 || changed.After(now) { // the clock was wrong
			changed = now
		}
		return &Retained{
			Place: s.Place(name, st), bag: e.Bag, number: e.number, known: e.ID, bytes: size, closed: changed,
			pinned: e.Pinned,
			original: strings.HasSuffix(e.Bag, ".bag"+bagname.LedgerSuffix) ||
				strings.HasSuffix(name, bagname.OriginalSuffix),
		}, false
	}
	return nil, gone
}

// Recovered tells the Retainer that a repair has made bag from original, a file that a crashed recorder left.
// If the original is of the same output, the limits hold for both files. A repair calls Recovered again when
// the original gets another name.
func (r *Retainer) Recovered(s *bagfile.Series, bag, original string) {
	if r.adopt(s, bag, original) {
		r.Enforce(time.Now())
	}
}

// Waits reports whether no limit deletes the file of this name before its repair was tried.
func (r *Retainer) Waits(s *bagfile.Series, orphan string) bool { return r.waiting(s, orphan) != nil }

// waiting returns the file of this name if it waits for its repair.
func (r *Retainer) waiting(s *bagfile.Series, orphan string) *Retained {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.files,
		func(f *Retained) bool { return f.untried && f.Name == filepath.Join(s.DirName, orphan) })
	if i < 0 {
		return nil
	}
	return r.files[i]
}

// Trying notes that the repair of an orphan begins: if this process dies meanwhile, the orphan does not
// wait in the next run, so that limits hold for a recorder that crashes again and again. The caller calls
// tried when the repair has ended; later means that it was not carried through because the recording
// ended.
func (r *Retainer) Trying(s *bagfile.Series, orphan string) (tried func(later bool)) {
	f := r.waiting(s, orphan)
	if f == nil {
		return func(bool) {}
	}
	r.note(f.Watchdog, entry{Bag: f.bag, ID: f.known, Repair: repairBegun})
	return func(later bool) {
		if later {
			r.note(f.Watchdog, entry{Bag: f.bag, ID: f.known, Repair: repairLater})
			return
		}
		r.mu.Lock()
		f.untried = false
		r.mu.Unlock()
		r.Enforce(time.Now())
	}
}

// adopt is Recovered without enforcing.
func (r *Retainer) adopt(s *bagfile.Series, bag, original string) bool {
	r.deleting.Lock() // so that no file leaves the list
	defer r.deleting.Unlock()
	kept := bag + bagname.LedgerSuffix
	if r.moved(s, kept, original) { // the second call for this original; bag may be deleted by now
		return true
	}
	r.mu.Lock()
	var old *Retained
	if i := slices.IndexFunc(r.files,
		func(f *Retained) bool { return f.bag == bag && !f.closed.IsZero() }); i >= 0 {
		old = r.files[i]
	}
	r.mu.Unlock()
	st, err := s.Dir.Lstat(bag)
	if old == nil || err != nil {
		return false
	}
	place := s.Place(bag, st)
	originalID := r.begun(place, entry{Bag: kept}, original)
	r.note(place.Watchdog, entry{Bag: kept, ID: originalID, Name: original})
	whole := &Retained{
		Place: place, bag: bag, number: old.number, known: r.begun(place, entry{Bag: bag, Whole: true}, bag),
		bytes: st.Size(), closed: old.closed,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old.busy, old.untried, old.original = false, false, true
	old.bag, old.known, old.Name = kept, originalID, filepath.Join(s.DirName, original)
	whole.pinned, old.pinned = old.pinned, false
	r.list(whole)
	return true
}

// moved notes the present name of an original that adopt has added before, and reports whether it has.
func (r *Retainer) moved(s *bagfile.Series, kept, original string) bool {
	id, _, _, ok := disk.Identify(s.Dir, original)
	r.mu.Lock()
	i := slices.IndexFunc(r.files, func(f *Retained) bool { return ok && f.bag == kept && f.known == id })
	if i < 0 {
		r.mu.Unlock()
		return false
	}
	f := r.files[i]
	f.busy, f.Name = false, filepath.Join(s.DirName, original)
	r.mu.Unlock()
	r.note(f.Watchdog, entry{Bag: kept, ID: id, Name: original})
	return true
}

// inRepair reports whether a repair works on the file, or has just renamed it: a repair calls Recovered only
// after the new name is on the disk. base is the last known name of the file, and err the error of Lstat for
// that name.
func (f *Retained) inRepair(base string, err error) bool {
	switch {
	case !strings.HasSuffix(base, bagname.ActiveSuffix):
		return false
	case errors.Is(err, fs.ErrNotExist):
		// the name that a repair gives
		original := strings.TrimSuffix(f.bag, bagname.LedgerSuffix) + bagname.OriginalSuffix
		st, err := f.Folder.Lstat(original)
		return err == nil && f.isStill(original, st)
	}
	return err == nil && disk.InUse(f.Folder, base)
}

// isStill reports whether the file of that name is the one that was recorded.
func (f *Retained) isStill(name string, st fs.FileInfo) bool {
	if id, _, _, ok := disk.Identify(f.Folder, name); ok && f.known != (disk.Identity{}) {
		return id == f.known
	}
	return os.SameFile(st, f.ID)
}
