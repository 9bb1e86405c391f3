package recorder

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// Snapshot says which messages the bag of a snapshot has. No message is in two snapshots, except latched
// ones: a snapshot soon after another begins where that one ended.
type Snapshot struct {
	Mode control.SnapshotMode
	// how far a snapshot reaches back before the trigger; zero means as far as Bytes allow
	PreRoll time.Duration
	// memory for the pre-roll, at most three quarters of the buffer; zero means three quarters
	Bytes int64
	// how long a snapshot goes on after the trigger; another trigger in this time extends it
	PostRoll time.Duration
}

// withDefaults checks the options. buffer is the bound of all memory, negative for none.
func (s Snapshot) withDefaults(o *Options, buffer int64) (Snapshot, error) {
	switch most := buffer / 4 * 3; {
	case s.Mode == control.SnapshotOff && s != Snapshot{}:
		return s, errors.New("options of snapshots without snapshots")
	case s.Mode == control.SnapshotOff:
	case s.PreRoll < 0 || s.Bytes < 0 || s.PostRoll < 0:
		return s, errors.New("a size or time of snapshots is negative")
	case s.Mode == control.SnapshotOnly && (o.Split || o.MaxBytes > 0 || o.Limit > 0):
		return s, errors.New("where only snapshots are written there is no bag to split or to end")
	case buffer < 0 && s.Bytes == 0:
		return s, errors.New("without a bound of the buffer the memory for snapshots needs one of its own")
	case s.Bytes == 0:
		s.Bytes = most
	case buffer >= 0 && s.Bytes > most:
		return s, fmt.Errorf("%d bytes for snapshots do not fit into three quarters of a buffer of %d: give it at least %d", s.Bytes, buffer, (s.Bytes+2)/3*4)
	}
	return s, nil
}

// ring returns the options of the ring.
func (s Snapshot) ring() ring.Options {
	return ring.Options{
		Most: s.Bytes, Window: s.PreRoll, PostRoll: s.PostRoll,
		Only: s.Mode == control.SnapshotOnly,
	}
}
