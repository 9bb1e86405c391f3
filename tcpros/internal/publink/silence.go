package publink

import (
	"errors"
	"time"
)

// A subscriber whose machine is gone acknowledges nothing. Keepalive detects that only on an
// idle connection: Linux does not probe a connection with unacknowledged data, but
// retransmits the data at growing intervals for about 15 minutes (tcp_retries2). Until then,
// play that waits for its subscribers would be blocked. TCP_USER_TIMEOUT would detect it, but
// would also close the link to a live subscriber that does not read, such as a node that is
// stopped or in a debugger.
const (
	// Longer than keepalive needs, which is 11 s. A peer that has acknowledged nothing for this
	// long is given up after one more unanswered retransmission. Retransmission intervals double,
	// so the network may be up again before the next one: a peer that was unreachable for ten
	// seconds loses nothing.
	silentAfter = 12 * time.Second
	silentCheck = 2 * time.Second
	cutOffAfter = time.Second // a peer is cut off when it has acknowledged nothing for longer than this
)

// ErrSilent says that a subscriber was given up.
var ErrSilent = errors.New("the subscriber's machine acknowledges nothing any more")

// ackState is the state of acknowledgments on a connection.
type ackState struct {
	pending  bool          // an acknowledgment is outstanding
	sinceAck time.Duration // time since the last acknowledgment
	probes   uint32        // changes with each retransmission or probe
}

// silenceDetector measures how long acknowledgments have been outstanding.
type silenceDetector struct {
	since      time.Time
	probes     uint32
	finalProbe bool // a further retransmission was sent after silentAfter
}

// exceeded reports whether to give the peer up. It is called every silentCheck.
// See ADR 0046.
func (s *silenceDetector) exceeded(now time.Time, d ackState) bool {
	again, heard := d.probes != s.probes, now.Add(-d.sinceAck)
	s.probes = d.probes
	switch {
	case !d.pending:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since, s.finalProbe = now, false // the data may have been sent just now, after a long idle time
	case heard.Sub(s.since) > cutOffAfter: // smaller differences are within the kernel's precision
		s.since, s.finalProbe = heard, false
	case s.finalProbe:
		return true
	default:
		s.finalProbe = again && now.Sub(s.since) >= silentAfter
	}
	return false
}
