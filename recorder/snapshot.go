package recorder

import (
	"context"
	"errors"
	"fmt"
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
var ErrNoSnapshots = errors.New("no snapshots are kept ready: record with --snapshot or --snapshot-beside")

// ErrOnlySnapshots means that there is no bag but those of snapshots.
var ErrOnlySnapshots = errors.New("only snapshots are written: there is no bag to split")

// withDefaults checks the options. buffer is the bound of all memory, negative for none.
func (s Snapshot) withDefaults(o *Options, buffer int64) (Snapshot, error) {
	switch most := buffer / 4 * 3; {
	case s.Mode == SnapshotOff && s != Snapshot{}:
		return s, errors.New("options of snapshots without snapshots")
	case s.Mode == SnapshotOff:
	case s.PreRoll < 0 || s.Bytes < 0 || s.PostRoll < 0:
		return s, errors.New("a size or time of snapshots is negative")
	case s.Mode == SnapshotOnly && (o.Split || o.MaxBytes > 0 || o.Limit > 0):
		return s, errors.New("where only snapshots are written there is no bag to split or to end")
	case buffer < 0 && s.Bytes == 0:
		return s, errors.New("without a bound of the buffer the memory for snapshots needs one of its own")
	case s.Bytes == 0:
		s.Bytes = most
	case buffer >= 0 && s.Bytes > most:
		return s, fmt.Errorf("%d bytes for snapshots do not fit into three quarters of a buffer of %d: give it at least %d", s.Bytes, buffer, (s.Bytes+2)/3*4)
	}
	return s, nil
}

// snapshots is the part of snapshots that the intake owns: the ring, and which messages
// belong to the snapshot that is being taken. It is guarded by intake.mu; nil means that
// there are no snapshots.
type snapshots struct {
	Snapshot
	ring       ring
	current    *snapshot // whose post-roll goes on
	until      time.Time // when that ends
	pending    int       // snapshots that do not have the ring yet
	requested  time.Time // by the first trigger of a snapshot that waits for its turn; zero for none
	taken      int
	unfinished int  // snapshots whose file is not complete
	warned     bool // that memory is short
}

// snapshot is one that is being taken. The goroutine that writes it owns all fields
// that are not marked otherwise.
type snapshot struct {
	out    *bagFile
	at     time.Time            // of the trigger
	last   time.Time            // of the last one that came before it began
	from   time.Time            // what came before is not wanted; zero means all is
	state  snapshotState        // what is latched where it begins
	conns  []*bagfmt.Connection // whose records may be needed at the beginning
	rooted bool                 // those have been written

	messages, missing uint64
	err               error
}

// only reports whether nothing is written but snapshots.
func (s *snapshots) only() bool { return s != nil && s.Mode == SnapshotOnly }

// writing reports whether a snapshot is not complete. mu is held.
func (s *snapshots) writing() bool { return s != nil && s.unfinished > 0 }

// due reports whether what was received at now comes after the post-roll.
func (s *snapshots) due(now time.Time) bool {
	return s != nil && s.current != nil && !now.Before(s.until)
}

// Snapshot writes a bag with what Options.Snapshot asks for, and returns its name when
// it is closed, after the post-roll. A snapshot that is being taken then is prolonged
// instead. The end of ctx ends the waiting, not the snapshot. The error may be
// ErrNotRecording or ErrNoSnapshots.
func (c *Control) Snapshot(ctx context.Context) (file string, err error) {
	sn, err := c.beginSnapshot(ctx, time.Now())
	if err != nil {
		return "", err
	}
	select {
	case <-sn.out.finished:
		return sn.out.Path(), errors.Join(sn.err, sn.out.fault)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// BeginSnapshot is Snapshot for something that happened at the given time. It returns when the
// snapshot has begun.
func (c *Control) BeginSnapshot(ctx context.Context, at time.Time) error {
	_, err := c.beginSnapshot(ctx, at)
	return err
}

// beginSnapshot begins a snapshot, or prolongs the one that is being taken.
func (c *Control) beginSnapshot(ctx context.Context, at time.Time) (*snapshot, error) {
	r, err := c.reach()
	if err != nil {
		return nil, err
	}
	type beginning struct {
		*snapshot
		err error
	}
	began := make(chan beginning, 1)
	// owner: beginSnapshot; if that gives up before the disk has answered, the end of Run waits for it.
	go func() {
		sn, err := r.pipe.snapshots.trigger(at)
		began <- beginning{sn, err}
	}()
	select {
	case b := <-began:
		return b.snapshot, b.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// prolong moves the end of a post-roll that goes on.
func (in *intake) prolong(now time.Time) (*snapshot, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.snaps
	if in.ended {
		return nil, ErrNotRecording
	}
	if s.due(now) {
		in.endSnapshot()
	}
	if end := now.Add(s.PostRoll); s.current != nil && end.After(s.until) {
		s.until = end
	}
	return s.current, nil
}

// snapshotsTaken returns how many snapshots have begun.
func (in *intake) snapshotsTaken() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.snaps.taken
}

// beginSnapshot makes all that was received until now, and the post-roll, part of sn.
// It reports whether the recording still goes on.
func (in *intake) beginSnapshot(sn *snapshot) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return false
	}
	in.sealOpen()
	s := in.snaps
	if s.PreRoll > 0 {
		sn.from = sn.at.Add(-s.PreRoll)
	}
	sn.state = in.latchedAtTrigger()
	s.requested = time.Time{}
	s.taken++
	s.pending++
	s.unfinished++
	in.enqueue(&command{kind: commandSnapshot, snapshot: sn})
	s.current, s.until = sn, sn.last.Add(s.PostRoll)
	if s.PostRoll == 0 {
		in.endSnapshot()
		return true
	}
	for _, c := range in.connections.all {
		if c.stored > 0 { // its record may be in a chunk that has gone
			sn.conns = append(sn.conns, c.conn)
		}
	}
	return true
}

// requestSnapshot keeps what the ring holds for a snapshot that waits for its turn.
func (in *intake) requestSnapshot(at time.Time) {
	in.mu.Lock()
	if in.snaps.requested.IsZero() {
		in.snaps.requested = at
	}
	in.mu.Unlock()
}

// endRequest ends that.
func (in *intake) endRequest() {
	in.mu.Lock()
	in.snaps.requested = time.Time{}
	in.mu.Unlock()
}

// takeRing gives the ring to a snapshot.
func (in *intake) takeRing(sn *snapshot) []ringChunk {
	in.mu.Lock()
	in.expire(sn.at)
	sn.state.atStart = in.pinStart()
	chunks := in.snaps.ring.takeAll()
	for i := range chunks {
		in.pass(&chunks[i])
	}
	in.snaps.pending--
	in.mu.Unlock()
	in.room.Broadcast()
	return chunks
}

// snapshotClosed notes that the file of a snapshot is complete.
func (in *intake) snapshotClosed() {
	in.mu.Lock()
	in.snaps.unfinished--
	in.mu.Unlock()
}

// endSnapshot ends the one that is being taken, if there is one, with what was received
// until now. mu is held.
func (in *intake) endSnapshot() {
	s := in.snaps
	if s == nil || s.current == nil {
		return
	}
	sn := s.current
	s.current = nil
	in.sealOpen()
	in.enqueue(&command{kind: commandEndSnapshot, snapshot: sn})
}

// warnShort warns once that memory does not reach as far back as was asked for, and
// again if it did meanwhile.
func (in *intake) warnShort(now time.Time) {
	s := in.snaps
	if s == nil || s.PreRoll == 0 {
		return
	}
	in.mu.Lock()
	reach := s.ring.reach(now)
	short := s.ring.short && !s.warned
	s.ring.short = false
	s.warned = (s.warned || short) && reach < s.PreRoll
	in.mu.Unlock()
	if short {
		in.log.Warn("memory does not hold as much as snapshots are to begin with: give more, or compress",
			zap.Duration("wanted", s.PreRoll), zap.Duration("held", reach.Round(time.Millisecond)), zap.Int64("bytes", s.ring.most))
	}
}

// SnapshotStats is a live account of snapshots.
type SnapshotStats struct {
	Mode   SnapshotMode
	Held   time.Duration // how far back a snapshot would reach now
	Bytes  int64         // of memory for that
	Most   int64         // and their bound
	Taken  int           // snapshots until now
	Failed int           // that could not begin
	File   string        // the bag whose post-roll goes on, by its final name; empty for none
}

// snapshotStats makes the account. mu is held.
func (in *intake) snapshotStats(now time.Time) SnapshotStats {
	s := in.snaps
	if s == nil {
		return SnapshotStats{}
	}
	stats := SnapshotStats{Mode: s.Mode, Held: s.ring.reach(now), Bytes: s.ring.bytes, Most: s.ring.most, Taken: s.taken}
	if s.PreRoll > 0 {
		stats.Held = min(stats.Held, s.PreRoll)
	}
	if s.current != nil {
		stats.File = s.current.out.Target()
	}
	return stats
}

// recorded returns what of t is in bags, or about to be. mu is held.
func (in *intake) recorded(t *topic) tally {
	if in.snaps.only() {
		return t.written
	}
	return t.tally
}
