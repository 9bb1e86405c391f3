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
	// Longer than keepalive takes: what was lost is sent again 6 and 13 s after the first
	// time, so a network that is back by then loses nothing.
	silentAfter = 15 * time.Second
	silentCheck = 2 * time.Second
	silentSign  = time.Second // owing an answer for so long means to be cut off
)

// errSilent says that a subscriber was given up.
var errSilent = errors.New("tcpros: the subscriber's machine acknowledges nothing any more")

// silence is for how long the other end of a connection has owed an answer.
type silence struct{ since time.Time }

// over is told whether it owes one now, and how long ago it gave its last. It reports
// whether it has owed one for too long.
func (s *silence) over(now time.Time, owes bool, heard time.Duration) bool {
	last := now.Add(-heard)
	switch {
	case !owes:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = now // it may have been asked this very moment, after a long rest
	case last.After(s.since):
		s.since = last
	}
	return owes && now.Sub(s.since) >= silentAfter
}
