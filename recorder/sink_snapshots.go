package recorder

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// snapshotWriter is the part of the sink that writes snapshots, beside the recording:
//
//	sink -> ring -> (trigger) -> its one goroutine, run
//	    \-> (post-roll) --------/
//
// A chunk belongs to one of them. nil means that there are no snapshots.
type snapshotWriter struct {
	sink    *sink
	in      *intake.Intake
	log     *zap.Logger
	only    bool // nothing is written but snapshots
	outputs *bagfile.Series
	pack    *bagfmt.Compressor // owned by run; nil if there is none
	current *snapshot          // that sealed chunks go into; owned by the sink's goroutine
	queue   *queue.FIFO[snapshotWork]
	writer  sync.WaitGroup

	limiter *rate.Limiter // of snapshots that begin
	closing chan struct{} // closed: none begins any more

	starting sync.Mutex // of one snapshot at a time; guards outputs and latest
	latest   *snapshot  // that was begun

	mu       sync.Mutex
	next     *snapshotRequest // that waits for its turn; nil for none
	triggers uint64           // until now
	failed   int              // snapshots that could not begin
}

// snapshot is one that is written. The goroutine that writes it owns all fields but out, taking.at
// and taking.last.
type snapshot struct {
	ring.Taking
	out               *bagFile
	rooted            bool // the records of taking.conns have been written
	messages, missing uint64
	err               error
}

// snapshotWork is what is to be done to the file of a snapshot: to begin it with the ring,
// to end it, or else to add a chunk.
type snapshotWork struct {
	snapshot   *snapshot
	begin, end bool
	ring       []ring.Chunk
	chunk      ring.Chunk
}

func newSnapshotWriter(s *sink, o Snapshot) *snapshotWriter {
	return &snapshotWriter{
		sink: s, in: s.in, log: s.log, only: o.Mode == SnapshotOnly,
		outputs: s.outputs.ForSnapshots(o.Mode == SnapshotBeside),
		queue:   queue.New[snapshotWork](),
		limiter: rate.NewLimiter(rate.Every(snapshotEvery), snapshotBurst),
		closing: make(chan struct{}),
	}
}

func (w *snapshotWriter) start() {
	// owner: close; ends when the queue is closed and empty.
	w.writer.Go(w.run)
}

// close waits until all snapshots are written, and those that come too late are given up. It
// logs how many triggers there were, if there were more than snapshots.
func (w *snapshotWriter) close() {
	if w == nil {
		return
	}
	close(w.closing)
	w.starting.Lock()
	defer w.starting.Unlock()
	w.queue.Close()
	w.writer.Wait()
	taken := w.in.SnapshotsTaken()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.triggers > uint64(taken) {
		w.log.Info("triggers shared snapshots", zap.Uint64("triggers", w.triggers), zap.Int("snapshots", taken), zap.Int("failed", w.failed))
	}
}

// begin gives the ring to a snapshot, and what is kept from now on. The sink's goroutine
// calls it.
func (w *snapshotWriter) begin(of *ring.Taking) {
	w.current = of.Job.(*snapshot)
	w.queue.Put(snapshotWork{snapshot: w.current, ring: w.in.TakeRing(of), begin: true})
}

// end ends that.
func (w *snapshotWriter) end(of *ring.Taking) {
	w.current = nil
	w.queue.Put(snapshotWork{snapshot: of.Job.(*snapshot), end: true})
}

// keep takes a chunk that the recording is done with, for the snapshot that is being taken
// or for the ring. The sink's goroutine calls it.
func (w *snapshotWriter) keep(c *memory.Chunk) {
	if c.Sealed == nil {
		c.Seal(nil) // a compressor has failed, or skipped it
	}
	switch {
	case c.Sealed == nil:
		w.in.Release(c)
	case w.current != nil:
		rc := w.in.ToRingChunk(c)
		w.in.GoBy(&rc)
		w.queue.Put(snapshotWork{snapshot: w.current, chunk: rc})
	default:
		w.in.AddToRing(w.in.ToRingChunk(c))
	}
}

// run is the one goroutine that writes snapshots.
func (w *snapshotWriter) run() {
	z, err := bagfmt.NewCompressor(w.sink.compression)
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
func (w *snapshotWriter) openSnapshot(sn *snapshot, chunks []ring.Chunk) {
	sn.addConns(chunks)
	begin := sn.beginning(chunks)
	kept, n := 0, 0
	for ; n < len(chunks) && !sn.rooted; n++ {
		if c, wanted := w.root(sn, chunks[n]); wanted {
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
func (sn *snapshot) beginning(chunks []ring.Chunk) time.Time {
	if len(chunks) == 0 {
		return sn.At
	}
	if first := chunks[0].FirstAt; first.After(sn.From) {
		return first
	}
	return sn.From
}

// addConns adds the connections of chunks to those whose records are needed.
func (sn *snapshot) addConns(chunks []ring.Chunk) {
	known := map[*bagfmt.Connection]bool{}
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
func (w *snapshotWriter) openWithLatched(sn *snapshot, begin time.Time, chunks []ring.Chunk) {
	defer w.in.UnpinState(&sn.State)
	at := bagfmt.TimeOf(w.in.Sim.At(sn.At))
	seen := map[bagfmt.ConnID]bool{}
	for _, c := range chunks {
		if c.Start.Before(at) {
			at = c.Start
		}
		for _, n := range c.Counts {
			seen[n.Conn.ID] = true
		}
	}
	err := w.sink.packLatched(sn.State.Latest(begin, seen), at, func(c *bagfmt.SealedChunk) error {
		if err := sn.out.WriteRepeated(c); err != nil {
			return err
		}
		w.in.RepeatedInSnapshot(c)
		return nil
	})
	if err != nil {
		w.log.Warn("latched messages not in the snapshot", zap.String("file", sn.out.Target()), zap.Error(err))
	}
}

// root makes of the chunk that a snapshot begins with one that begins with the window,
// and with the records of all connections that later chunks rely on: what is left by a
// crash within the snapshot can be read then. A chunk that is one large message stays
// as it is; so does one for which there is no memory. false means that nothing of it is
// wanted.
func (w *snapshotWriter) root(sn *snapshot, old ring.Chunk) (c ring.Chunk, wanted bool) {
	var from time.Duration
	before, span := sn.From.Sub(old.FirstAt), old.LastAt.Sub(old.FirstAt) // by the monotonic clock, whatever others do
	if before > 0 && span > 0 {
		from = before
		if p := passageOf(&old); w.in.Sim != nil || p.back > 0 {
			from = time.Duration(float64(before) / float64(span) * float64(p.passed))
		}
	}
	if from > 0 && before > span && w.divide(sn, &old, from, nil) == nil {
		w.in.GiveBack(old)
		return ring.Chunk{}, false
	}
	if old.UncompressedBytes > int64(max(2*w.in.Pool.ChunkBytes, leastLarge)) && old.MessageCount() == 1 {
		return old, true
	}
	sn.rooted = true
	fresh := w.in.FreshChunk(int(old.UncompressedBytes))
	if fresh == nil {
		return old, true
	}
	fresh.Builder.Reset(nil)
	sn.addConns([]ring.Chunk{old}) // some may be new
	for _, c := range sn.Conns {
		fresh.Builder.AppendRun(c, bagfmt.Time{}, nil, 0)
	}
	err := w.divide(sn, &old, from, &fresh.Builder)
	switch {
	case err == nil && fresh.Builder.Messages() == 0:
		sn.rooted = false
		w.in.Release(fresh)
		w.in.GiveBack(old)
		return ring.Chunk{}, false
	case err == nil:
		fresh.Seal(w.pack)
		err = fresh.Err
	}
	if err != nil {
		w.log.Warn("a snapshot begins with a chunk as it is", zap.Error(err))
		w.in.Release(fresh)
		return old, true
	}
	w.in.GiveBack(old)
	w.in.Count(fresh)
	return ring.Chunk{SealedChunk: fresh.Sealed, Chunk: fresh}, true
}

// passage measures the time that passes by the stamps of messages in the order of their arrival.
// Publishers overtake each other by little; a larger step back is one of the clock, over which
// no time passes.
type passage struct {
	begun  bool
	first  bagfmt.Time
	passed time.Duration // until the latest stamp
	back   time.Duration // by which the clock has gone back, all steps together
}

// clockStep is how far a stamp is behind the latest one at least where the clock has gone back.
const clockStep = time.Second

// of returns the time from the first message to m. A mark may be about a moment before that of the
// message before it: it comes with that one.
func (p *passage) of(m *bagfmt.Message) time.Duration {
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
func (w *snapshotWriter) divide(sn *snapshot, c *ring.Chunk, from time.Duration, b *bagfmt.ChunkBuilder) error {
	latching := w.in.LatchingOf(c.SealedChunk)
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
	return w.in.AddBefore(&sn.State, before)
}

// leastLarge is how large a message is at least before its chunk is left as it is.
const leastLarge = 1 << 20

// addToSnapshot writes a chunk of the post-roll.
func (w *snapshotWriter) addToSnapshot(sn *snapshot, c ring.Chunk) {
	if !sn.rooted {
		var wanted bool
		if c, wanted = w.root(sn, c); !wanted {
			return
		}
	}
	w.addChunk(sn, c)
}

// addChunk writes a chunk, or counts why it does not.
func (w *snapshotWriter) addChunk(sn *snapshot, c ring.Chunk) {
	defer w.in.GiveBack(c)
	switch {
	case w.sink.drainAborted():
		w.countMissing(sn, &c, intake.DropAborted)
		return
	case sn.err != nil:
		w.countMissing(sn, &c, intake.DropDisk)
		return
	}
	if sn.err = sn.out.WriteChunk(c.SealedChunk); sn.err != nil {
		w.log.Error("the snapshot ends here", zap.Error(sn.err))
		w.countMissing(sn, &c, intake.DropDisk)
		return
	}
	w.sink.snapped.Add(int64(len(c.Record)))
	w.sink.stored.Add(int64(len(c.Record)))
	sn.messages += c.MessageCount()
	if w.only {
		sn.out.hold(c.SealedChunk)
		w.in.SnapshotWritten(c.SealedChunk)
	}
	if sn.out.Mode == SyncChunk {
		w.sink.sync(sn.out)
	}
	w.sink.wakeSyncer(sn.out, time.Now())
}

// countMissing counts messages that should be in a snapshot and are not. Beside a recording
// they are in its bag.
func (w *snapshotWriter) countMissing(sn *snapshot, c *ring.Chunk, cause intake.DropCause) {
	sn.missing += c.MessageCount()
	if !w.only {
		return
	}
	w.in.LoseFromSnapshot(c.SealedChunk, cause)
}

// closeSnapshot leaves the file to the closer.
func (w *snapshotWriter) closeSnapshot(sn *snapshot) {
	if sn.missing > 0 {
		sn.err = errors.Join(sn.err, fmt.Errorf("%s missing in the snapshot %s", plural.Of(sn.missing, "message"), sn.out.Target()))
	}
	if sn.err != nil {
		w.sink.finished.fault(sn.err)
	}
	w.log.Info("Snapshot", zap.String("file", sn.out.Target()), zap.Uint64("messages", sn.messages), zap.Int64("bytes", sn.out.Bytes()))
	w.in.SnapshotClosed()
	w.sink.closing <- sn.out
}
