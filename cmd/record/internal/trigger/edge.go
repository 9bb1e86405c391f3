package trigger

import "time"

// edge detects that an expression turns true for the messages of one publisher. It starts with
// false.
type edge struct{ holds bool }

// turned reports whether the expression has turned true with this message.
func (e *edge) turned(holds bool) bool {
	turned := holds && !e.holds
	e.holds = holds
	return turned
}

// pause keeps a trigger from firing again too soon, for all publishers together.
type pause struct {
	length time.Duration
	until  time.Time
}

// over reports whether the trigger may fire at now. If so, it begins the next pause.
func (p *pause) over(now time.Time) bool {
	if now.Before(p.until) {
		return false
	}
	p.until = now.Add(p.length)
	return true
}
