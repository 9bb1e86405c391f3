package live

import "sync/atomic"

// Counts has the numbers of frames that one viewer received and skipped.
type Counts struct {
	Messages uint64 // received by the viewer
	Bytes    uint64 // of their payload
	Skipped  uint64 // not received because the viewer was too slow, or because they were too large
	TooLarge uint64 // the part of Skipped that was larger than the memory for this viewer
}

func (c *Counts) add(other Counts) {
	c.Messages += other.Messages
	c.Bytes += other.Bytes
	c.Skipped += other.Skipped
	c.TooLarge += other.TooLarge
}

// tally is Counts that grow under the lock of the store and are read without it: a page, a metric or
// the end of a program never waits for the viewers.
type tally struct {
	messages, bytes, skipped, tooLarge atomic.Uint64
}

// sum returns the counts so far.
func (t *tally) sum() Counts {
	return Counts{
		Messages: t.messages.Load(), Bytes: t.bytes.Load(), Skipped: t.skipped.Load(),
		TooLarge: t.tooLarge.Load(),
	}
}

// refuse counts a frame that is larger than the memory for the viewer.
func (t *tally) refuse() {
	t.skipped.Add(1)
	t.tooLarge.Add(1)
}
