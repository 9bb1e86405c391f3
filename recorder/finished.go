package recorder

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
)

const (
	keptBags   = 256 // finished bags that are remembered one by one; those before only in sums
	keptFaults = 16
)

// finishedBags is what is remembered of bags that are closed. It is for concurrent use;
// its lock is never held together with another one.
type finishedBags struct {
	retain *bagfile.Retainer

	mu      sync.Mutex
	latest  []finishedBag // the bag of number n is at n%keptBags
	count   int           // bags
	bytes   int64         // of them all
	file    string        // the last that counts as the recording's own, when it was closed
	place   bagfile.Place // where it is
	gone    int           // bags that were deleted while they were recorded
	earlier EarlierFiles  // those that have left latest
	faults  []error       // the first ones
	more    int           // and how many came after those
}

// finishedBag is one bag that is closed.
type finishedBag struct {
	Bag
	place    bagfile.Place
	retained *bagfile.Retained
	faulty   bool // not closed well, or moved away
	gone     bool // deleted while it was recorded
}

// add takes in a bag that is closed. own says that what is in it is the recording.
func (l *finishedBags) add(b *bagFile, fault error, own bool) {
	f := finishedBag{
		Bag:      Bag{Name: b.Path(), Bytes: b.Bytes(), Begun: b.Begun, Ended: b.ended, Snapshot: b.snapshot},
		place:    b.Place,
		retained: b.retained,
		faulty:   b.fault != nil,
		gone:     errors.Is(b.Away(), bagfile.ErrDeleted),
	}
	for _, n := range b.content {
		f.Messages += n.Messages
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if fault != nil {
		l.addFault(fault)
	}
	if own {
		l.file, l.place = b.Path(), b.Place
	}
	if f.gone {
		l.gone++
	}
	l.bytes += b.Bytes()
	f.ID = l.count
	l.count++
	if len(l.latest) < keptBags {
		l.latest = append(l.latest, f)
		return
	}
	oldest := &l.latest[f.ID%keptBags]
	l.earlier.Files++
	if oldest.Snapshot {
		l.earlier.Snapshots++
		l.earlier.SnapshotBytes += oldest.Bytes
	}
	*oldest = f
}

// fault notes what went wrong with a file that is not closed yet.
func (l *finishedBags) fault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addFault(err)
}

// addFault is fault with mu held.
func (l *finishedBags) addFault(err error) {
	if len(l.faults) == keptFaults {
		l.more++
		return
	}
	l.faults = append(l.faults, err)
}

// err returns what went wrong with files.
func (l *finishedBags) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.Join(l.faults...)
	if l.more > 0 {
		err = errors.Join(err, fmt.Errorf("and %s of files", plural.Of(l.more, "more fault")))
	}
	return err
}

// number returns how many bags were finished.
func (l *finishedBags) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// list returns the latest bags, the oldest first, with the names that they have now.
func (l *finishedBags) list() []finishedBag {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.count % max(len(l.latest), 1)
	if len(l.latest) < keptBags {
		oldest = 0
	}
	all := slices.Concat(l.latest[oldest:], l.latest[:oldest])
	for i := range all {
		all[i].Name = all[i].place.Path(all[i].Name)
	}
	return all
}

// bags returns the latest bags that were closed well.
func (l *finishedBags) bags() []Bag {
	latest := l.list()
	all := make([]Bag, 0, len(latest))
	for i := range latest {
		if b := &latest[i]; !b.faulty {
			b.Pinned, b.Deleted = l.retain.Status(b.retained)
			all = append(all, b.Bag)
		}
	}
	return all
}

// open opens a bag by its number.
func (l *finishedBags) open(id int) (*os.File, Bag, error) {
	l.mu.Lock()
	known := id >= 0 && id < l.count && id >= l.count-keptBags
	var b finishedBag
	if known {
		b = l.latest[id%keptBags]
	}
	l.mu.Unlock()
	if !known || b.faulty {
		return nil, Bag{}, ErrNoBag
	}
	b.Pinned, b.Deleted = l.retain.Status(b.retained)
	b.Name = b.place.Path(b.Name)
	f, err := b.place.Reopen(b.Bytes)
	return f, b.Bag, err
}

// summarize adds the files to an account.
func (l *finishedBags) summarize(s *Summary) {
	listed := 0
	for _, b := range l.list() {
		_, deleted := l.retain.Status(b.retained)
		deleted = deleted || b.gone
		if deleted {
			listed++
		}
		s.Files = append(s.Files, FileSummary{b.Name, b.Bytes, deleted, b.Snapshot})
	}
	deleted := l.retain.Gone()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Bytes, s.Earlier = l.bytes, l.earlier
	if l.file != "" {
		s.File = l.place.Path(l.file)
	}
	s.Earlier.Deleted = deleted + l.gone - listed
}
