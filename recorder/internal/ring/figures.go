package ring

import "time"

// Figures is the account of the ring. The zero value says that there is none.
type Figures struct {
	On    bool
	Only  bool          // nothing is written but snapshots
	Held  time.Duration // how far back a snapshot would reach now
	Bytes int64         // bytes of memory of the ring
	Most  int64         // the bound of Bytes
	Taken int           // snapshots until now
	File  string        // the bag whose post-roll goes on; empty for none
}

// Figures returns the account of the ring, which may be nil.
func (r *Ring) Figures(now time.Time) Figures {
	if r == nil {
		return Figures{}
	}
	f := Figures{On: true, Only: r.Only, Held: r.Reach(now), Bytes: r.Bytes, Most: r.Most, Taken: r.Taken}
	if r.Window > 0 {
		f.Held = min(f.Held, r.Window)
	}
	if r.Current != nil {
		f.File = r.Current.Target()
	}
	return f
}

// Shortage is how much less than its window the ring holds.
type Shortage struct {
	Wanted, Held time.Duration
	Bytes        int64 // the bound of the ring
}

// TakeShortage returns what to tell if memory has not reached back as far as was asked for: once, and again
// if it did meanwhile. The ring may be nil.
func (r *Ring) TakeShortage(now time.Time) *Shortage {
	if r == nil || r.Window == 0 {
		return nil
	}
	reach := r.Reach(now)
	short := r.Short && !r.warned
	r.Short = false
	r.warned = (r.warned || short) && reach < r.Window
	if !short {
		return nil
	}
	return &Shortage{r.Window, reach, r.Most}
}
