package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
	"github.com/gorosbag/gorosbag/recorder/internal/news"
)

// Tick seals an old chunk, begins the next file and ends a snapshot where that is due, and logs news.
func (in *Intake) Tick(now time.Time) {
	in.Mu.Lock()
	in.Rotation.Schedule(in.passed(now))
	in.rotateIfDue(now)
	if in.Filling.Old(now, in.cfg.Flush) {
		in.sealOpen()
	}
	in.Pool.Turns.Expire(now)
	told := news.News{Ring: in.Ring.TakeShortage(now), Latched: in.Latched.TakeShortage()}
	if in.Pool.Blocks {
		told.Waits = in.Account.WaitNews(now)
	}
	if now.Sub(in.warnAt) >= time.Second {
		in.warnAt = now
		told.Drops = in.Account.NewDrops(now)
		told.Publishers = in.Account.PublisherNews(now)
		in.releaseGone(now)
	}
	in.Mu.Unlock()
	told.Log(in.cfg.Log)
}

// Close ends the intake: it queues the open chunk, the end of a snapshot and the account of losses.
func (in *Intake) Close() {
	in.Mu.Lock()
	in.sealOpen()
	in.endSnapshot()
	in.Mode.Ended = true
	in.enqueue(&command.Command{Kind: command.Report})
	last := news.News{Latched: in.Latched.TakeShortage()}
	in.Mu.Unlock()
	in.room.Broadcast()
	last.Log(in.cfg.Log)
	in.cfg.Encoder.Close()
	in.queue.Close()
}

// Abandon ends the intake and counts messages as lost that are not in a file.
func (in *Intake) Abandon() {
	in.Mu.Lock()
	in.Mode.Ended = true
	if !in.Ring.IsOnly() { // otherwise it is not known what was to be written
		in.Account.Abandon()
	}
	in.Mu.Unlock()
	in.room.Broadcast()
}

// releaseGone releases the oldest latched messages, connections and accounts of publishers that are gone. mu is
// held.
func (in *Intake) releaseGone(now time.Time) {
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
