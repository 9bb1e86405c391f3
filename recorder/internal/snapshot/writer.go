// Package snapshot takes snapshots: triggers that share them, and the goroutine that writes them beside the
// recording. The goroutine of the sink hands it the chunks that the recording is done with; anybody may
// trigger.
package snapshot

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Intake has the ring, the memory of chunks and the latched messages.
type Intake interface {
	Trigger(at time.Time) (*ring.Snapshot, error)
	BeginSnapshot(sn *ring.Snapshot) bool
}

// Buffers has the ring, and the memory of its chunks and latched messages.
type Buffers interface {
	EndRequest()
	TakeRing(sn *ring.Snapshot) []*latch.Chunk
	SnapshotClosed()
	SnapshotsTaken() int

	ToRingChunk(c *memory.Chunk, latching map[rosbag.ConnID]*latch.Source) *latch.Chunk
	AddToRing(c *latch.Chunk)
	PassRing(c *latch.Chunk)
	FreshChunk(n int) *memory.Chunk
	CountGrown(c *memory.Chunk)
	GiveBack(c *latch.Chunk)
	Release(c *memory.Chunk)

	AddCut(s *latch.State, cut []*latch.Message) error
	EndState(s *latch.State)
}

// Accounts counts what becomes of the messages of chunks, and knows their connections.
type Accounts interface {
	SnapshotWritten(c *chunk.Sealed)
	RepeatedInSnapshot(c *chunk.Sealed)
	Lose(c *chunk.Sealed, cause control.DropCause)
	LatchingOf(c *chunk.Sealed) map[rosbag.ConnID]*latch.Source
}

// Config configures a Writer.
type Config struct {
	Log      *zap.Logger
	In       Intake
	Accounts Accounts
	Buffers  Buffers
	Sim      *simtime.Sim // nil for the wall clock
	Bags     *files.Files
	Packer   latch.Packer
	Outputs  *bagfile.Series // creates the bags of snapshots
	Aborted  func() bool     // reports whether what is queued is to be given up
}

// Writer takes and writes snapshots, beside the recording:
//
//	sink -> ring -> (trigger) -> run
//	    \-> (post-roll) --------/
//
// A chunk belongs to one of them at a time. A nil Writer takes no snapshots.
type Writer struct {
	Config
	// owned by run; nil if there is none
	pack *chunk.Compressor
	// the snapshot that sealed chunks go into, nil for none; owned by the goroutine of the sink
	current *Snapshot
	// what run has to do
	queue  *queue.FIFO[func()]
	writer sync.WaitGroup

	// limits how often snapshots start
	Limiter *rate.Limiter
	// the snapshot that started most recently; nil before the first; owned by start, as is Outputs
	latest  *Snapshot
	starter sync.WaitGroup

	triggers triggers
}

// Snapshot is a snapshot that is written. The goroutine that writes it owns all fields but Out, At and Last.
type Snapshot struct {
	ring.Snapshot
	Out               *files.Bag
	firstDone         bool // the records of all connections are written, as far as there was memory
	Messages, Missing uint64
	Err               error
}

// New returns a writer that does not write yet.
func New(o Config) *Writer {
	return &Writer{
		Config:   o,
		queue:    queue.New[func()](),
		Limiter:  rate.NewLimiter(rate.Every(snapshotEvery), burst),
		triggers: triggers{asked: make(chan *request, 1), ending: make(chan struct{})},
	}
}

// Start begins to write, and to begin snapshots.
func (w *Writer) Start() {
	// owner: EndTriggers; ends when no snapshot is asked for any more.
	w.starter.Go(w.start)
	// owner: Close; ends when the queue is closed and empty.
	w.writer.Go(w.run)
}

// Close waits until all snapshots are written. It is called after EndTriggers, and logs how many triggers
// there were, if there were more than snapshots.
func (w *Writer) Close() {
	if w == nil {
		return
	}
	w.queue.Close()
	w.writer.Wait()
	taken, all := w.Buffers.SnapshotsTaken(), w.triggers.count.Load()
	if all > uint64(taken) {
		w.Log.Info("triggers shared snapshots", zap.Uint64("triggers", all), zap.Int("snapshots", taken),
			zap.Int("failed", w.Failures()))
	}
}

// Begin gives a snapshot the ring, and each chunk that Keep gets from now on. The sink's goroutine calls it.
func (w *Writer) Begin(of *ring.Snapshot) {
	sn, chunks := of.Job.(*Snapshot), w.Buffers.TakeRing(of)
	w.current = sn
	w.queue.Put(func() { w.openSnapshot(sn, chunks) })
}

// End ends the snapshot of Begin: later chunks go into the ring. The sink's goroutine calls it.
func (w *Writer) End(of *ring.Snapshot) {
	w.current = nil
	w.queue.Put(func() { w.closeSnapshot(of.Job.(*Snapshot)) })
}

// Keep takes a chunk that the recording is done with, for the snapshot that is being taken
// or for the ring. The sink's goroutine calls it.
func (w *Writer) Keep(c *memory.Chunk) {
	kept := w.Buffers.ToRingChunk(c, w.Accounts.LatchingOf(c.Sealed()))
	if w.current == nil {
		w.Buffers.AddToRing(kept)
		return
	}
	w.Buffers.PassRing(kept)
	sn := w.current
	w.queue.Put(func() { w.addToSnapshot(sn, kept) })
}

// run is the one goroutine that writes snapshots.
func (w *Writer) run() {
	w.pack = encode.NewCompressor(w.Packer.Compression, w.Log)
	for {
		do, ok := w.queue.Take()
		if !ok {
			return
		}
		do()
	}
}

// openSnapshot writes the beginning of a snapshot: the latched messages from before the ring, then the ring.
// It sets the entries of chunks to nil as they are written.
func (w *Writer) openSnapshot(sn *Snapshot, chunks []*latch.Chunk) {
	sn.addConns(chunks)
	begin := sn.beginning(chunks)
	kept := chunks[:0]
	for _, old := range chunks {
		if c, wanted := w.cut(sn, old); wanted {
			kept = append(kept, c)
		}
	}
	clear(chunks[len(kept):])
	chunks = kept
	earliestFirst(chunks)
	w.openWithLatched(sn, begin, chunks)
	for i := range chunks {
		w.addChunk(sn, chunks[i])
		chunks[i] = nil // nothing else may hold on to its memory
	}
}

// earliestFirst moves the chunk with the earliest message to the front, if it has filled while the first
// one did: rosbag takes the time at which a bag begins from its first chunk.
func earliestFirst(chunks []*latch.Chunk) {
	first := 0
	for i, c := range chunks {
		if !c.FirstAt().After(chunks[0].LastAt()) && c.Sealed().Start.Before(chunks[first].Sealed().Start) {
			first = i
		}
	}
	if first > 0 {
		c := chunks[first]
		copy(chunks[1:], chunks[:first])
		chunks[0] = c
	}
}

// beginning returns when a snapshot begins whose first chunks are those of the ring.
func (sn *Snapshot) beginning(chunks []*latch.Chunk) time.Time {
	if len(chunks) == 0 {
		return sn.At
	}
	if first := chunks[0].FirstAt(); first.After(sn.From) {
		return first
	}
	return sn.From
}

// addConns adds the connections of chunks to sn.Conns.
func (sn *Snapshot) addConns(chunks []*latch.Chunk) {
	known := map[*rosbag.Connection]bool{}
	for _, c := range sn.Conns {
		known[c] = true
	}
	for _, c := range chunks {
		for _, n := range c.Sealed().Counts {
			if !known[n.Conn] {
				known[n.Conn] = true
				sn.Conns = append(sn.Conns, n.Conn)
			}
		}
	}
}

// openWithLatched writes the messages that are latched where a snapshot begins, with the time of its
// beginning.
func (w *Writer) openWithLatched(sn *Snapshot, begin time.Time, chunks []*latch.Chunk) {
	defer w.Buffers.EndState(&sn.State)
	at := rosbag.TimeOf(w.Sim.At(sn.At))
	seen := map[rosbag.ConnID]bool{}
	for _, c := range chunks {
		if c.Sealed().Start.Before(at) {
			at = c.Sealed().Start
		}
		for _, n := range c.Sealed().Counts {
			seen[n.Conn.ID] = true
		}
	}
	err := w.Packer.Pack(sn.State.Latest(begin, seen), at, func(c *chunk.Sealed) error {
		if err := sn.Out.WriteRepeated(c); err != nil {
			return err
		}
		w.Accounts.RepeatedInSnapshot(c)
		return nil
	})
	if err != nil {
		w.Log.Warn("latched messages not in the snapshot", zap.String("file", sn.Out.Target()),
			zap.Error(err))
	}
}

// addToSnapshot writes a chunk of the post-roll.
func (w *Writer) addToSnapshot(sn *Snapshot, c *latch.Chunk) {
	if c, wanted := w.cut(sn, c); wanted {
		w.addChunk(sn, c)
	}
}

// addChunk writes a chunk, or counts why it is not written.
func (w *Writer) addChunk(sn *Snapshot, c *latch.Chunk) {
	defer w.Buffers.GiveBack(c)
	switch {
	case w.Aborted():
		w.countMissing(sn, c, control.DropAborted)
		return
	case sn.Err != nil:
		w.countMissing(sn, c, control.DropDisk)
		return
	}
	if sn.Err = w.Bags.WriteChunk(sn.Out, c.Sealed()); sn.Err != nil {
		w.Log.Error("the snapshot ends here", zap.Error(sn.Err))
		w.countMissing(sn, c, control.DropDisk)
		return
	}
	sn.Messages += c.MessageCount()
	if w.Bags.OnlySnapshots {
		sn.Out.Count(c.Sealed())
		w.Accounts.SnapshotWritten(c.Sealed())
	}
}

// countMissing counts messages that should be in a snapshot and are not. With a recording beside, its bag has
// them.
func (w *Writer) countMissing(sn *Snapshot, c *latch.Chunk, cause control.DropCause) {
	sn.Missing += c.MessageCount()
	if !w.Bags.OnlySnapshots {
		return
	}
	w.Accounts.Lose(c.Sealed(), cause)
}

// closeSnapshot hands the file to the goroutine that closes files.
func (w *Writer) closeSnapshot(sn *Snapshot) {
	if sn.Missing > 0 {
		sn.Err = errors.Join(sn.Err,
			fmt.Errorf("%s missing in the snapshot %s", wording.Plural(sn.Missing, "message"),
				sn.Out.Target()))
	}
	if sn.Err != nil {
		w.Bags.Finished.Fail(sn.Err)
	}
	w.Log.Info("Snapshot", zap.String("file", sn.Out.Target()), zap.Uint64("messages", sn.Messages),
		zap.Int64("bytes", sn.Out.Bytes()))
	w.Buffers.SnapshotClosed()
	w.Bags.CloseLater(sn.Out)
}

// KeepMissed is Keep for latched messages that came while nothing was recorded: they count as if they came
// now.
func (w *Writer) KeepMissed(next *queue.FileStart) {
	if w == nil {
		return
	}
	for _, l := range next.Missed {
		c := w.Buffers.FreshChunk(len(l.Frame()) + l.RecordBytes() + intake.RecordOverhead)
		if c == nil {
			w.Log.Warn("no memory to keep a latched message for a snapshot",
				zap.String("topic", l.Conn().Topic))
			continue
		}
		c.Builder().Reset(nil)
		c.Builder().AppendRun(l.Conn(), next.Stamp, l.Frame(), 1)
		c.Came(next.At, next.At)
		w.Buffers.CountGrown(c)
		_ = c.Seal(nil) // has no codec that could fail
		w.Keep(c)
	}
}
