package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// sealLimit returns the length beyond which the open chunk is sealed: the chunk size,
// or less where the file has its size before. mu is held.
func (in *Intake) sealLimit() int {
	left := in.Rotation.Left()
	if in.encoder.Compresses() {
		left = max(left, int64(in.Pool.ChunkBytes)/8) // an estimate: not worth many small chunks
	}
	return int(max(min(int64(in.Pool.ChunkBytes), left), 0))
}

// checkSize ends the file that has its size. mu is held.
func (in *Intake) checkSize(now time.Time) {
	switch {
	case in.Rotation.Left() >= 0:
	case in.Rotation.Splits():
		in.NextFile(now)
	case !in.AtSizeLimit:
		in.AtSizeLimit = true
		in.Room.Broadcast()
		in.Filled <- struct{}{} // has room for the only one
	}
}

// FileStart is where in the queue a file begins, and with what.
type FileStart struct {
	At      time.Time
	Stamp   rosbag.Time // of the latched messages
	Part    int
	Latched []latch.Pinned
	Missed  []latch.Pinned // of these, what came while nothing was recorded
	Resumed bool           // it is no file that begins: recording goes on, and missed is all there is
}

// passed returns the time that the rotation goes by. mu is held.
func (in *Intake) passed(now time.Time) time.Time {
	in.Rotation.SetBack(in.Sim.GoneBack())
	return in.Sim.Steady(now)
}

// rotateIfDue begins the next file, and ends a snapshot, where that is due. mu is held.
func (in *Intake) rotateIfDue(now time.Time) {
	if in.Rotation.Due(in.Sim.Steady(now)) {
		in.NextFile(now)
	}
	if in.Ring.Due(now) {
		in.endSnapshot()
	}
}

// NextFile begins the next file where a limit of the present one is reached, but not
// while nothing is recorded: the first message afterwards will. mu is held.
func (in *Intake) NextFile(now time.Time) {
	if in.State == StateRecording && !in.Ended && !in.AtSizeLimit {
		in.Rotate(now)
	}
}

// later returns the later of two times. Whoever begins a file, and the links, take the time before
// they have the lock: a file must not begin before a message that is in the one before.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// fileStart returns how a file, or what follows a pause, begins now, with the latched
// messages of all connections or of those that want says. mu is held.
func (in *Intake) fileStart(now time.Time, want func(*latch.Source) bool) *FileStart {
	o := &FileStart{At: now, Stamp: rosbag.TimeOf(in.Sim.At(now)), Part: in.Rotation.Part(), Latched: in.PinLatched(want)}
	for _, l := range o.Latched {
		if l.Missed {
			o.Missed = append(o.Missed, l)
		}
	}
	for _, c := range in.Account.Connections.All {
		c.Missed = false
	}
	return o
}

// Rotate makes all messages from now on go into the next file. The writer opens it
// when it has written what is queued. mu is held.
func (in *Intake) Rotate(now time.Time) *Command {
	now = later(now, in.latest)
	in.SealOpen()
	in.Rotation.Advance(in.passed(now))
	in.freshRecords()
	return in.Enqueue(&Command{Kind: CommandRotate, Start: in.fileStart(now, nil)})
}

// freshRecords makes the intake write connection records anew. mu is held.
func (in *Intake) freshRecords() {
	in.records = new(chunk.Records)
	if in.Open != nil { // it is empty
		in.Open.Builder.Reset(in.records)
		in.sealAt = in.sealLimit()
	}
}

// Written accounts for a chunk that takes so many bytes in the file of part.
func (d Files) Written(c *memory.Chunk, bytes int64, part int) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Account.Written(c.Sealed, part) // after a failover it is another file than the intake meant
	in.Rotation.Written(c.Part, c.Cost, bytes, in.encoder.Compresses())
}

// Failover makes all that comes from now on go into another file, which the sink has
// opened after a fault, and returns how that begins.
func (d Files) Failover(now time.Time) *FileStart {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	now = later(now, in.latest)
	in.SealOpen()
	in.Rotation.NextPart(in.passed(now))
	in.freshRecords()
	return in.fileStart(now, nil)
}

// FileOpened begins to record into the file that command c has opened, and returns how that
// begins.
func (d Files) FileOpened(c *Command, now time.Time) *FileStart {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	now = later(now, in.latest)
	in.Rotation.Restart(in.passed(now))
	in.freshRecords()
	next := in.fileStart(now, nil)
	if in.starting == c { // and not stopped again; then that command ends the file
		in.starting = nil
		in.Begun = in.Sim.Steady(now)
		in.enter(StateRecording)
	}
	return next
}

// NotOpened notes that command c could not open a file.
func (d Files) NotOpened(c *Command) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if in.starting == c {
		in.starting = nil
	}
}

// FileClosed notes that the files up to that of part are closed.
func (d Files) FileClosed(part int) {
	in := d.in
	in.closedParts.Store(int64(part) + 1)
}
