package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrNoBag means that the recording has finished no such bag, or that it is gone.
var ErrNoBag = errors.New("recorder: there is no such bag")

// Bag is one that the recording has finished.
type Bag struct {
	ID       int    // in the order in which they were finished, from 0
	Name     string // where it is, or was
	Bytes    int64
	Messages uint64    // in it; only of messages that count as recorded, see FileSummary.Snapshot
	Begun    time.Time // when the file was created
	Ended    time.Time // when it was closed
	Snapshot bool
	Pinned   bool // by Control.Pin
	Deleted  bool // as Options.Retain asks
}

// Bags returns the bags that the recording has finished, the oldest first, or
// ErrNotRecording. Those that were moved away or met a fault are none of them.
func (c *Control) Bags() ([]Bag, error) {
	r, err := c.reach()
	if err != nil {
		return nil, err
	}
	return r.pipe.bags(), nil
}

// OpenBag opens a finished bag to be read. A file that is not the one that was recorded
// is ErrNoBag, whatever its name.
func (c *Control) OpenBag(id int) (*os.File, Bag, error) {
	r, err := c.reach()
	if err != nil {
		return nil, Bag{}, err
	}
	for _, b := range r.pipe.finishedBags() {
		if b.ID == id {
			f, err := b.file.reopen()
			return f, b.Bag, err
		}
	}
	return nil, Bag{}, ErrNoBag
}

// finishedBag is a bag with its file.
type finishedBag struct {
	Bag
	file *bagFile
}

func (p *pipeline) bags() []Bag {
	finished := p.finishedBags()
	all := make([]Bag, len(finished))
	for i := range finished {
		all[i] = finished[i].Bag
	}
	return all
}

// finishedBags returns those that were closed well.
func (p *pipeline) finishedBags() []finishedBag {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []finishedBag
	for id, b := range p.done {
		select {
		case <-b.finished:
		default:
			continue // it is about to be
		}
		if b.fault != nil {
			continue
		}
		f := finishedBag{Bag{ID: id, Name: b.sealed, Bytes: b.end, Begun: b.begun, Ended: b.ended, Snapshot: b.snapshot}, b}
		for _, n := range b.messages {
			f.Messages += n
		}
		f.Pinned, f.Deleted = p.retain.fate(b)
		all = append(all, f)
	}
	return all
}

// fate returns whether a file is protected, and whether it was deleted.
func (r *retainer) fate(b *bagFile) (pinned, deleted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.files {
		if k.bag == b {
			pinned = k.pinned
		}
	}
	return pinned, r.forgot[b]
}

// reopen opens the finished file once more, if it is still the one that was recorded.
func (b *bagFile) reopen() (*os.File, error) {
	base := filepath.Base(b.target)
	st, err := b.dir.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !b.is(st) {
		return nil, ErrNoBag
	}
	var f *os.File
	if err == nil {
		f, err = b.dir.Open(base)
	}
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	if st, err = f.Stat(); err != nil || !b.is(st) {
		return nil, errors.Join(ErrNoBag, err, f.Close())
	}
	return f, nil
}

// is reports whether st is of the finished file. The number of one that was deleted may
// be used again.
func (b *bagFile) is(st fs.FileInfo) bool {
	return st.Mode().IsRegular() && st.Size() == b.end && os.SameFile(st, b.id)
}
