package recorder

import (
	"cmp"
	"errors"
	"math"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// parts knows when the intake goes on to the next file. It is guarded by
// pipeline.mu; all its times but the wall clock's are monotonic, so that a clock
// that is set does not make a thousand files.
type parts struct {
	split    bool          // go on in a next file; otherwise end
	maxBytes int64         // zero means no limit
	every    time.Duration // zero means no limit
	at       time.Duration // also at its multiples on the local clock; zero means never

	number int       // of the file that the intake fills, from 0; -1 before the first start
	grid   time.Time // end of the interval of every; the grid is fixed, as in stock
	slot   int64     // which multiple of at this file belongs to
	turn   time.Time // when the next multiple of at begins
	next   time.Time // when the next file begins; zero means never

	stored int64 // bytes of this file that are written
	flying int64 // handed on and not written, before compression
	built  int64 // of the chunks written lately, before compression
	packed int64 // and after
}

func newParts(o Options, now time.Time) parts {
	s := parts{split: o.Split, maxBytes: o.MaxBytes}
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
func local(now time.Time) time.Duration {
	_, offset := now.Zone()
	return time.Duration(now.UnixNano()) + time.Duration(offset)*time.Second
}

func (s *parts) slotAt(now time.Time) int64 { return int64(local(now) / s.at) }

// schedule finds the earliest end of the file. For the wall clock it is called every
// now and then: that clock may be set. A clock that goes back a little does not end
// a file again; one that goes back far is followed from then on.
func (s *parts) schedule(now time.Time) {
	s.next = s.grid
	if s.at == 0 {
		return
	}
	if slot := s.slotAt(now); slot < s.slot-1 {
		s.slot = slot
	}
	s.turn = now.Add(time.Duration(s.slot+1)*s.at - local(now))
	if s.next.IsZero() || s.turn.Before(s.next) {
		s.next = s.turn
	}
}

// due reports whether what was received at now belongs into the next file.
func (s *parts) due(now time.Time) bool { return !s.next.IsZero() && !now.Before(s.next) }

// advance makes the part that now belongs to the present one. Intervals that were
// missed, by a process that was stopped, make no files.
func (s *parts) advance(now time.Time) {
	s.number++
	s.stored, s.flying = 0, 0
	if s.every > 0 && !now.Before(s.grid) {
		late := now.Sub(s.grid)
		s.grid = s.grid.Add(late - late%s.every + s.every)
	}
	if s.at > 0 && !now.Before(s.turn) {
		s.slot = max(s.slot+1, s.slotAt(now))
	}
	s.schedule(now)
}

// restart makes the part that begins now the present one, after a stop: the grid of
// every begins anew.
func (s *parts) restart(now time.Time) {
	s.number++
	s.stored, s.flying = 0, 0
	if s.every > 0 {
		s.grid = now.Add(s.every)
	}
	if s.at > 0 {
		s.slot = s.slotAt(now)
	}
	s.schedule(now)
}

// scale estimates what n bytes of chunks become in the file.
func (s *parts) scale(n int64) int64 {
	if s.built == 0 {
		return n
	}
	return int64(float64(n) * float64(s.packed) / float64(s.built))
}

// left returns how many bytes of chunks still fit into the file, about: the chunks
// that are being compressed are estimated.
func (s *parts) left() int64 {
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

// fillTo returns the length beyond which the open chunk is sealed: the chunk size,
// or less where the file has its size before. mu is held.
func (p *pipeline) fillTo() int {
	left := p.parts.left()
	if p.squeeze != nil {
		left = max(left, int64(p.chunkBytes)/8) // an estimate: not worth many small chunks
	}
	return int(max(min(int64(p.chunkBytes), left), 0))
}

// checkSize ends the file that has its size. mu is held.
func (p *pipeline) checkSize(now time.Time) {
	switch {
	case p.parts.left() >= 0:
	case p.parts.split:
		p.nextFile(now)
	case !p.full:
		p.full = true
		p.room.Broadcast()
		p.filled <- struct{}{} // has room for the only one
	}
}

// opening is where in the queue the next file begins.
type opening struct {
	at      time.Time
	stamp   bagfmt.Time // of the latched messages
	part    int
	latched []pinned
}

// nextFile begins the next file where a limit of the present one is reached, but not
// while nothing is recorded: the first message afterwards will. mu is held.
func (p *pipeline) nextFile(now time.Time) {
	if p.state == StateRecording && !p.ended && !p.full {
		p.split(now)
	}
}

// opening returns how a file, or what follows a pause, begins now, with the latched
// messages of all connections or of those that want says. mu is held.
func (p *pipeline) opening(now time.Time, want func(*connection) bool) *opening {
	o := &opening{at: now, stamp: bagfmt.TimeOf(p.sim.at(now)), part: p.parts.number, latched: p.pinLatched(want)}
	for _, c := range p.conns {
		c.missed = false
	}
	return o
}

// split makes all that comes from now on go into the next file. The writer opens it
// when it has written what is queued. mu is held.
func (p *pipeline) split(now time.Time) *errand {
	p.sealOpen()
	p.parts.advance(p.sim.at(now))
	p.freshRecords()
	next := p.opening(now, nil)
	return p.send(func(e *errand) error { return p.changeFile(e, next) })
}

// freshRecords makes the intake write connection records anew. mu is held.
func (p *pipeline) freshRecords() {
	p.records = new(bagfmt.ConnRecords)
	if p.open != nil { // it is empty
		p.open.builder.Reset(p.records)
		p.fill = p.fillTo()
	}
}

// written accounts for a chunk that is in the file.
func (p *pipeline) written(c *chunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := int64(len(c.sealed.Record))
	p.stored += n
	p.ladder.stored[c.sealed.Compression]++
	if p.newest.Before(c.sealed.End) {
		p.newest = c.sealed.End
	}
	for _, m := range c.sealed.Counts {
		p.out.messages[m.Conn.ID] += uint64(m.Count)
		p.conns[m.Conn.ID].topic.written += uint64(m.Count)
	}
	if p.squeeze != nil {
		p.parts.built += c.cost - p.parts.built/4 // the last few chunks say most
		p.parts.packed += n - p.parts.packed/4
	}
	if c.part == p.parts.number {
		p.parts.flying -= c.cost
		p.parts.stored += n
	}
}

// changeFile opens the next file and leaves the old one to the closer, so that what
// is queued does not wait for the disk. A next file that cannot be had costs
// nothing: the old one goes on. It is an errand.
func (p *pipeline) changeFile(e *errand, next *opening) error {
	if p.err != nil || p.hurried() {
		p.unpin(next.latched)
		return ErrNotRecording
	}
	old := p.out
	if p.lowDisk(time.Now()) {
		p.unpin(next.latched)
		return ErrMinSpace
	}
	start := time.Now()
	defer func() { p.outputs.stall.split(start) }()
	if err := p.openNext(next.at); err != nil {
		p.unpin(next.latched)
		p.log.Error("no next file: the recording goes on in the old one", zap.String("file", old.target), zap.Error(err))
		return err
	}
	e.file = old
	p.repeat(next)
	return nil
}

// openNext replaces the file that is written.
func (p *pipeline) openNext(at time.Time) error {
	out, err := p.outputs.create(at)
	if err != nil {
		return err
	}
	old := p.out
	p.mu.Lock()
	p.out = out
	p.mu.Unlock()
	p.opened(out)
	p.closing <- old
	return nil
}

// opened tells of a file that is written from now on.
func (p *pipeline) opened(b *bagFile) {
	p.log.Info("Recording to", zap.String("file", b.target))
	p.retain.begin(b)
	p.handover.Begun(b.target)
	p.onChange()
	if p.onOpen != nil {
		p.onOpen(b.target)
	}
}

// put writes a chunk. After a fault that is not a full disk, of this write or of a
// sync before it, the recording goes on in a new file, once.
func (p *pipeline) put(c *bagfmt.SealedChunk) error {
	if p.out.unsafe() {
		return p.move(c, errUnsafe)
	}
	if gone := p.out.lookGone(time.Now()); gone != nil {
		return p.move(c, gone)
	}
	if err := p.out.write(c); err != nil && !diskFull(err) {
		return p.move(c, err)
	} else if err != nil {
		return err
	}
	if p.out.mode == SyncChunk {
		p.sync(p.out)
	}
	return nil
}

// move goes on in a new file with c, after a fault of the disk only once. It returns
// fault if that is not possible.
func (p *pipeline) move(c *bagfmt.SealedChunk, fault error) error {
	old, gone := p.out, errors.Is(fault, errMoved) || errors.Is(fault, errDeleted)
	if p.moved && !gone {
		return fault
	}
	p.moved = p.moved || !gone
	if err := p.openNext(time.Now()); err != nil {
		p.log.Error("no new file after the fault", zap.Error(err))
		return fault
	}
	say := p.log.Error
	if errors.Is(fault, errMoved) {
		say = p.log.Warn // nothing is lost
	}
	say("the recording goes on in a new file", zap.String("file", old.target), zap.String("next", p.out.target), zap.NamedError("because", fault))
	next := &opening{at: time.Now(), stamp: bagfmt.TimeOf(p.sim.at(time.Now()))}
	p.mu.Lock()
	if !gone && !errors.Is(fault, errUnsafe) { // those the file itself returns when it is closed
		p.faults = append(p.faults, fault)
	}
	p.sealOpen()
	p.parts.number++
	p.parts.stored, p.parts.flying = 0, 0
	p.freshRecords()
	next.part, next.latched = p.parts.number, p.pinLatched(nil)
	p.mu.Unlock()
	err := p.repeatLatched(next)
	p.unpin(next.latched)
	if err == nil {
		err = p.out.write(c)
	}
	return err
}

var errUnsafe = errors.New("a sync has failed")

// diskFull reports whether err says that there is no room: another file on the same
// disk would have none either.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// closeFiles closes files beside the writing of the next.
func (p *pipeline) closeFiles() {
	for b := range p.closing {
		err := b.finish()
		if errors.Is(b.away, errDeleted) {
			p.recount(b)
		}
		p.mu.Lock()
		p.done = append(p.done, b)
		if err != nil {
			p.faults = append(p.faults, err)
		}
		p.mu.Unlock()
		switch {
		case err != nil:
			p.log.Error("file not closed well", zap.Error(err))
		case b.away != nil:
			p.log.Warn("Closing", zap.NamedError("file", b.away))
		default:
			p.log.Info("Closing", zap.String("file", b.target))
		}
		if err == nil && b.away == nil {
			p.handover.Finished(b.target, b.end)
		}
		if err == nil && b.away == nil && !b.last && !b.snapshot { // as in stock, the last file counts as the open one
			p.retain.add(b, time.Now())
		}
		b.fault, b.ended = cmp.Or(err, b.away), time.Now()
		close(b.finished)
	}
}
