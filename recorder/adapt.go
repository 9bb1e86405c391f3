package recorder

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

const (
	// A ladder goes down where the queue to the compressors takes a quarter of the buffer,
	// and to its second step where it takes half: long before messages are dropped.
	downShare = 4
	// It goes up where the queue takes less than this part, for so long each step.
	upShare = 16
	upAfter = 10 * time.Second
)

// ladder chooses the compression of the next chunks. Only the queue to the compressors
// counts: a slow disk is no reason to give it more to write. It is guarded by pipeline.mu.
type ladder struct {
	steps  []bagfmt.Compression // from what was asked for down
	at     int                  // the present step
	room   int64                // bytes of the whole buffer
	queued int64                // of it, in the queue to the compressors
	short  time.Time            // since when that is short, or since the last step up; zero: it is not

	stored map[bagfmt.Compression]uint64 // chunks that were written
}

func newLadder(o *Options) ladder {
	l := ladder{
		steps:  []bagfmt.Compression{o.Compression},
		room:   o.MemoryBytes(),
		stored: map[bagfmt.Compression]uint64{},
	}
	if l.room < 0 {
		l.room = DefaultBufferBytes
	}
	if all := []bagfmt.Compression{bagfmt.CompressionBZ2, bagfmt.CompressionLZ4, bagfmt.CompressionNone}; o.Adaptive {
		l.steps = all[slices.Index(all, o.Compression):]
	}
	return l
}

func (l *ladder) compression() bagfmt.Compression { return l.steps[l.at] }

// look goes a step down or up where that is due, and reports whether it did.
func (l *ladder) look(now time.Time) bool {
	if l.queued >= l.room/upShare {
		l.short = time.Time{}
	} else if l.short.IsZero() {
		l.short = now
	}
	switch {
	case l.at < len(l.steps)-1 && l.queued >= l.room/downShare*int64(l.at+1):
		l.at++
	case l.at > 0 && !l.short.IsZero() && now.Sub(l.short) >= upAfter:
		l.at--
		l.short = now
	default:
		return false
	}
	return true
}

// nextCompression says how to compress c, which has just left the queue to the
// compressors.
func (p *pipeline) nextCompression(c *chunk) bagfmt.Compression {
	p.mu.Lock()
	l := &p.ladder
	l.queued -= c.counted
	before := l.at
	stepped := l.look(time.Now())
	next, down := l.compression(), l.at > before
	p.mu.Unlock()
	switch {
	case !stepped:
	case down:
		p.log.Warn("compression does not keep up: less of it for the next chunks", zap.String("compression", string(next)))
	default:
		p.log.Info("compression keeps up: more of it for the next chunks", zap.String("compression", string(next)))
	}
	return next
}

// packer compresses chunks in any of the compressions of a ladder. One goroutine owns it.
type packer map[bagfmt.Compression]*bagfmt.Compressor

// seal makes the record of a chunk.
func (z packer) seal(c *chunk, compression bagfmt.Compression) {
	if compression == bagfmt.CompressionNone {
		c.seal(nil)
		return
	}
	if z[compression] == nil {
		made, err := bagfmt.NewCompressor(compression)
		if err != nil {
			c.err = err
			return
		}
		z[compression] = made
	}
	c.seal(z[compression])
}
