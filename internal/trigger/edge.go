package trigger

import "time"

// edge tells when an expression turns true for the messages of one publisher. It begins false.
type edge struct{ holds bool }

// turned reports whether the expression has turned true with this message.
func (e *edge) turned(holds bool) bool {
	turned := holds && !e.holds
	e.holds = holds
	return turned
}

// pause keeps a trigger from firing again too soon, whichever publisher it is for.
type pause struct {
	length time.Duration
	until  time.Time
}

// over reports whether the trigger may fire at now, and begins the next pause if so.
func (p *pause) over(now time.Time) bool {
	if now.Before(p.until) {
		return false
	}
	p.until = now.Add(p.length)
	return true
}
