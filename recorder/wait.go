package recorder

// queueCrowded reports whether much waits for the disk.
func (in *intake) queueCrowded() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pool.Crowded()
}

// waitForChunk gets a buffer for the open chunk. false means that there is no room,
// or that the waiting for some is over.
func (in *intake) waitForChunk(t *topic) bool {
	var b *blockage
	for in.open == nil && in.accepts(t) { // another link may open one while we wait
		// What is left is for a large message that waits for memory, but for a minimum.
		if !in.pool.LargeFirst() && in.openChunk() {
			break
		}
		if in.overflow == OverflowDrop {
			return false
		}
		if b == nil {
			b = &blockage{topic: t}
			defer in.endBlockage(b)
		}
		in.wait(b)
	}
	return in.open != nil && in.accepts(t)
}

// openChunk makes sure of an open chunk if there is room for one. mu is held.
func (in *intake) openChunk() bool {
	if in.open == nil {
		c := in.pool.Open()
		if c == nil {
			return false
		}
		c.Builder.Reset(in.records)
		in.open, in.sealAt = c, in.sealLimit()
	}
	return true
}
