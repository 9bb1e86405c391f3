package intake

import "github.com/gorosbag/gorosbag/recorder/internal/account"

// QueueCrowded reports whether much waits for the disk.
func (d Accounts) QueueCrowded() bool {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Pool.Crowded()
}

// WaitForChunk gets a buffer for the open chunk. false means that there is no room,
// or that the waiting for some is over.
func (in *Intake) WaitForChunk(t *account.Topic) bool {
	var b *account.Wait
	for in.Open == nil && in.accepts(t) { // another link may open one while we wait
		// What is left is for a large message that waits for memory, but for a minimum.
		if !in.Pool.LargeFirst() && in.OpenChunk() {
			break
		}
		if !in.Pool.Blocks {
			return false
		}
		if b == nil {
			b = &account.Wait{Topic: t}
			defer in.Account.EndWait(b)
		}
		in.wait(b)
	}
	return in.Open != nil && in.accepts(t)
}

// OpenChunk makes sure of an open chunk if there is room for one. mu is held.
func (in *Intake) OpenChunk() bool {
	if in.Open == nil {
		c := in.Pool.Open()
		if c == nil {
			return false
		}
		c.Builder.Reset(in.records)
		in.Open, in.sealAt = c, in.sealLimit()
	}
	return true
}
