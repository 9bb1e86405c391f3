package recorder

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// writeSnapshots is the one goroutine that writes snapshots, beside the recording.
func (p *pipeline) writeSnapshots() {
	z, err := bagfmt.NewCompressor(p.compression)
	if err == nil {
		p.snaps.pack = z // else the first chunk of a snapshot is not packed
	}
	for {
		do, ok := p.snaps.queue.take()
		if !ok {
			return
		}
		do()
	}
}

// openSnapshot writes what a snapshot begins with: the latched messages that are not
// among the others, then the ring. It empties chunks as it goes.
func (p *pipeline) openSnapshot(sn *snapshot, chunks []ringChunk) {
	sn.addConns(chunks)
	kept, n := 0, 0
	for ; n < len(chunks) && !sn.rooted; n++ {
		if c, wanted := p.root(sn, chunks[n]); wanted {
			chunks[kept] = c
			kept++
		}
	}
	chunks = slices.Delete(chunks, kept, n)
	p.openWithLatched(sn, chunks)
	for i := range chunks {
		p.addChunk(sn, chunks[i])
		chunks[i] = ringChunk{} // nothing else may hold on to its memory
	}
}

// addConns adds the connections of chunks to those whose records are needed.
func (sn *snapshot) addConns(chunks []ringChunk) {
	known := map[*bagfmt.Connection]bool{}
	for _, conn := range sn.conns {
		known[conn] = true
	}
	for _, c := range chunks {
		for _, n := range c.Counts {
			if !known[n.Conn] {
				known[n.Conn] = true
				sn.conns = append(sn.conns, n.Conn)
			}
		}
	}
}

// openWithLatched writes the latched messages of connections that have none in chunks,
// with the time at which the snapshot begins.
func (p *pipeline) openWithLatched(sn *snapshot, chunks []ringChunk) {
	defer p.unpin(sn.latched)
	at := bagfmt.TimeOf(p.sim.at(sn.at))
	seen := map[bagfmt.ConnID]bool{}
	for _, c := range chunks {
		if c.Start.Before(at) {
			at = c.Start
		}
		for _, n := range c.Counts {
			seen[n.Conn.ID] = true
		}
	}
	var missing []pinned
	for _, l := range sn.latched {
		if !seen[l.conn.ID] {
			missing = append(missing, l)
		}
	}
	err := p.packLatched(missing, at, func(c *bagfmt.SealedChunk) error {
		if err := sn.out.write(c); err != nil {
			return err
		}
		p.mu.Lock()
		p.countRepeated(c)
		p.mu.Unlock()
		return nil
	})
	if err != nil {
		p.log.Warn("latched messages not in the snapshot", zap.String("file", sn.out.target), zap.Error(err))
	}
}

// root makes of the chunk that a snapshot begins with one that begins with the window,
// and with the records of all connections that later chunks rely on: what is left by a
// crash within the snapshot can be read then. A chunk that is one large message stays
// as it is; so does one for which there is no memory. false means that nothing of it is
// wanted.
func (p *pipeline) root(sn *snapshot, old ringChunk) (c ringChunk, wanted bool) {
	var from bagfmt.Time
	if before, span := sn.from.Sub(old.born), old.until.Sub(old.born); before > 0 && span > 0 { // by the monotonic clock, whatever others do
		if p.sim != nil {
			before = time.Duration(float64(before) / float64(span) * float64(old.End.Sub(old.Start)))
		}
		from = old.Start.Add(before)
	}
	if old.End.Before(from) {
		p.giveBack(old)
		return ringChunk{}, false
	}
	if old.UncompressedBytes > int64(max(2*p.chunkBytes, leastLarge)) && old.messages() == 1 {
		return old, true
	}
	sn.rooted = true
	fresh := p.freshChunk(int(old.UncompressedBytes))
	if fresh == nil {
		return old, true
	}
	fresh.builder.Reset(nil)
	for _, conn := range sn.conns {
		fresh.builder.AppendRun(conn, bagfmt.Time{}, nil, 0)
	}
	err := fresh.builder.AppendSealed(old.SealedChunk, from)
	switch {
	case err == nil && fresh.builder.Messages() == 0:
		sn.rooted = false
		p.release(fresh)
		p.giveBack(old)
		return ringChunk{}, false
	case err == nil:
		fresh.seal(p.snaps.pack)
		err = fresh.err
	}
	if err != nil { // cannot be: we made it
		p.log.Error("a snapshot begins with a chunk as it is", zap.Error(err))
		p.release(fresh)
		return old, true
	}
	p.giveBack(old)
	p.mu.Lock()
	p.pool.count(fresh)
	p.mu.Unlock()
	return ringChunk{SealedChunk: fresh.sealed, chunk: fresh}, true
}

// leastLarge is how large a message is at least before its chunk is left as it is.
const leastLarge = 1 << 20

// freshChunk returns a buffer for n bytes, or nil.
func (p *pipeline) freshChunk(n int) *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pool.get(n, n)
}

// giveBack takes the memory of a chunk back.
func (p *pipeline) giveBack(c ringChunk) {
	p.mu.Lock()
	p.recycle(c)
	p.mu.Unlock()
	p.room.Broadcast()
}

// addToSnapshot writes a chunk of the post-roll.
func (p *pipeline) addToSnapshot(sn *snapshot, c ringChunk) {
	if !sn.rooted {
		var wanted bool
		if c, wanted = p.root(sn, c); !wanted {
			return
		}
	}
	p.addChunk(sn, c)
}

// addChunk writes a chunk, or counts why it does not.
func (p *pipeline) addChunk(sn *snapshot, c ringChunk) {
	defer p.giveBack(c)
	switch {
	case p.hurried():
		p.missed(sn, c, dropHurry)
		return
	case sn.err != nil:
		p.missed(sn, c, dropDisk)
		return
	}
	if sn.err = sn.out.write(c.SealedChunk); sn.err != nil {
		p.log.Error("the snapshot ends here", zap.Error(sn.err))
		p.missed(sn, c, dropDisk)
		return
	}
	p.mu.Lock()
	p.stored += int64(len(c.Record))
	sn.messages += c.messages()
	for _, n := range c.Counts {
		if p.snaps.only() {
			sn.out.messages[n.Conn.ID] += uint64(n.Count)
			p.conns[n.Conn.ID].topic.written += uint64(n.Count)
		}
	}
	p.mu.Unlock()
	if sn.out.mode == SyncChunk {
		p.sync(sn.out)
	}
	p.wakeSyncer(sn.out, time.Now())
}

// missed counts messages that should be in a snapshot and are not. Beside a recording
// they are in its bag.
func (p *pipeline) missed(sn *snapshot, c ringChunk, cause dropCause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sn.missing += c.messages()
	for _, n := range c.Counts {
		if p.snaps.only() {
			p.conns[n.Conn.ID].topic.dropped[cause] += uint64(n.Count)
		}
	}
}

// closeSnapshot leaves the file to the closer.
func (p *pipeline) closeSnapshot(sn *snapshot) {
	if sn.missing > 0 {
		sn.err = errors.Join(sn.err, fmt.Errorf("%d messages are missing in the snapshot %s", sn.missing, sn.out.target))
	}
	p.mu.Lock()
	if sn.err != nil {
		p.faults = append(p.faults, sn.err)
	}
	p.mu.Unlock()
	p.log.Info("Snapshot", zap.String("file", sn.out.target), zap.Uint64("messages", sn.messages), zap.Int64("bytes", sn.out.end))
	p.closing <- sn.out
}
