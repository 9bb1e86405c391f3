package loglimit

import "time"

// The intervals of a Pace.
const (
	Interval    = 10 * time.Second // least time between two lines of one kind and peer
	MaxInterval = time.Minute      // least time between two lines of a problem that continues
)

// Pace spaces the reports of one problem: the first is due at once, further reports at intervals
// that double from Interval to MaxInterval while the problem continues. The zero value is ready.
type Pace struct {
	next time.Time
	wait time.Duration
}

// Ready reports whether a report is due.
func (p *Pace) Ready(now time.Time) bool { return !now.Before(p.next) }

// Take reports whether a report is due, and if so records that the caller makes it now.
func (p *Pace) Take(now time.Time) bool {
	if !p.Ready(now) {
		return false
	}
	// the problem is new, then next is zero, or was absent for a while
	if p.wait *= 2; now.Sub(p.next) >= MaxInterval {
		p.wait = Interval
	}
	p.wait = min(p.wait, MaxInterval)
	p.next = now.Add(p.wait)
	return true
}

// Episode decides which changes of a state are logged. The state, such as a master that is away, may
// begin and end many times a second. Its beginning is logged as often as Pace allows, and its end if the
// beginning was logged. The zero value is ready. Calls must not run at the same time.
type Episode struct {
	pace     Pace
	on       bool
	since    time.Time
	reported bool
	missed   int // how often the state began without a report
}

// On reports whether the state lasts.
func (e *Episode) On() bool { return e.on }

// Begin records that the state lasts, and reports whether to log this now. earlier is how often the
// state began and ended without a report since the last report.
func (e *Episode) Begin(now time.Time) (log bool, earlier int) {
	if !e.on {
		e.on, e.since = true, now
		e.missed++
	}
	if e.reported || !e.pace.Take(now) {
		return false, 0
	}
	earlier = e.missed - 1
	e.reported, e.missed = true, 0
	return true, earlier
}

// End records that the state has ended, and reports whether to log the end, and how long the state
// lasted.
func (e *Episode) End(now time.Time) (log bool, lasted time.Duration) {
	log, lasted = e.reported, now.Sub(e.since)
	e.on, e.reported = false, false
	return log, lasted
}
