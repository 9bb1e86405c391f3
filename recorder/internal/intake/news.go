// This file logs what happens during a recording: lost messages and links, links that wait, and shortages of
// memory. Other packages find out what has happened.

package intake

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// News is what has happened since the last News. The zero value is no news.
type News struct {
	Ring       *ring.Shortage // nil for none
	Latched    latch.Shortage
	Publishers []account.PublisherNews
	Waits      []account.WaitNews
	Drops      []account.Drops
}

// Log writes one line for each piece of news.
func (n *News) Log(log *zap.Logger) {
	n.logShortages(log)
	for _, p := range n.Publishers {
		logPublisher(log.With(zap.String("topic", p.Topic), zap.String("publisher", p.Publisher)), p)
	}
	for _, w := range n.Waits {
		took := zap.Duration("for", w.Took.Round(time.Millisecond))
		if w.Over {
			log.Info("a publisher goes on", zap.String("topic", w.Topic), took)
		} else {
			log.Warn("a publisher is held up, as --overflow block asks: the buffer is full; what its own queue does not hold is lost there", zap.String("topic", w.Topic), took)
		}
	}
	for _, d := range n.Drops {
		fields := []zap.Field{
			zap.String("topic", d.Topic), zap.Stringer("cause", d.Cause),
			zap.Uint64("messages", d.Messages),
		}
		if d.BufferNeeded > 0 {
			const mib = 1 << 20 // the unit of -b
			fields = append(fields, zap.String("needed", fmt.Sprintf("-b %d", (d.BufferNeeded+mib-1)/mib)))
		}
		log.Warn("messages dropped", fields...)
	}
}

// logShortages logs that there was no memory for latched messages, or for all that snapshots begin with.
func (n *News) logShortages(log *zap.Logger) {
	if s := n.Ring; s != nil {
		log.Warn("memory does not hold as much as snapshots are to begin with: give more, or compress",
			zap.Duration("wanted", s.Wanted), zap.Duration("held", s.Held.Round(time.Millisecond)),
			zap.Int64("bytes", s.Bytes))
	}
	if s := n.Latched; s.Text != "" {
		log.Warn(s.Text, zap.String("topic", s.Topic))
	}
}

// logPublisher logs lost messages and links, and that a publisher is back.
func logPublisher(log *zap.Logger, p account.PublisherNews) {
	without := zap.Duration("without", p.Without.Round(time.Millisecond))
	if p.Missed > 0 {
		log.Warn("messages that were published have not reached us: the publisher's queue is too small, or the way to here too slow", zap.Uint64("messages", p.Missed))
	}
	if p.Lost > 0 {
		log.Warn("link to a publisher lost", zap.Uint64("times", p.Lost), without)
	}
	if p.Back > 0 {
		log.Info("a publisher is back", zap.Uint64("times", p.Back), without)
	}
}
