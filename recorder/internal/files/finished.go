package files

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
)

// Bounds of FinishedBags.
const (
	KeptBags   = 256 // finished bags that are remembered one by one; earlier ones are summed up
	KeptFaults = 16  // errors that are remembered; later ones are counted
)

// FinishedBags remembers bags that are closed. It is for concurrent use;
// its lock is never held together with another one.
type FinishedBags struct {
	Retain *retention.Retainer

	mu sync.Mutex
	// the last KeptBags bags, the oldest first
	latest []finishedBag
	// number of all bags
	count int
	// size of all bags
	bytes int64
	// path of the last bag of the recording itself when it was closed; empty for none
	file string
	// where that bag is
	place disk.Place
	// bags that were deleted while they were recorded
	gone int
	// sums over bags that are not in latest any more
	earlier control.EarlierFiles
	// the first KeptFaults errors
	faults []error
	// number of errors after those
	more int
}

// finishedBag is one bag that is closed.
type finishedBag struct {
	control.Bag
	Place    disk.Place
	retained *retention.Retained
	faulty   bool // not closed well, or moved away
	gone     bool // deleted while it was recorded
}

// Add adds a bag that is closed. own means that the bag is one of the recording itself, not of a snapshot
// beside a recording.
func (l *FinishedBags) Add(b *Bag, fault error, own bool) {
	f := finishedBag{
		Bag: control.Bag{
			Name: b.Path(), Bytes: b.Bytes(), Begun: b.Begun, Ended: b.ended,
			Snapshot: b.Snapshot,
		},
		Place:    b.Place,
		retained: b.retained,
		faulty:   b.Fault != nil,
		gone:     errors.Is(b.Away(), bagfile.ErrDeleted),
	}
	for _, n := range b.content {
		f.Messages += n.Messages
	}
	if fault != nil {
		l.Fail(fault)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if own {
		l.file, l.place = b.Path(), b.Place
	}
	if f.gone {
		l.gone++
	}
	l.bytes += b.Bytes()
	f.ID = l.count
	l.count++
	l.latest = append(l.latest, f)
	if len(l.latest) <= KeptBags {
		return
	}
	oldest := l.latest[0]
	l.latest = slices.Delete(l.latest, 0, 1)
	l.earlier.Files++
	if oldest.Snapshot {
		l.earlier.Snapshots++
		l.earlier.SnapshotBytes += oldest.Bytes
	}
}

// Fail adds an error of a file.
func (l *FinishedBags) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) == KeptFaults {
		l.more++
		return
	}
	l.faults = append(l.faults, err)
}

// Err returns the errors of all files.
func (l *FinishedBags) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.Join(l.faults...)
	if l.more > 0 {
		err = errors.Join(err, fmt.Errorf("and %s of files", wording.Plural(l.more, "more fault")))
	}
	return err
}

// Number returns how many bags were finished.
func (l *FinishedBags) Number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// List returns the latest bags as they are now, the oldest first.
func (l *FinishedBags) List() []finishedBag {
	l.mu.Lock()
	all := slices.Clone(l.latest)
	l.mu.Unlock()
	for i := range all {
		b := &all[i]
		b.Name = b.Place.Path(b.Name)
		b.Pinned, b.Deleted = l.Retain.Status(b.retained)
	}
	return all
}

// Bags returns the latest bags that were closed well.
func (l *FinishedBags) Bags() []control.Bag {
	latest := l.List()
	all := make([]control.Bag, 0, len(latest))
	for i := range latest {
		if b := &latest[i]; !b.faulty {
			all = append(all, b.Bag)
		}
	}
	return all
}

// Open opens a bag by its number.
func (l *FinishedBags) Open(id int) (*os.File, control.Bag, error) {
	latest := l.List()
	i := slices.IndexFunc(latest, func(b finishedBag) bool { return b.ID == id })
	if i < 0 || latest[i].faulty {
		return nil, control.Bag{}, control.ErrNoBag
	}
	b := latest[i]
	f, err := b.Place.Reopen(b.Bytes)
	return f, b.Bag, err
}

// Account returns the parts of a Summary that are about files.
func (l *FinishedBags) Account() (a control.Summary) {
	listed := 0
	for _, b := range l.List() {
		deleted := b.Deleted || b.gone
		if deleted {
			listed++
		}
		a.Files = append(a.Files,
			control.FileSummary{File: b.Name, Bytes: b.Bytes, Deleted: deleted, Snapshot: b.Snapshot})
	}
	_, deleted := l.Retain.Deletions()
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Bytes, a.Earlier = l.bytes, l.earlier
	if l.file != "" {
		a.File = l.place.Path(l.file)
	}
	a.Earlier.Deleted = deleted + l.gone - listed
	return a
}
