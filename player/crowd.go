package player

import "time"

// A wake-up takes longer than to send a message. Where messages come more often than
// each crowdedGap, on average, play sleeps for two such gaps, crowdedNap at most, and
// sends together what was due meanwhile.
const (
	crowdedGap  = 150 * time.Microsecond
	crowdedNap  = 200 * time.Microsecond
	longestGap  = 10 * time.Millisecond // that counts as such, so that a pause is forgotten soon
	crowdMemory = 64                    // messages
)

// crowd knows how thickly messages come.
type crowd struct {
	thick time.Duration // longestGap less the gap between deadlines, on average
	last  time.Duration // deadline
	sent  time.Duration // when that was
}

// add tells it of a message that is sent.
func (c *crowd) add(now, deadline time.Duration) {
	gap := min(max(deadline-c.last, 0), longestGap)
	c.last, c.sent = deadline, now
	c.thick += (longestGap - gap - c.thick) / crowdMemory
}

// wakeUp returns until when to sleep for a deadline.
func (c *crowd) wakeUp(deadline time.Duration) time.Duration {
	gap := longestGap - c.thick
	if gap >= crowdedGap {
		return deadline
	}
	return max(deadline, c.sent+min(2*gap, crowdedNap))
}
