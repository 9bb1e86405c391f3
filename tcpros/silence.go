package tcpros

import (
	"errors"
	"time"
)

// A subscriber whose machine is gone answers nothing. Keepalive finds that only while
// nothing is under way to it: Linux probes no connection that has unacknowledged data,
// but sends that again, at growing intervals, for some 15 minutes (tcp_retries2). Until
// then play that waits for its subscribers would stand still. TCP_USER_TIMEOUT would end
// the wait, but also the link to one that is there and does not read: a node that is
// stopped, or that is in a debugger.
const (
	// Longer than keepalive takes. Who owes an answer for so long is given up when it is
	// asked once more, in vain. Each time takes twice as long as the one before, so a network
	// may have been back for a while that we have not tried again since: one that was silent
	// for ten seconds loses nothing.
	silentAfter = 12 * time.Second
	silentCheck = 2 * time.Second
	silentSign  = time.Second // owing an answer for so long means to be cut off
)

// errSilent says that a subscriber was given up.
var errSilent = errors.New("tcpros: the subscriber's machine acknowledges nothing any more")

// debt is what the other end of a connection owes.
type debt struct {
	owed  bool          // an answer
	heard time.Duration // how long ago it gave its last
	asked uint32        // another number each time it is asked again
}

// silence is for how long the other end of a connection has owed an answer.
type silence struct {
	since time.Time
	asked uint32
	last  bool // it was asked once more, when it had owed one for too long
}

// over is told every silentCheck what is owed. It reports whether that is for good.
func (s *silence) over(now time.Time, d debt) bool {
	again, heard := d.asked != s.asked, now.Add(-d.heard)
	s.asked = d.asked
	switch {
	case !d.owed:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since, s.last = now, false // it may have been asked this very moment, after a long rest
	case heard.Sub(s.since) > silentSign: // less is how exactly the kernel says it
		s.since, s.last = heard, false
	case s.last:
		return true
	default:
		s.last = again && now.Sub(s.since) >= silentAfter
	}
	return false
}
