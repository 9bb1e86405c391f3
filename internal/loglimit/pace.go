package loglimit

import "time"

// The intervals of a Pace.
const (
	Interval    = 10 * time.Second // between two lines of one kind and peer, at least
	MaxInterval = time.Minute      // the same of a problem that goes on
)

// Pace spaces the reports of one problem: the first at once, the next ones at intervals that
// double from Interval to MaxInterval as long as the problem goes on. The zero value is ready.
type Pace struct {
	next time.Time
	wait time.Duration
}

// Ready reports whether a report is due.
func (p *Pace) Ready(now time.Time) bool { return !now.Before(p.next) }

// Take reports whether a report is due, and if so notes that it is made.
func (p *Pace) Take(now time.Time) bool {
	if !p.Ready(now) {
		return false
	}
	if p.wait *= 2; p.wait == 0 || now.Sub(p.next) >= MaxInterval { // new, or over for a while
		p.wait = Interval
	}
	p.wait = min(p.wait, MaxInterval)
	p.next = now.Add(p.wait)
	return true
}

// Episode reports a state that may come and go many times a second, such as a master that is
// away: that it came, as often as Pace allows, and that it is over if it was reported. The
// zero value is ready. The caller has the lock.
type Episode struct {
	pace     Pace
	on       bool
	since    time.Time
	reported bool
	missed   int // how often it came without a report
}

// On reports whether the state is there.
func (e *Episode) On() bool { return e.on }

// Begin notes that the state is there, and reports whether to log it now. earlier is how often
// it has come and gone since the last report without one.
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

// End notes that the state is over, and reports whether to log that, and how long it lasted.
func (e *Episode) End(now time.Time) (log bool, lasted time.Duration) {
	log, lasted = e.reported, now.Sub(e.since)
	e.on, e.reported = false, false
	return log, lasted
}
