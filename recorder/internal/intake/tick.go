package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
)

// Tick seals an old chunk, begins the next file and ends a post-roll if that is due, and logs news.
func (in *Intake) Tick(now time.Time) {
	in.mu.Lock()
	in.rotation.Schedule(in.rotationTimeLocked(now))
	in.rotateIfDueLocked(now)
	if in.filling.Old(now, in.cfg.Flush) {
		in.sealOpenLocked()
	}
	in.pool.Turns().Expire(now)
	found := News{Ring: in.ring.TakeShortage(now), Latched: in.latched.TakeShortage()}
	if in.pool.Blocks() {
		found.Waits = in.accounts.WaitNews(now)
	}
	if now.Sub(in.newsAt) >= time.Second {
		in.newsAt = now
		found.Drops = in.accounts.NewDrops(now)
		found.Publishers = in.accounts.PublisherNews(now)
		in.accounts.ReleaseGone(&in.latched, in.neededLocked, now)
	}
	in.mu.Unlock()
	found.Log(in.cfg.Log)
}

// Close ends the intake: it queues the open chunk, the end of a post-roll and the account of losses.
func (in *Intake) Close() {
	in.mu.Lock()
	in.endSnapshotLocked()
	in.endFileLocked(true)
	in.mode.Ended = true
	last := News{Latched: in.latched.TakeShortage()}
	in.mu.Unlock()
	in.room.Broadcast()
	last.Log(in.cfg.Log)
	in.cfg.Encoder.Close()
	in.queue.Close()
}

// Abandon ends the intake and counts messages as lost that are not in a file.
func (in *Intake) Abandon() {
	in.mu.Lock()
	in.mode.Ended = true
	in.accounts.Abandon()
	in.mu.Unlock()
	in.room.Broadcast()
}

// neededLocked reports whether a file that is not closed, a chunk or a latched message needs the connection.
func (in *Intake) neededLocked(c *account.Connection) bool {
	switch {
	case in.ring.Writing(): // the file of a snapshot has connections, too
		return true
	case in.latched.Holds(c.Source()), c.Topic().Memory().Waiting() > 0, in.filling.Has(c.Conn().ID), in.ring.Needs(c.Source().Latest()):
		return true
	}
	return !in.ring.IsOnly() && !c.Within(in.closedParts)
}
