package recorder

import (
	"math"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// rotation knows when the intake goes on to the next file. It is guarded by
// intake.mu; all its times are of a clock that does not go back, simClock.steady, so that a
// clock that is set neither makes a thousand files nor ends none.
type rotation struct {
	split    bool          // go on in a next file; otherwise end
	maxBytes int64         // zero means no limit
	every    time.Duration // zero means no limit
	at       time.Duration // also at its multiples on the local clock; zero means never
	back     time.Duration // how far the local clock is behind these times

	number  int       // of the file that the intake fills, from 0; -1 before the first start
	begun   time.Time // when that file began
	grid    time.Time // end of the interval of every; the grid is fixed, as in stock
	slot    int64     // which multiple of at this file belongs to
	slotEnd time.Time // when the next multiple of at begins
	next    time.Time // when the next file begins; zero means never

	stored int64 // bytes of this file that are written
	flying int64 // handed on and not written, before compression
	built  int64 // of the chunks written lately, before compression
	packed int64 // and after
}

func newRotation(o Options, now time.Time, back time.Duration) rotation {
	s := rotation{split: o.Split, maxBytes: o.MaxBytes, back: back, begun: now}
	if o.Begin == StateStopped {
		s.number = -1
	}
	if o.Split && o.Duration > 0 {
		s.every = o.Duration
		s.grid = now.Add(s.every)
	}
	if o.Split && o.SplitAt > 0 {
		s.at = o.SplitAt
		s.slot = s.slotAt(now)
	}
	s.schedule(now)
	return s
}

// local returns the time on the wall since 1970 in the local zone, so that hours and
// days begin where people expect them.
func (s *rotation) local(now time.Time) time.Duration {
	_, offset := now.Zone()
	return time.Duration(now.UnixNano()) - s.back + time.Duration(offset)*time.Second
}

func (s *rotation) slotAt(now time.Time) int64 { return int64(s.local(now) / s.at) }

// schedule finds the earliest end of the file. For the wall clock it is called every
// now and then: that clock may be set. A clock that goes back a little does not end
// a file again; one that goes back far is followed from then on.
func (s *rotation) schedule(now time.Time) {
	s.next = s.grid
	if s.at == 0 {
		return
	}
	if slot := s.slotAt(now); slot < s.slot-1 {
		s.slot = slot
	}
	s.slotEnd = now.Add(time.Duration(s.slot+1)*s.at - s.local(now))
	if s.next.IsZero() || s.slotEnd.Before(s.next) {
		s.next = s.slotEnd
	}
}

// due reports whether what was received at now belongs into the next file.
func (s *rotation) due(now time.Time) bool { return !s.next.IsZero() && !now.Before(s.next) }

// nextPart counts a part that begins now.
func (s *rotation) nextPart(now time.Time) {
	s.number++
	s.begun = now
	s.stored, s.flying = 0, 0
}

// advance makes the part that now belongs to the present one. Intervals that were
// missed, by a process that was stopped, make no files.
func (s *rotation) advance(now time.Time) {
	s.nextPart(now)
	if s.every > 0 && !now.Before(s.grid) {
		late := now.Sub(s.grid)
		s.grid = s.grid.Add(late - late%s.every + s.every)
	}
	if s.at > 0 && !now.Before(s.slotEnd) {
		s.slot = max(s.slot+1, s.slotAt(now))
	}
	s.schedule(now)
}

// restart makes the part that begins now the present one, after a stop: the grid of
// every begins anew.
func (s *rotation) restart(now time.Time) {
	s.nextPart(now)
	if s.every > 0 {
		s.grid = now.Add(s.every)
	}
	if s.at > 0 {
		s.slot = s.slotAt(now)
	}
	s.schedule(now)
}

// scale estimates what n bytes of chunks become in the file.
func (s *rotation) scale(n int64) int64 {
	if s.built == 0 {
		return n
	}
	return int64(float64(n) * float64(s.packed) / float64(s.built))
}

// left returns how many bytes of chunks still fit into the file, about: the chunks
// that are being compressed are estimated.
func (s *rotation) left() int64 {
	if s.maxBytes == 0 {
		return math.MaxInt64
	}
	left := s.maxBytes - s.stored - s.scale(s.flying)
	if s.built == 0 || s.packed == 0 {
		return left
	}
	return int64(float64(left) * float64(s.built) / float64(s.packed))
}

// chunkCost is what a chunk and its index take in the file without compression.
func chunkCost(b *bagfmt.ChunkBuilder) int64 {
	const indexEntry, headers = 12, 160
	return int64(b.Len()) + indexEntry*int64(b.Messages()) + headers
}

// sealLimit returns the length beyond which the open chunk is sealed: the chunk size,
// or less where the file has its size before. mu is held.
func (in *intake) sealLimit() int {
	left := in.rotation.left()
	if in.encoder.compresses() {
		left = max(left, int64(in.chunkBytes)/8) // an estimate: not worth many small chunks
	}
	return int(max(min(int64(in.chunkBytes), left), 0))
}

// checkSize ends the file that has its size. mu is held.
func (in *intake) checkSize(now time.Time) {
	switch {
	case in.rotation.left() >= 0:
	case in.rotation.split:
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
	in.rotation.back = in.sim.goneBack()
	return in.sim.steady(now)
}

// rotateIfDue begins the next file, and ends a snapshot, where that is due. mu is held.
func (in *intake) rotateIfDue(now time.Time) {
	if in.rotation.due(in.sim.steady(now)) {
		in.nextFile(now)
	}
	if in.snaps.due(now) {
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
func (in *intake) fileStart(now time.Time, want func(*connection) bool) *fileStart {
	o := &fileStart{at: now, stamp: bagfmt.TimeOf(in.sim.at(now)), part: in.rotation.number, latched: in.pinLatched(want)}
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
	in.rotation.advance(in.passed(now))
	in.freshRecords()
	return in.enqueue(&command{kind: commandRotate, start: in.fileStart(now, nil)})
}

// freshRecords makes the intake write connection records anew. mu is held.
func (in *intake) freshRecords() {
	in.records = new(bagfmt.ConnRecords)
	if in.open != nil { // it is empty
		in.open.builder.Reset(in.records)
		in.sealAt = in.sealLimit()
	}
}

// written accounts for a chunk that takes so many bytes in the file of part.
func (in *intake) written(c *chunk, bytes int64, part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range c.usage { // after a failover it is another file than the intake meant
		c.usage[i].connection.written = part + 1
	}
	if in.encoder.compresses() {
		in.rotation.built += c.cost - in.rotation.built/4 // the last few chunks say most
		in.rotation.packed += bytes - in.rotation.packed/4
	}
	if c.part == in.rotation.number {
		in.rotation.flying -= c.cost
		in.rotation.stored += bytes
	}
}

// failover makes all that comes from now on go into another file, which the sink has
// opened after a fault, and returns how that begins.
func (in *intake) failover(now time.Time) *fileStart {
	in.mu.Lock()
	defer in.mu.Unlock()
	now = later(now, in.latest)
	in.sealOpen()
	in.rotation.nextPart(in.passed(now))
	in.freshRecords()
	return in.fileStart(now, nil)
}

// fileOpened begins to record into the file that command c has opened, and returns how that
// begins.
func (in *intake) fileOpened(c *command, now time.Time) *fileStart {
	in.mu.Lock()
	defer in.mu.Unlock()
	now = later(now, in.latest)
	in.rotation.restart(in.passed(now))
	in.freshRecords()
	next := in.fileStart(now, nil)
	if in.starting == c { // and not stopped again; then that command ends the file
		in.starting = nil
		in.begun = in.sim.steady(now)
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
