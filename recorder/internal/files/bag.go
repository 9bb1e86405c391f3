package files

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
)

// Bag is a file of the recording or of a snapshot, with the counts of its messages.
type Bag struct {
	*bagfile.File
	Snapshot bool
	// the last file of the recording
	Last bool
	// the latest part of the recording that is in the file; owned by the writer
	Part int
	// messages in the file, by topic; owned by the writer, then by the closer
	content map[string]account.Tally
	// nil for a snapshot
	retained *retention.Retained

	Finished chan struct{} // closed when the file is closed and handed over; then Fault and ended are final
	Fault    error         // why the file is incomplete, or has lost its name; nil if neither
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

// Count adds the messages of a chunk that was written to the content of the file.
func (b *Bag) Count(c *chunk.Sealed) {
	for i, n := range c.Counts {
		sum := b.content[n.Conn.Topic]
		sum.Add(account.Tally{Messages: uint64(n.Count), Bytes: c.PayloadBytes[i]})
		b.content[n.Conn.Topic] = sum
	}
}

// Closed waits until the file is closed. It returns the path of the file, and Fault.
func (b *Bag) Closed(ctx context.Context) (string, error) {
	select {
	case <-b.Finished:
		return b.Path(), b.Fault
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
