package recorder

import (
	"os"
	"time"
)

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

// Bags returns the latest bags that the recording has finished, the oldest first, or
// ErrNotRecording. Those that were moved away or met a fault are none of them.
func (c *Control) Bags() ([]Bag, error) {
	r, err := c.reach()
	if err != nil {
		return nil, err
	}
	done := r.sink.Finished.Bags()
	all := make([]Bag, len(done))
	for i, b := range done {
		all[i] = Bag(b)
	}
	return all, nil
}

// OpenBag opens a finished bag to be read. A file that is not the one that was recorded
// is ErrNoBag, whatever its name.
func (c *Control) OpenBag(id int) (*os.File, Bag, error) {
	r, err := c.reach()
	if err != nil {
		return nil, Bag{}, err
	}
	f, b, err := r.sink.Finished.Open(id)
	return f, Bag(b), err
}
