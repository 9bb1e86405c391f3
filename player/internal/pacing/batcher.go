package pacing

import "time"

// A wake-up takes longer than sending a message. When the average gap between messages is below
// batchGap, which means more than 6,700 messages a second, play sleeps for two gaps, at most
// MaxBatchDelay, and then sends all messages that have become due.
const (
	MaxBatchDelay = 200 * time.Microsecond
	GapWindow     = 64 // number of messages that the average covers

	batchGap = 150 * time.Microsecond
	// longer gaps count as this, so that the average recovers quickly after a pause.
	longestGap = 10 * time.Millisecond
)

// Batcher measures the message rate and decides when to batch. The zero value is ready.
type Batcher struct {
	density  time.Duration // longestGap less the gap between deadlines, on average
	deadline time.Duration // deadline of the last message
	sent     time.Duration // when the last message was sent
}

// Add records a message that is sent.
func (b *Batcher) Add(now, deadline time.Duration) {
	gap := min(max(deadline-b.deadline, 0), longestGap)
	b.deadline, b.sent = deadline, now
	b.density += (longestGap - gap - b.density) / GapWindow
}

// WakeUp returns when to wake up for a message with a deadline: then or, in a batch, later.
func (b *Batcher) WakeUp(deadline time.Duration) time.Duration {
	gap := longestGap - b.density
	if gap >= batchGap {
		return deadline
	}
	return max(deadline, b.sent+min(2*gap, MaxBatchDelay))
}
