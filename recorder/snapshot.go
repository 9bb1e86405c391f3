package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// SnapshotMode says whether the latest messages are kept ready in memory, for a
// snapshot to begin with.
type SnapshotMode int

// The zero value records and keeps nothing ready.
const (
	SnapshotOff    SnapshotMode = iota
	SnapshotOnly                // no bag is written but those of snapshots, as with stock's --snapshot
	SnapshotBeside              // beside an ordinary recording
)

// Snapshot says what the bag of a snapshot holds. No message is in two of them, but for
// latched ones: a snapshot that is taken soon after another begins where that ended.
type Snapshot struct {
	Mode     SnapshotMode
	PreRoll  time.Duration // what came before the trigger; zero means as much as Bytes hold
	Bytes    int64         // of memory for that, at most three quarters of the buffer; zero means those
	PostRoll time.Duration // what comes after the trigger, too. A trigger meanwhile prolongs it
}

// ErrNoSnapshots means that the recording keeps nothing ready for a snapshot.
var ErrNoSnapshots = errors.New("recorder: no snapshots are kept ready: the recording was not started for them")

// ErrOnlySnapshots means that there is no bag but those of snapshots.
var ErrOnlySnapshots = errors.New("recorder: only snapshots are written: there is no bag to split")

// withDefaults checks the options. buffer is the bound of all memory, negative for none.
func (s Snapshot) withDefaults(o *Options, buffer int64) (Snapshot, error) {
	switch most := buffer / 4 * 3; {
	case s.Mode == SnapshotOff && s != Snapshot{}:
		return s, errors.New("recorder: options of snapshots without snapshots")
	case s.Mode == SnapshotOff:
	case s.PreRoll < 0 || s.Bytes < 0 || s.PostRoll < 0:
		return s, errors.New("recorder: a size or time of snapshots is negative")
	case s.Mode == SnapshotOnly && (o.Split || o.MaxBytes > 0 || o.Limit > 0):
		return s, errors.New("recorder: where only snapshots are written there is no bag to split or to end")
	case buffer < 0 && s.Bytes == 0:
		return s, errors.New("recorder: without a bound of the buffer the memory for snapshots needs one of its own")
	case s.Bytes == 0:
		s.Bytes = most
	case buffer >= 0 && s.Bytes > most:
		return s, fmt.Errorf("recorder: %d bytes for snapshots do not fit into three quarters of a buffer of %d: give it at least %d", s.Bytes, buffer, (s.Bytes+2)/3*4)
	}
	return s, nil
}

// snapshots keeps the ring and knows of the snapshot that is being taken:
//
//	recording -> writer -> ring -> (trigger) -> the goroutine that writes snapshots
//	                    \-> (post-roll) ------/
//
// A chunk belongs to one of them. nil means that there are no snapshots.
type snapshots struct {
	Snapshot
	outputs  *outputs
	starting sync.Mutex // of one snapshot at a time; guards outputs

	ring    ring      // this and the following are guarded by pipeline.mu
	current *snapshot // whose post-roll goes on
	until   time.Time // when that ends
	asked   int       // snapshots that the ring was not handed over to yet
	taken   int
	warned  bool // that memory is short

	pack   *bagfmt.Compressor // owned by writeSnapshots
	taking *snapshot          // what sealed chunks go into; owned by the writer
	queue  *fifo[func()]      // what is to be done to files of snapshots
	writer sync.WaitGroup
}

// snapshot is one that is being taken. What is not said to be another's belongs to the
// goroutine that writes it.
type snapshot struct {
	out     *bagFile
	at      time.Time            // of the trigger
	from    time.Time            // what came before is not wanted; zero means all is
	latched []pinned             // the state at the trigger
	conns   []*bagfmt.Connection // whose records may be needed at the beginning
	rooted  bool                 // those have been written

	messages, missing uint64
	err               error
}

// startSnapshots prepares for snapshots.
func (p *pipeline) startSnapshots(o *Options) {
	if o.Snapshot.Mode == SnapshotOff {
		return
	}
	p.snaps = &snapshots{
		Snapshot: o.Snapshot,
		outputs:  p.outputs.ofSnapshots(o.Snapshot.Mode == SnapshotBeside),
		ring:     ring{most: o.Snapshot.Bytes, window: o.Snapshot.PreRoll},
		queue:    newFIFO[func()](),
	}
	// owner: close; ends when the queue is closed and empty.
	p.snaps.writer.Go(p.writeSnapshots)
}

// close waits until all snapshots are written, and those that come too late are given up.
func (s *snapshots) close() {
	if s == nil {
		return
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	s.queue.close()
	s.writer.Wait()
}

// only reports whether nothing is written but snapshots.
func (s *snapshots) only() bool { return s != nil && s.Mode == SnapshotOnly }

// due reports whether what was received at now comes after the post-roll.
func (s *snapshots) due(now time.Time) bool {
	return s != nil && s.current != nil && !now.Before(s.until)
}

// Snapshot writes a bag with what Options.Snapshot asks for, and returns its name when
// it is closed, after the post-roll. A snapshot that is being taken then is prolonged
// instead. The end of ctx ends the waiting, not the snapshot. The error may be
// ErrNotRecording or ErrNoSnapshots.
func (c *Control) Snapshot(ctx context.Context) (file string, err error) {
	r, err := c.reach()
	if err != nil {
		return "", err
	}
	type beginning struct {
		*snapshot
		err error
	}
	began, now := make(chan beginning, 1), time.Now()
	// owner: Snapshot; if that gives up before the disk has answered, the end of Run waits for it.
	go func() {
		sn, err := r.pipe.snapshot(now)
		began <- beginning{sn, err}
	}()
	var sn beginning
	select {
	case sn = <-began:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if sn.err != nil {
		return "", sn.err
	}
	select {
	case <-sn.out.finished:
		return sn.out.sealed, errors.Join(sn.snapshot.err, sn.out.fault)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// snapshot begins a snapshot, or prolongs the one whose post-roll goes on.
func (p *pipeline) snapshot(now time.Time) (*snapshot, error) {
	s := p.snaps
	if s == nil {
		return nil, ErrNoSnapshots
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	if sn, err := p.prolong(now); sn != nil || err != nil {
		return sn, err
	}
	if err := p.disk.short(); err != nil {
		return nil, err
	}
	out, err := s.outputs.create(now)
	if err != nil {
		return nil, err
	}
	out.snapshot = true
	sn := &snapshot{out: out, at: now}
	if s.PreRoll > 0 {
		sn.from = now.Add(-s.PreRoll)
	}
	if !p.beginSnapshot(sn) {
		return nil, errors.Join(ErrNotRecording, out.discard())
	}
	p.log.Info("Triggered snapshot recording with name '" + out.target + "'.")
	p.handover.Begun(out.target)
	if p.onOpen != nil {
		p.onOpen(out.target)
	}
	return sn, nil
}

// prolong moves the end of a post-roll that goes on.
func (p *pipeline) prolong(now time.Time) (*snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.snaps
	if p.ended {
		return nil, ErrNotRecording
	}
	if s.due(now) {
		p.endSnapshot()
	}
	if end := now.Add(s.PostRoll); s.current != nil && end.After(s.until) {
		s.until = end
	}
	return s.current, nil
}

// beginSnapshot makes all that was received until now, and the post-roll, part of sn.
// It reports whether the recording still goes on.
func (p *pipeline) beginSnapshot(sn *snapshot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.sealOpen()
	s := p.snaps
	sn.latched = p.pinLatched(nil)
	s.taken++
	s.asked++
	p.send(func(*errand) error {
		p.takeRing(sn)
		return nil
	})
	s.current, s.until = sn, sn.at.Add(s.PostRoll)
	if s.PostRoll == 0 {
		p.endSnapshot()
		return true
	}
	for _, c := range p.conns {
		if c.stored > 0 { // its record may be in a chunk that has gone
			sn.conns = append(sn.conns, c.conn)
		}
	}
	return true
}

// takeRing hands the ring over. It is an errand.
func (p *pipeline) takeRing(sn *snapshot) {
	s := p.snaps
	p.mu.Lock()
	p.expire(sn.at)
	chunks := s.ring.takeAll()
	s.asked--
	p.mu.Unlock()
	p.room.Broadcast()
	s.taking = sn
	s.queue.put(func() { p.openSnapshot(sn, chunks) })
}

// endSnapshot ends the one that is being taken, if there is one, with what was received
// until now. mu is held.
func (p *pipeline) endSnapshot() {
	s := p.snaps
	if s == nil || s.current == nil {
		return
	}
	sn := s.current
	s.current = nil
	p.sealOpen()
	p.send(func(*errand) error {
		s.taking = nil
		s.queue.put(func() { p.closeSnapshot(sn) })
		return nil
	})
}

// keep takes a chunk that the recording is done with, for a snapshot or to use its
// buffer again. The writer calls it.
func (p *pipeline) keep(c *chunk) {
	s := p.snaps
	if s != nil && c.sealed == nil {
		c.seal(nil) // a compressor has failed, or skipped it
	}
	if s == nil || c.sealed == nil {
		p.release(c)
		return
	}
	rc := p.hold(c)
	if sn := s.taking; sn != nil {
		s.queue.put(func() { p.addToSnapshot(sn, rc) })
		return
	}
	p.mu.Lock()
	p.keepInRing(rc)
	p.mu.Unlock()
	p.room.Broadcast()
}

// warnShort says once that memory does not reach as far back as was asked for, and
// again if it did meanwhile.
func (p *pipeline) warnShort(now time.Time) {
	s := p.snaps
	if s == nil || s.PreRoll == 0 {
		return
	}
	p.mu.Lock()
	reach := s.ring.reach(now)
	short := s.ring.short && !s.warned
	s.ring.short = false
	s.warned = (s.warned || short) && reach < s.PreRoll
	p.mu.Unlock()
	if short {
		p.log.Warn("memory does not hold as much as snapshots are to begin with: give more, or compress",
			zap.Duration("wanted", s.PreRoll), zap.Duration("held", reach.Round(time.Millisecond)), zap.Int64("bytes", s.ring.most))
	}
}

// SnapshotStats is a live account of snapshots.
type SnapshotStats struct {
	Mode  SnapshotMode
	Held  time.Duration // how far back a snapshot would reach now
	Bytes int64         // of memory for that
	Most  int64         // and their bound
	Taken int           // snapshots until now
	File  string        // the bag whose post-roll goes on, by its final name; empty for none
}

// snapshotStats makes the account. mu is held.
func (p *pipeline) snapshotStats(now time.Time) SnapshotStats {
	s := p.snaps
	if s == nil {
		return SnapshotStats{}
	}
	stats := SnapshotStats{Mode: s.Mode, Held: s.ring.reach(now), Bytes: s.ring.bytes, Most: s.ring.most, Taken: s.taken}
	if s.PreRoll > 0 {
		stats.Held = min(stats.Held, s.PreRoll)
	}
	if s.current != nil {
		stats.File = s.current.out.target
	}
	return stats
}

// recorded returns the messages of t that are in bags, or about to be. mu is held.
func (p *pipeline) recorded(t *topic) uint64 {
	if p.snaps.only() {
		return t.written
	}
	return t.messages
}
