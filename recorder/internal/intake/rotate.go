package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/rosbag"
)

// checkSizeLocked ends the file if it has reached its maximum size.
func (in *Intake) checkSizeLocked(now time.Time) {
	switch {
	case in.rotation.Left() >= 0:
	case in.rotation.Splits():
		in.nextFileLocked(now)
	case !in.mode.Full:
		in.mode.Full = true
		in.room.Broadcast()
		in.filled <- struct{}{} // never blocks: this is the only token
	}
}

// rotationTimeLocked returns now by the clock of the rotation.
func (in *Intake) rotationTimeLocked(now time.Time) time.Time {
	in.rotation.SetBack(in.cfg.Sim.GoneBack())
	return in.cfg.Sim.Steady(now)
}

// rotateIfDueLocked begins the next file, and ends a post-roll, if that is due.
func (in *Intake) rotateIfDueLocked(now time.Time) {
	if in.rotation.Due(in.cfg.Sim.Steady(now)) {
		in.nextFileLocked(now)
	}
	if in.Buffers.ring.Due(now) {
		in.endSnapshotLocked()
	}
}

// nextFileLocked begins the next file, because the present file has reached a limit. While nothing is
// recorded, nextFile does nothing: the first message that is recorded again begins the file.
func (in *Intake) nextFileLocked(now time.Time) {
	if in.mode.Records() {
		in.rotateLocked(now)
	}
}

// fileStartLocked returns how a file that begins now begins: with the latched messages of all publishers.
// If resumed is set, no file begins, but a pause has ended, and only messages that came in the pause are
// repeated.
func (in *Intake) fileStartLocked(now time.Time, resumed bool) *queue.FileStart {
	o := &queue.FileStart{
		At: now, Stamp: rosbag.TimeOf(in.cfg.Sim.At(now)), Part: in.rotation.Part(), Resumed: resumed,
	}
	o.Latched, o.Missed = in.Buffers.latched.AtFile(in.Accounts.all.Sources(), resumed)
	if len(o.Latched) > 0 {
		in.rotation.LatchedQueued(o.Stamp, now)
	}
	for _, l := range o.Latched {
		in.Accounts.all.Of(l.Conn()).NoteWritten(o.Part)
	}
	return o
}

// rotateLocked makes all messages from now on go into the next file, which the sink opens after it has
// written the chunks in the queue.
func (in *Intake) rotateLocked(now time.Time) *queue.Command {
	in.endFileLocked(false)
	return in.enqueueLocked(&queue.Command{
		Kind:  queue.Rotate,
		Start: in.beginFileLocked(now, in.rotation.Advance),
	})
}

// endFileLocked ends the present file: what was received until now is in that file or in one before.
// Every file ends here: because the next one begins (rotateLocked), the sink goes on in another one after
// a fault (Failover), the recording stops (RequestStop), or it ends (Close). With report, the account of
// losses is the last message of the file. Chunks and commands that are queued from now on are for the
// next file; see addLocked for what may not be called.
func (in *Intake) endFileLocked(report bool) {
	in.sealOpenLocked()
	if report {
		in.enqueueLocked(&queue.Command{Kind: queue.Report})
	}
}

// beginFileLocked makes all messages from now on go into another file, and returns how the file begins.
// advance is the function of the rotation that begins the file.
func (in *Intake) beginFileLocked(now time.Time, advance func(now time.Time)) *queue.FileStart {
	now = in.filling.Later(now)
	advance(in.rotationTimeLocked(now))
	in.filling.BeginFile(in.sealLimitLocked())
	return in.fileStartLocked(now, false)
}

// enqueueLocked queues a command behind the chunks that were submitted.
// See ADR 0030.
func (in *Intake) enqueueLocked(c *queue.Command) *queue.Command {
	c.Done = make(chan struct{})
	in.queue.Put(queue.Item{Command: c})
	return c
}
