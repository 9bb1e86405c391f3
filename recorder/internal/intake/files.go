package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Files is the door for the sink, which writes the bags in the order of the queue.
type Files struct{ door }

// Files returns the door for the sink.
func (in *Intake) Files() Files { return Files{door{in}} }

// Next waits for the next chunk or command. ok is false when the intake is closed and the queue is empty.
func (d Files) Next() (item queue.Item, ok bool) { return d.in.queue.Take() }

// ClaimLatched implements latch.Claims.
func (d Files) ClaimLatched(unpacked int64) (claimed int64, ok bool) {
	claimed = d.in.latched.Weight(int(unpacked))
	return claimed, d.claim(claimed)
}

// UnclaimLatched implements latch.Claims.
func (d Files) UnclaimLatched(claimed int64) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.pool.UnuseLatched(claimed)
}

// ChunkBytes returns the size at which chunks are sealed.
func (d Files) ChunkBytes() int { return d.in.pool.ChunkBytes() }

// End ends the intake: the file has failed.
func (d Files) End() {
	in := d.in
	in.mu.Lock()
	in.mode.Ended = true
	in.mu.Unlock()
	in.room.Broadcast()
}

// CountDeleted counts the messages of a deleted file, by topic, as lost.
func (d Files) CountDeleted(content map[string]account.Tally) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.accounts.Deleted(content)
}

// Written counts a chunk that is in the file of part: the number with which the file began, or the last one that it has taken
// over.
func (d Files) Written(c *memory.Chunk, part int) {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	in.accounts.Written(c.Sealed(), part) // after a failover, part is not c.Part
	in.rotation.Written(c.Part(), c.Cost(), int64(len(c.Sealed().Record)), in.cfg.Encoder.Compresses())
}

// Failover makes all messages from now on go into another file, which the sink has opened after a fault. It
// returns how the file begins.
func (d Files) Failover(now time.Time) *queue.FileStart {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	in.endFileLocked(false)
	return in.beginFileLocked(now, in.rotation.NextPart)
}

// FileOpened begins to record into the file that command c has opened, and returns how the file begins.
func (d Files) FileOpened(c *queue.Command, now time.Time) *queue.FileStart {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	next := in.beginFileLocked(now, in.rotation.Restart)
	if in.mode.Starting == c { // otherwise a later stop has queued the end of this file
		in.mode.Starting = nil
		in.mode.Begun = in.cfg.Sim.Steady(next.At)
		in.enterLocked(control.StateRecording)
	}
	return next
}

// NotOpened notes that command c could not open a file.
func (d Files) NotOpened(c *queue.Command) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	if d.in.mode.Starting == c {
		d.in.mode.Starting = nil
	}
}

// FileClosed notes that the files of all parts up to part are closed.
func (d Files) FileClosed(part int) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.closedParts = part + 1
}

// ReleaseLatched releases the latched messages of a FileStart.
func (d Files) ReleaseLatched(all []*latch.Message) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.latched.Release(all)
}

// RepeatedInFile counts latched messages that were repeated in the file of part.
func (d Files) RepeatedInFile(c *chunk.Sealed, part int) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.accounts.Repeated(c)
	d.in.rotation.Repeated(part, int64(len(c.Record)))
}

// OpenReport returns the connection of the account of losses.
func (d Files) OpenReport(topic string, typ OwnType) *rosbag.Connection {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.reported == nil {
		in.reported = in.openOwnLocked(topic, typ, true).connection
	}
	return in.reported.Conn()
}

// OwnWritten counts a message of the recorder's own, with so many bytes of payload, that the sink has written as a chunk to
// the file of part.
func (d Files) OwnWritten(conn *rosbag.Connection, c *chunk.Sealed, bytes, part int) {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if of := in.accounts.Of(conn); of != nil {
		in.countRecordedLocked(of.Topic(), 1, uint64(bytes))
	}
	in.accounts.Written(c, part)
	in.rotation.Written(in.rotation.Part(), 0, int64(len(c.Record)), in.cfg.Encoder.Compresses())
}
