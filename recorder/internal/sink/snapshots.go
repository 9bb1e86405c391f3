package sink

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/rosbag"
)

// SnapshotWriter is the part of the sink that writes snapshots, beside the recording:
//
//	sink -> ring -> (trigger) -> its one goroutine, run
//	    \-> (post-roll) --------/
//
// A chunk belongs to one of them. nil means that there are no snapshots.
type SnapshotWriter struct {
	sink    *Sink
	In      intake.Snapshots
	Log     *zap.Logger
	only    bool // nothing is written but snapshots
	Outputs *bagfile.Series
	pack    *chunk.Compressor // owned by run; nil if there is none
	current *Snapshot         // that sealed chunks go into; owned by the sink's goroutine
	queue   *queue.FIFO[snapshotWork]
	writer  sync.WaitGroup

	Limiter *rate.Limiter // of snapshots that begin
	closing chan struct{} // closed: none begins any more

	Starting sync.Mutex // of one snapshot at a time; guards outputs and latest
	latest   *Snapshot  // that was begun

	Mu       sync.Mutex
	Next     *snapshotRequest // that waits for its turn; nil for none
	triggers uint64           // until now
	failed   int              // snapshots that could not begin
}

// Snapshot is one that is written. The goroutine that writes it owns all fields but out, taking.at
// and taking.last.
type Snapshot struct {
	ring.Taking
	Out               *Bag
	Rooted            bool // the records of taking.conns have been written
	Messages, Missing uint64
	Err               error
}

// snapshotWork is what is to be done to the file of a snapshot: to begin it with the ring,
// to end it, or else to add a chunk.
type snapshotWork struct {
	snapshot   *Snapshot
	begin, end bool
	ring       []ring.Chunk
	chunk      ring.Chunk
}

func newSnapshotWriter(s *Sink, in intake.Snapshots, mode Mode) *SnapshotWriter {
	return &SnapshotWriter{
		sink: s, In: in, Log: s.Log, only: mode == OnlySnapshots,
		Outputs: s.Outputs.SnapshotSeries(mode == BesideRecording),
		queue:   queue.New[snapshotWork](),
		Limiter: rate.NewLimiter(rate.Every(snapshotEvery), SnapshotBurst),
		closing: make(chan struct{}),
	}
}

func (w *SnapshotWriter) start() {
	// owner: close; ends when the queue is closed and empty.
	w.writer.Go(w.run)
}

// close waits until all snapshots are written, and those that come too late are given up. It
// logs how many triggers there were, if there were more than snapshots.
func (w *SnapshotWriter) close() {
	if w == nil {
		return
	}
	close(w.closing)
	w.Starting.Lock()
	defer w.Starting.Unlock()
	w.queue.Close()
	w.writer.Wait()
	taken := w.In.SnapshotsTaken()
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if w.triggers > uint64(taken) {
		w.Log.Info("triggers shared snapshots", zap.Uint64("triggers", w.triggers), zap.Int("snapshots", taken), zap.Int("failed", w.failed))
	}
}

// begin gives the ring to a snapshot, and what is kept from now on. The sink's goroutine
// calls it.
func (w *SnapshotWriter) begin(of *ring.Taking) {
	w.current = of.Job.(*Snapshot)
	w.queue.Put(snapshotWork{snapshot: w.current, ring: w.In.TakeRing(of), begin: true})
}

// end ends that.
func (w *SnapshotWriter) end(of *ring.Taking) {
	w.current = nil
	w.queue.Put(snapshotWork{snapshot: of.Job.(*Snapshot), end: true})
}

// keep takes a chunk that the recording is done with, for the snapshot that is being taken
// or for the ring. The sink's goroutine calls it.
func (w *SnapshotWriter) keep(c *memory.Chunk) {
	if c.Sealed == nil {
		c.Seal(nil) // a compressor has failed, or skipped it
	}
	switch {
	case c.Sealed == nil:
		w.In.Release(c)
	case w.current != nil:
		rc := w.In.ToRingChunk(c)
		w.In.GoBy(&rc)
		w.queue.Put(snapshotWork{snapshot: w.current, chunk: rc})
	default:
		w.In.AddToRing(w.In.ToRingChunk(c))
	}
}

// run is the one goroutine that writes snapshots.
func (w *SnapshotWriter) run() {
	z, err := chunk.NewCompressor(w.sink.Compression)
	if err == nil {
		w.pack = z // else the first chunk of a snapshot is not packed
	}
	for {
		work, ok := w.queue.Take()
		switch {
		case !ok:
			return
		case work.begin:
			w.openSnapshot(work.snapshot, work.ring)
		case work.end:
			w.closeSnapshot(work.snapshot)
		default:
			w.addToSnapshot(work.snapshot, work.chunk)
		}
	}
}

// openSnapshot writes what a snapshot begins with: the latched messages that are not
// among the others, then the ring. It empties chunks as it goes.
func (w *SnapshotWriter) openSnapshot(sn *Snapshot, chunks []ring.Chunk) {
	sn.addConns(chunks)
	begin := sn.beginning(chunks)
	kept, n := 0, 0
	for ; n < len(chunks) && !sn.Rooted; n++ {
		if c, wanted := w.Root(sn, chunks[n]); wanted {
			chunks[kept] = c
			kept++
		}
	}
	chunks = slices.Delete(chunks, kept, n)
	w.openWithLatched(sn, begin, chunks)
	for i := range chunks {
		w.addChunk(sn, chunks[i])
		chunks[i] = ring.Chunk{} // nothing else may hold on to its memory
	}
}

// beginning returns when a snapshot begins that begins with chunks.
func (sn *Snapshot) beginning(chunks []ring.Chunk) time.Time {
	if len(chunks) == 0 {
		return sn.At
	}
	if first := chunks[0].FirstAt; first.After(sn.From) {
		return first
	}
	return sn.From
}

// addConns adds the connections of chunks to those whose records are needed.
func (sn *Snapshot) addConns(chunks []ring.Chunk) {
	known := map[*rosbag.Connection]bool{}
	for _, c := range sn.Conns {
		known[c] = true
	}
	for _, c := range chunks {
		for _, n := range c.Counts {
			if !known[n.Conn] {
				known[n.Conn] = true
				sn.Conns = append(sn.Conns, n.Conn)
			}
		}
	}
}

// openWithLatched writes what is latched at the beginning of a snapshot, with its time.
func (w *SnapshotWriter) openWithLatched(sn *Snapshot, begin time.Time, chunks []ring.Chunk) {
	defer w.In.UnpinState(&sn.State)
	at := rosbag.TimeOf(w.In.Stamp(sn.At))
	seen := map[rosbag.ConnID]bool{}
	for _, c := range chunks {
		if c.Start.Before(at) {
			at = c.Start
		}
		for _, n := range c.Counts {
			seen[n.Conn.ID] = true
		}
	}
	err := w.sink.PackLatched(sn.State.Latest(begin, seen), at, func(c *chunk.Sealed) error {
		if err := sn.Out.WriteRepeated(c); err != nil {
			return err
		}
		w.In.RepeatedInSnapshot(c)
		return nil
	})
	if err != nil {
		w.Log.Warn("latched messages not in the snapshot", zap.String("file", sn.Out.Target()), zap.Error(err))
	}
}

// Root makes of the chunk that a snapshot begins with one that begins with the window,
// and with the records of all connections that later chunks rely on: what is left by a
// crash within the snapshot can be read then. A chunk that is one large message stays
// as it is; so does one for which there is no memory. false means that nothing of it is
// wanted.
func (w *SnapshotWriter) Root(sn *Snapshot, old ring.Chunk) (c ring.Chunk, wanted bool) {
	var from time.Duration
	before, span := sn.From.Sub(old.FirstAt), old.LastAt.Sub(old.FirstAt) // by the monotonic clock, whatever others do
	if before > 0 && span > 0 {
		from = before
		if p := passageOf(&old); w.In.Simulated() || p.back > 0 {
			from = time.Duration(float64(before) / float64(span) * float64(p.passed))
		}
	}
	if from > 0 && before > span && w.divide(sn, &old, from, nil) == nil {
		w.In.GiveBack(old)
		return ring.Chunk{}, false
	}
	if old.UncompressedBytes > int64(max(2*w.In.ChunkBytes(), LeastLarge)) && old.MessageCount() == 1 {
		return old, true
	}
	sn.Rooted = true
	fresh := w.In.FreshChunk(int(old.UncompressedBytes))
	if fresh == nil {
		return old, true
	}
	fresh.Builder.Reset(nil)
	sn.addConns([]ring.Chunk{old}) // some may be new
	for _, c := range sn.Conns {
		fresh.Builder.AppendRun(c, rosbag.Time{}, nil, 0)
	}
	err := w.divide(sn, &old, from, &fresh.Builder)
	switch {
	case err == nil && fresh.Builder.Messages() == 0:
		sn.Rooted = false
		w.In.Release(fresh)
		w.In.GiveBack(old)
		return ring.Chunk{}, false
	case err == nil:
		fresh.Seal(w.pack)
		err = fresh.Err
	}
	if err != nil {
		w.Log.Warn("a snapshot begins with a chunk as it is", zap.Error(err))
		w.In.Release(fresh)
		return old, true
	}
	w.In.GiveBack(old)
	w.In.Count(fresh)
	return ring.Chunk{Sealed: fresh.Sealed, Chunk: fresh}, true
}

// passage measures the time that passes by the stamps of messages in the order of their arrival.
// Publishers overtake each other by little; a larger step back is one of the clock, over which
// no time passes.
type passage struct {
	begun  bool
	first  rosbag.Time
	passed time.Duration // until the latest stamp
	back   time.Duration // by which the clock has gone back, all steps together
}

// clockStep is how far a stamp is behind the latest one at least where the clock has gone back.
const clockStep = time.Second

// of returns the time from the first message to m. A mark may be about a moment before that of the
// message before it: it comes with that one.
func (p *passage) of(m *rosbag.Message) time.Duration {
	if m.Conn.Topic == bagnote.MarksTopic {
		return p.passed
	}
	if !p.begun {
		p.begun, p.first = true, m.Time
	}
	at := m.Time.Sub(p.first) + p.back
	if step := p.passed - at; step > clockStep {
		p.back += step
		at = p.passed
	}
	p.passed = max(p.passed, at)
	return at
}

// passageOf measures a whole chunk, as far as it can be read.
func passageOf(c *ring.Chunk) (p passage) {
	for m, err := range c.Messages() {
		if err != nil {
			break
		}
		p.of(m)
	}
	return p
}

// divide appends the messages of c that come at from, counted from its first one, or later to b,
// in their order: all of them if from is zero, also those with stamps before that of the first one,
// as marks may have. What is latched before becomes part of the state where sn begins; there is an
// error if there is no memory for that.
func (w *SnapshotWriter) divide(sn *Snapshot, c *ring.Chunk, from time.Duration, b *chunk.Builder) error {
	latching := w.In.LatchingOf(c.Sealed)
	if b == nil && len(latching) == 0 {
		return nil
	}
	var before []latch.Pinned
	var passed passage
	last := map[*latch.Source]int{} // its place in before
	for m, err := range c.Messages() {
		switch {
		case err != nil:
			return err
		case (from == 0 || passed.of(m) >= from) && b != nil:
			b.AppendRun(m.Conn, m.Time, m.Frame, 1)
		case latching[m.Conn.ID] != nil:
			l := latch.Pinned{Source: latching[m.Conn.ID], Message: &latch.Message{Frame: m.Frame}}
			if i, ok := last[l.Source]; ok {
				before[i].Message = nil // there is a later one
			}
			last[l.Source] = len(before)
			before = append(before, l)
		}
	}
	before = slices.DeleteFunc(before, func(l latch.Pinned) bool { return l.Message == nil })
	return w.In.AddBefore(&sn.State, before)
}

// LeastLarge is how large a message is at least before its chunk is left as it is.
const LeastLarge = 1 << 20

// addToSnapshot writes a chunk of the post-roll.
func (w *SnapshotWriter) addToSnapshot(sn *Snapshot, c ring.Chunk) {
	if !sn.Rooted {
		var wanted bool
		if c, wanted = w.Root(sn, c); !wanted {
			return
		}
	}
	w.addChunk(sn, c)
}

// addChunk writes a chunk, or counts why it does not.
func (w *SnapshotWriter) addChunk(sn *Snapshot, c ring.Chunk) {
	defer w.In.GiveBack(c)
	switch {
	case w.sink.drainAborted():
		w.countMissing(sn, &c, account.DropAborted)
		return
	case sn.Err != nil:
		w.countMissing(sn, &c, account.DropDisk)
		return
	}
	if sn.Err = sn.Out.WriteChunk(c.Sealed); sn.Err != nil {
		w.Log.Error("the snapshot ends here", zap.Error(sn.Err))
		w.countMissing(sn, &c, account.DropDisk)
		return
	}
	w.sink.snapped.Add(int64(len(c.Record)))
	w.sink.Stored.Add(int64(len(c.Record)))
	sn.Messages += c.MessageCount()
	if w.only {
		sn.Out.hold(c.Sealed)
		w.In.SnapshotWritten(c.Sealed)
	}
	if sn.Out.Mode == bagfile.SyncChunk {
		w.sink.Sync(sn.Out)
	}
	w.sink.WakeSyncer(sn.Out, time.Now())
}

// countMissing counts messages that should be in a snapshot and are not. Beside a recording
// they are in its bag.
func (w *SnapshotWriter) countMissing(sn *Snapshot, c *ring.Chunk, cause account.DropCause) {
	sn.Missing += c.MessageCount()
	if !w.only {
		return
	}
	w.In.LoseFromSnapshot(c.Sealed, cause)
}

// closeSnapshot leaves the file to the closer.
func (w *SnapshotWriter) closeSnapshot(sn *Snapshot) {
	if sn.Missing > 0 {
		sn.Err = errors.Join(sn.Err, fmt.Errorf("%s missing in the snapshot %s", plural.Of(sn.Missing, "message"), sn.Out.Target()))
	}
	if sn.Err != nil {
		w.sink.Finished.fault(sn.Err)
	}
	w.Log.Info("Snapshot", zap.String("file", sn.Out.Target()), zap.Uint64("messages", sn.Messages), zap.Int64("bytes", sn.Out.Bytes()))
	w.In.SnapshotClosed()
	w.sink.closing <- sn.Out
}
