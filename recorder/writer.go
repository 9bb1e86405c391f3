package recorder

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// compress is one compression goroutine.
func (p *pipeline) compress() {
	z := packer{}
	for {
		c, ok := p.squeeze.take()
		if !ok {
			return
		}
		compression := p.nextCompression(c)
		if !p.hurried() && !p.hasFailed() { // otherwise it will be given up: no time for it
			z.seal(c, compression)
		}
		c.ready <- struct{}{}
	}
}

// seal makes the record of a chunk. A codec that panics costs this chunk, which is
// counted, not the recording.
func (c *chunk) seal(z *bagfmt.Compressor) {
	defer func() {
		if r := recover(); r != nil {
			c.err = fmt.Errorf("compressor: %v", r)
		}
	}()
	c.sealed, c.err = c.builder.Seal(z, c.out[:0])
	if z != nil && c.err == nil {
		c.out = c.sealed.Record
	}
}

// write is the one goroutine that touches the file's data.
func (p *pipeline) write() {
	for {
		c, ok := p.sealed.take()
		if !ok {
			return
		}
		if c.errand != nil {
			c.errand.run()
			continue
		}
		if p.squeeze != nil {
			<-c.ready
		} else {
			c.seal(nil)
		}
		if !p.snaps.only() {
			p.store(c)
		}
		p.keep(c)
	}
}

// store writes a chunk, or gives it up and counts why.
func (p *pipeline) store(c *chunk) {
	switch {
	case p.err != nil:
		p.giveUp(c, dropDisk)
		return
	case p.hurried():
		p.giveUp(c, dropHurry)
		return
	case c.err != nil:
		p.log.Error("chunk lost", zap.Error(c.err))
		p.giveUp(c, dropCodec)
		return
	case c.sealed == nil: // a compressor skipped it because the sync failed
		c.seal(nil)
	}
	if err := p.put(c.sealed); err != nil {
		p.err = err
		p.halt()
		p.giveUp(c, dropDisk)
		return
	}
	p.written(c)
	p.wakeSyncer(p.out, time.Now())
}

// halt ends the recording: no file can be written, or none be made durable.
func (p *pipeline) halt() {
	p.halted.Do(func() {
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		p.room.Broadcast()
		close(p.failed)
	})
}

func (p *pipeline) hasFailed() bool {
	select {
	case <-p.failed:
		return true
	default:
		return false
	}
}

// keepSynced runs the interval syncs, so that the writer never waits for one.
func (p *pipeline) keepSynced() {
	for b := range p.kick {
		p.sync(b)
	}
}

// sync waits for the disk. A failure is final for the file: put goes on in another,
// and finish returns it.
func (p *pipeline) sync(b *bagFile) {
	if err := b.Sync(); err != nil {
		p.log.Error("sync failed", zap.Error(err))
	}
}

// wakeSyncer starts an interval sync if one is due.
func (p *pipeline) wakeSyncer(b *bagFile, now time.Time) {
	if !b.due(now) {
		return
	}
	select {
	case p.kick <- b:
	default: // one is about to start
	}
}

func (p *pipeline) hurried() bool {
	select {
	case <-p.hurry:
		return true
	default:
		return false
	}
}

// giveUp counts the messages of a chunk that will not be written.
func (p *pipeline) giveUp(c *chunk, cause dropCause) {
	if c.sealed == nil {
		c.seal(nil) // not compressed: the counts are still to be had
	}
	if c.sealed == nil {
		p.log.Error("messages lost that cannot be counted", zap.Error(c.err))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range c.sealed.Counts {
		t := p.conns[n.Conn.ID].topic
		t.messages -= uint64(n.Count)
		t.dropped[cause] += uint64(n.Count)
	}
}
