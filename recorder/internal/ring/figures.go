package ring

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Stats returns the live account of the ring, which may be nil, and of the snapshots that have begun.
func (r *Ring) Stats(now time.Time) control.SnapshotStats {
	if r == nil {
		return control.SnapshotStats{}
	}
	s := control.SnapshotStats{
		Mode: control.SnapshotBeside, Held: r.reach(now), Bytes: r.bytes,
		Most: r.o.Most, Taken: r.taken,
	}
	if r.o.Only {
		s.Mode = control.SnapshotOnly
	}
	if r.o.Window > 0 {
		s.Held = min(s.Held, r.o.Window)
	}
	if r.current != nil {
		s.File = r.current.Target()
	}
	return s
}

// Shortage is how much less than its window the ring holds.
type Shortage struct {
	Wanted, Held time.Duration
	Bytes        int64 // the bound of the ring
}

// TakeShortage returns a shortage if the ring has lost a part of its window: once, and again only after
// the ring has reached back to the whole window. The ring may be nil.
func (r *Ring) TakeShortage(now time.Time) *Shortage {
	if r == nil || r.o.Window == 0 {
		return nil
	}
	reach := r.reach(now)
	short := r.short && !r.warned
	r.short = false
	r.warned = (r.warned || short) && reach < r.o.Window
	if !short {
		return nil
	}
	return &Shortage{r.o.Window, reach, r.o.Most}
}
