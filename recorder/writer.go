package recorder

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// compress is one compression goroutine.
func (p *pipeline) compress() {
	z, err := bagfmt.NewCompressor(p.compression)
	for {
		c, ok := p.squeeze.take()
		if !ok {
			return
		}
		if c.err = err; err == nil {
			c.seal(z)
		}
		c.ready <- struct{}{}
	}
}

// seal makes the record of a chunk. A codec that panics costs the recording this
// chunk, not the program with all the others.
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
		if p.squeeze != nil {
			<-c.ready
		} else {
			c.seal(nil)
		}
		switch {
		case p.err != nil:
			p.giveUp(c, dropDisk)
		case p.hurried():
			p.giveUp(c, dropHurry)
		default:
			err := c.err
			if err == nil {
				err = p.out.write(c.sealed)
			}
			p.wakeSyncer(time.Now())
			if err != nil {
				p.fail(err)
				p.giveUp(c, dropDisk)
			}
		}
		p.release(c)
	}
}

// fail ends the recording: the file cannot be written any more.
func (p *pipeline) fail(err error) {
	p.err = err
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.room.Broadcast()
	close(p.failed)
}

// keepSynced runs the interval syncs, so that the writer never waits for one.
func (p *pipeline) keepSynced() {
	for range p.kick {
		if err := p.out.Sync(); err != nil {
			p.log.Error("sync failed", zap.Error(err)) // and close returns it
		}
	}
}

// wakeSyncer starts an interval sync if one is due.
func (p *pipeline) wakeSyncer(now time.Time) {
	if !p.out.due(now) {
		return
	}
	select {
	case p.kick <- struct{}{}:
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
		c.seal(nil) // the compressor failed: the counts are still to be had
	}
	if c.sealed == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range c.sealed.Counts {
		t := p.conns[n.Conn.ID].topic
		t.messages -= uint64(n.Count)
		t.drop(cause, uint64(n.Count))
	}
}
