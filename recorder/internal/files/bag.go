package files

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
	Last     bool                     // the last file of the recording
	Part     int                      // the latest part of the recording that is in the file; owned by the writer
	content  map[string]account.Tally // messages in the file, by topic; owned by the writer, then by the closer
	retained *retention.Retained      // what the retention knows of the file; nil for a snapshot

	Finished chan struct{} // closed when the file is closed and handed over; Fault and ended are final then
	Fault    error         // why the file was not closed well
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

// Hold counts messages that were written to the file.
func (b *Bag) Hold(c *chunk.Sealed) {
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
