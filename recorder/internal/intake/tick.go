package intake

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
)

// Tick seals an old chunk, begins a new file when it is time and reports new drops.
func (in *Intake) Tick(now time.Time) {
	in.Mu.Lock()
	in.Rotation.Schedule(in.passed(now))
	in.rotateIfDue(now)
	if in.Filling.Old(now, in.cfg.Flush) {
		in.SealOpen()
	}
	var lost []account.Drops
	var news []account.PublisherNews
	in.Pool.Turns.Expire(now)
	var held []account.WaitNews
	if in.Pool.Blocks {
		held = in.Account.WaitNews(now)
	}
	if now.Sub(in.warnAt) >= time.Second {
		in.warnAt = now
		lost = in.Account.NewDrops(now)
		news = in.Account.PublisherNews(now)
		in.ReleaseGone(now)
	}
	in.Mu.Unlock()
	in.warnShort(now)
	in.warnShortage()
	in.logPublishers(news)
	in.logWaits(held)
	for _, d := range lost {
		fields := []zap.Field{zap.String("topic", d.Topic), zap.Stringer("cause", d.Cause), zap.Uint64("messages", d.Messages)}
		if d.BufferNeeded > 0 {
			const mib = 1 << 20 // the unit of -b
			fields = append(fields, zap.String("needed", fmt.Sprintf("-b %d", (d.BufferNeeded+mib-1)/mib)))
		}
		in.cfg.Log.Warn("messages dropped", fields...)
	}
}

// Close ends the intake and queues the rest of it.
func (in *Intake) Close() {
	in.Mu.Lock()
	in.SealOpen()
	in.endSnapshot()
	in.Mode.Ended = true
	in.Enqueue(&command.Command{Kind: command.Report})
	in.Mu.Unlock()
	in.Room.Broadcast()
	in.warnShortage()
	in.cfg.Encoder.Close()
	in.queue.Close()
}

// Abandon ends the intake and counts as lost what is not in a file.
func (in *Intake) Abandon() {
	in.Mu.Lock()
	in.Mode.Ended = true
	if !in.Ring.IsOnly() { // otherwise it is not known what was to be written
		in.Account.Abandon()
	}
	in.Mu.Unlock()
	in.Room.Broadcast()
}

// ReleaseGone forgets what is not needed of publishers that are gone: the oldest latched
// messages, connections and accounts. mu is held.
func (in *Intake) ReleaseGone(now time.Time) {
	needed := in.needed
	if in.Ring.Writing() { // the file of a snapshot has connections, too
		needed = nil
	}
	in.Account.ReleaseGone(&in.Latched, needed, now)
}

// needed reports whether a file that is not closed, a chunk or a latched message has
// the connection. mu is held.
func (in *Intake) needed(c *account.Connection) bool {
	switch {
	case in.Latched.Holds(&c.Source), c.Topic.Memory.Waiting > 0, in.Filling.Has(c.Conn.ID), in.Ring.Needs(c.Latest):
		return true
	}
	return !in.Ring.IsOnly() && !c.Within(in.closedParts.Load())
}

// logWaits reports links that are held up, and links that go on.
func (in *Intake) logWaits(all []account.WaitNews) {
	for _, n := range all {
		took := zap.Duration("for", n.Took.Round(time.Millisecond))
		if n.Over {
			in.cfg.Log.Info("a publisher goes on", zap.String("topic", n.Topic), took)
		} else {
			in.cfg.Log.Warn("a publisher is held up, as --overflow block asks: the buffer is full; what its own queue does not hold is lost there", zap.String("topic", n.Topic), took)
		}
	}
}

// logPublishers reports messages and links that were lost, and publishers that are back.
func (in *Intake) logPublishers(all []account.PublisherNews) {
	for _, n := range all {
		log := in.cfg.Log.With(zap.String("topic", n.Topic), zap.String("publisher", n.Publisher))
		without := zap.Duration("without", n.Without.Round(time.Millisecond))
		if n.Missed > 0 {
			log.Warn("messages that were published have not reached us: the publisher's queue is too small, or the way to here too slow", zap.Uint64("messages", n.Missed))
		}
		if n.Lost > 0 {
			log.Warn("link to a publisher lost", zap.Uint64("times", n.Lost), without)
		}
		if n.Back > 0 {
			log.Info("a publisher is back", zap.Uint64("times", n.Back), without)
		}
	}
}

// warnShort warns once that memory does not reach as far back as was asked for, and
// again if it did meanwhile.
func (in *Intake) warnShort(now time.Time) {
	if in.Ring == nil || in.Ring.Window == 0 {
		return
	}
	in.Mu.Lock()
	short, reach := in.Ring.TakeShort(now)
	in.Mu.Unlock()
	if short {
		in.cfg.Log.Warn("memory does not hold as much as snapshots are to begin with: give more, or compress",
			zap.Duration("wanted", in.Ring.Window), zap.Duration("held", reach.Round(time.Millisecond)), zap.Int64("bytes", in.Ring.Most))
	}
}

// warnShortage says once why latched messages are not repeated.
func (in *Intake) warnShortage() {
	in.Mu.Lock()
	s := in.Latched.TakeShortage()
	in.Mu.Unlock()
	switch {
	case s.Text == "":
	case s.Topic == "":
		in.cfg.Log.Warn(s.Text)
	default:
		in.cfg.Log.Warn(s.Text, zap.String("topic", s.Topic))
	}
}
