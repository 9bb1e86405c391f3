package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// sealLimit returns the length beyond which the open chunk is sealed: the chunk size,
// or less where the file has its size before. mu is held.
func (in *intake) sealLimit() int {
	left := in.rotation.Left()
	if in.encoder.Compresses() {
		left = max(left, int64(in.pool.ChunkBytes)/8) // an estimate: not worth many small chunks
	}
	return int(max(min(int64(in.pool.ChunkBytes), left), 0))
}

// checkSize ends the file that has its size. mu is held.
func (in *intake) checkSize(now time.Time) {
	switch {
	case in.rotation.Left() >= 0:
	case in.rotation.Splits():
		in.nextFile(now)
	case !in.atSizeLimit:
		in.atSizeLimit = true
		in.room.Broadcast()
		in.filled <- struct{}{} // has room for the only one
	}
}

// fileStart is where in the queue a file begins, and with what.
type fileStart struct {
	at      time.Time
	stamp   bagfmt.Time // of the latched messages
	part    int
	latched []pinned
	missed  []pinned // of these, what came while nothing was recorded
	resumed bool     // it is no file that begins: recording goes on, and missed is all there is
}

// passed returns the time that the rotation goes by. mu is held.
func (in *intake) passed(now time.Time) time.Time {
	in.rotation.SetBack(in.sim.GoneBack())
	return in.sim.Steady(now)
}

// rotateIfDue begins the next file, and ends a snapshot, where that is due. mu is held.
func (in *intake) rotateIfDue(now time.Time) {
	if in.rotation.Due(in.sim.Steady(now)) {
		in.nextFile(now)
	}
	if in.ring.due(now) {
		in.endSnapshot()
	}
}

// nextFile begins the next file where a limit of the present one is reached, but not
// while nothing is recorded: the first message afterwards will. mu is held.
func (in *intake) nextFile(now time.Time) {
	if in.state == StateRecording && !in.ended && !in.atSizeLimit {
		in.rotate(now)
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
func (in *intake) fileStart(now time.Time, want func(*source) bool) *fileStart {
	o := &fileStart{at: now, stamp: bagfmt.TimeOf(in.sim.At(now)), part: in.rotation.Part(), latched: in.pinLatched(want)}
	for _, l := range o.latched {
		if l.missed {
			o.missed = append(o.missed, l)
		}
	}
	for _, c := range in.connections.all {
		c.missed = false
	}
	return o
}

// rotate makes all messages from now on go into the next file. The writer opens it
// when it has written what is queued. mu is held.
func (in *intake) rotate(now time.Time) *command {
	now = later(now, in.latest)
	in.sealOpen()
	in.rotation.Advance(in.passed(now))
	in.freshRecords()
	return in.enqueue(&command{kind: commandRotate, start: in.fileStart(now, nil)})
}

// freshRecords makes the intake write connection records anew. mu is held.
func (in *intake) freshRecords() {
	in.records = new(bagfmt.ConnRecords)
	if in.open != nil { // it is empty
		in.open.Builder.Reset(in.records)
		in.sealAt = in.sealLimit()
	}
}

// written accounts for a chunk that takes so many bytes in the file of part.
func (in *intake) written(c *memory.Chunk, bytes int64, part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, n := range c.Sealed.Counts {
		if of := in.connections.of(n.Conn); of != nil {
			of.written = part + 1 // after a failover it is another file than the intake meant
			of.topic.written.add(tally{uint64(n.Count), c.Sealed.PayloadBytes[i]})
		}
	}
	in.rotation.Written(c.Part, c.Cost, bytes, in.encoder.Compresses())
}

// failover makes all that comes from now on go into another file, which the sink has
// opened after a fault, and returns how that begins.
func (in *intake) failover(now time.Time) *fileStart {
	in.mu.Lock()
	defer in.mu.Unlock()
	now = later(now, in.latest)
	in.sealOpen()
	in.rotation.NextPart(in.passed(now))
	in.freshRecords()
	return in.fileStart(now, nil)
}

// fileOpened begins to record into the file that command c has opened, and returns how that
// begins.
func (in *intake) fileOpened(c *command, now time.Time) *fileStart {
	in.mu.Lock()
	defer in.mu.Unlock()
	now = later(now, in.latest)
	in.rotation.Restart(in.passed(now))
	in.freshRecords()
	next := in.fileStart(now, nil)
	if in.starting == c { // and not stopped again; then that command ends the file
		in.starting = nil
		in.begun = in.sim.Steady(now)
		in.enter(StateRecording)
	}
	return next
}

// notOpened notes that command c could not open a file.
func (in *intake) notOpened(c *command) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.starting == c {
		in.starting = nil
	}
}

// fileClosed notes that the files up to that of part are closed.
func (in *intake) fileClosed(part int) { in.closedParts.Store(int64(part) + 1) }
