package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Next waits for the next chunk or command. ok is false when the intake is closed and the queue is empty.
func (in *Intake) Next() (item queue.Item, ok bool) { return in.queue.Take() }

// FileFailed ends the intake: no file can be written.
func (in *Intake) FileFailed() {
	in.mu.Lock()
	in.mode.Ended = true
	in.mu.Unlock()
	in.room.Broadcast()
}

// Written counts a chunk that is in the file of part: the number with which the file began, or the last
// one that it has taken over.
func (in *Intake) Written(c *memory.Chunk, part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.Accounts.all.Written(c.Sealed(), part) // after a failover, part is not c.Part
	in.rotation.Written(c.Part(), c.Cost(), int64(len(c.Sealed().Record)), in.cfg.Encoder.Compresses())
}

// Failover makes all messages from now on go into another file, which the sink has opened after a fault. It
// returns how the file begins.
func (in *Intake) Failover(now time.Time) *queue.FileStart {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.endFileLocked(false)
	return in.beginFileLocked(now, in.rotation.NextPart)
}

// FileOpened begins to record into the file that command c has opened, and returns how the file begins.
func (in *Intake) FileOpened(c *queue.Command, now time.Time) *queue.FileStart {
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
func (in *Intake) NotOpened(c *queue.Command) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Starting == c {
		in.mode.Starting = nil
	}
}

// RepeatedInFile counts latched messages that were repeated in the file of part.
func (in *Intake) RepeatedInFile(c *chunk.Sealed, part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.Accounts.all.Repeated(c)
	in.rotation.Repeated(part, int64(len(c.Record)))
}

// OpenReport returns the connection of the account of losses.
func (in *Intake) OpenReport(topic string, typ OwnType) *rosbag.Connection {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.reported == nil {
		in.reported = in.openOwnLocked(topic, typ, true).connection
	}
	return in.reported.Conn()
}

// OwnWritten counts a message of the recorder's own, with so many bytes of payload, that the sink has
// written as a chunk to the file of part.
func (in *Intake) OwnWritten(conn *rosbag.Connection, c *chunk.Sealed, bytes, part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if of := in.Accounts.all.Of(conn); of != nil {
		in.countRecordedLocked(of.Topic(), 1, uint64(bytes))
	}
	in.Accounts.all.Written(c, part)
	in.rotation.Written(in.rotation.Part(), 0, int64(len(c.Record)), in.cfg.Encoder.Compresses())
}
