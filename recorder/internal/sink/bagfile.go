package sink

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
)

// Bag is a file of the recording or of a snapshot, with what the recording knows of it.
type Bag struct {
	*bagfile.File
	Snapshot bool
	last     bool                     // of the recording
	part     int                      // the last one of the recording that is in it; set by who writes it
	content  map[string]account.Tally // by topic, in it; owned by who writes it, then by the closer
	retained *retention.Retained      // what the retention knows of it; nil for a snapshot

	Finished chan struct{} // closed when the file is, and all is done about it
	Fault    error         // why it was not closed well; final then, as is the following
	ended    time.Time
}

// Create creates the next file of a series.
func Create(s *bagfile.Series, now time.Time) (*Bag, error) {
	f, err := s.Create(now)
	if err != nil {
		return nil, err
	}
	return &Bag{File: f, content: map[string]account.Tally{}, Finished: make(chan struct{})}, nil
}

// hold counts messages that were written to the file.
func (b *Bag) hold(c *chunk.Sealed) {
	for i, n := range c.Counts {
		sum := b.content[n.Conn.Topic]
		sum.Add(account.Tally{Messages: uint64(n.Count), Bytes: c.PayloadBytes[i]})
		b.content[n.Conn.Topic] = sum
	}
}

// Closed waits until the file is closed, and returns its name, or why it was not closed well.
func (b *Bag) Closed(ctx context.Context) (string, error) {
	select {
	case <-b.Finished:
		return b.Path(), b.Fault
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
