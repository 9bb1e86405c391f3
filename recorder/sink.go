package recorder

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// sink writes what the intake queues to the files, in the order of the queue. Its one
// goroutine, write, owns all fields that are not marked otherwise.
type sink struct {
	log         *zap.Logger
	in          *intake.Intake
	encoder     *encode.Encoder
	compression bagfmt.Compression
	report      Report
	abortDrain  <-chan struct{} // closed: give up what is queued
	writer      sync.WaitGroup

	outputs      *bagfile.Series
	disk         *bagfile.Space
	retain       *bagfile.Retainer
	handover     Handover
	onOpen       func(target string)
	onChange     func() // the file is another one
	snapshots    *snapshotWriter
	finished     finishedBags
	stored       atomic.Int64 // bytes of chunks written, in all files
	snapped      atomic.Int64 // of them, in snapshots
	newest       bagfmt.Time  // of what is written
	failoverUsed bool         // the single permitted failover has been used
	followed     time.Time    // when the directory was last looked for
	err          error        // why writing ended early

	outMu sync.Mutex // guards out for those that only read it
	out   *bagFile   // nil while stopped

	halted    sync.Once
	failed    chan struct{} // closed: the file cannot be written, or not be made durable
	abandoned atomic.Bool   // the sink is blocked by the disk and is not waited for

	syncRequests chan *bagFile // to the syncer: a sync is due
	syncer       sync.WaitGroup
	closing      chan *bagFile // to the closer: the next file is open
	closer       sync.WaitGroup
}

func newSink(o *Options, in *intake.Intake, encoder *encode.Encoder, outputs *bagfile.Series, retain *bagfile.Retainer, out *bagFile) *sink {
	s := &sink{
		log:          o.Log,
		in:           in,
		encoder:      encoder,
		compression:  o.Compression,
		report:       o.Report,
		abortDrain:   o.Hurry,
		outputs:      outputs,
		retain:       retain,
		handover:     o.handover(),
		onOpen:       o.onOpen,
		onChange:     o.Control.notify,
		out:          out,
		failed:       make(chan struct{}),
		syncRequests: make(chan *bagFile, 1),
		closing:      make(chan *bagFile),
	}
	s.finished.retain = s.retain
	s.disk = bagfile.NewSpace(o.MinSpace, o.MinSpaceText, o.Retain.Enabled(), outputs.Free, o.Log)
	if o.Snapshot.Mode != SnapshotOff {
		s.snapshots = newSnapshotWriter(s, o.Snapshot)
	}
	return s
}

// start begins to write.
func (s *sink) start() {
	// owner: close; ends when the queue of the intake is closed and empty.
	s.writer.Go(s.write)
	// owner: close; ends when syncRequests is closed.
	s.syncer.Go(s.keepSynced)
	// owner: close; ends when closing is closed.
	s.closer.Go(s.closeFiles)
	if s.snapshots != nil {
		s.snapshots.start()
	}
}

// close waits until all is written, closes the files and returns what went wrong with
// them. The intake is closed before.
func (s *sink) close() error {
	s.writer.Wait()
	s.encoder.Wait()
	s.snapshots.close()
	close(s.syncRequests)
	s.syncer.Wait()
	if s.out != nil {
		s.out.last = true
		s.closing <- s.out
	}
	close(s.closing)
	s.closer.Wait()
	return errors.Join(s.err, s.finished.err())
}

// write is the one goroutine that touches the file's data.
func (s *sink) write() {
	for {
		next, ok := s.in.Sealed.Take()
		if !ok {
			return
		}
		if next.Command != nil {
			s.execute(next.Command)
			continue
		}
		c := next.Chunk
		s.encoder.Await(c)
		if !s.in.Ring.IsOnly() {
			s.store(c)
		}
		if s.snapshots == nil {
			s.in.Release(c)
		} else {
			s.snapshots.keep(c)
		}
	}
}

// execute does what a command says.
func (s *sink) execute(c *intake.Command) {
	switch c.Kind {
	case intake.CommandRotate:
		c.Err = s.rotateFile(c)
	case intake.CommandRepeat:
		s.repeat(c.Start)
	case intake.CommandOpen:
		c.Err = s.openFile(c)
	case intake.CommandClose:
		s.closeFile(c)
	case intake.CommandReport:
		c.Err = s.writeReport()
	case intake.CommandPin:
		c.Pinned = s.retain.Pin(c.Since)
	case intake.CommandSnapshot:
		s.snapshots.begin(c.Snapshot)
	case intake.CommandEndSnapshot:
		s.snapshots.end(c.Snapshot)
	}
	close(c.Done)
}

// store writes a chunk, or gives it up and counts why.
func (s *sink) store(c *memory.Chunk) {
	switch {
	case s.err != nil:
		s.giveUp(c, intake.DropDisk)
		return
	case s.drainAborted():
		s.giveUp(c, intake.DropAborted)
		return
	case c.Err != nil:
		s.log.Error("chunk lost", zap.Error(c.Err))
		s.giveUp(c, intake.DropCodec)
		return
	case c.Sealed == nil: // a compressor has skipped it
		c.Seal(nil)
	}
	if err := s.writeChunk(c.Sealed); err != nil {
		s.err = err
		s.halt()
		s.giveUp(c, intake.DropDisk)
		return
	}
	s.written(c)
	s.wakeSyncer(s.out, time.Now())
}

// written accounts for a chunk that is in the file.
func (s *sink) written(c *memory.Chunk) {
	bytes := int64(len(c.Sealed.Record))
	s.stored.Add(bytes)
	if s.newest.Before(c.Sealed.End) {
		s.newest = c.Sealed.End
	}
	s.out.hold(c.Sealed)
	s.encoder.Written(c.Sealed.Compression)
	s.in.Written(c, bytes, s.out.part)
}

// giveUp counts the messages of a chunk that will not be written.
func (s *sink) giveUp(c *memory.Chunk, cause intake.DropCause) {
	if c.Sealed == nil {
		c.Seal(nil) // not compressed: the counts are still to be had
	}
	if c.Sealed == nil {
		s.log.Error("messages lost that cannot be counted", zap.Error(c.Err))
		return
	}
	s.in.Lose(c, cause)
}

// halt ends the recording: no file can be written, or none be made durable.
func (s *sink) halt() {
	s.halted.Do(func() {
		s.in.End()
		close(s.failed)
	})
}

// skipsCompression reports whether what is queued will be given up.
func (s *sink) skipsCompression() bool { return s.drainAborted() || isClosed(s.failed) }

func (s *sink) drainAborted() bool { return isClosed(s.abortDrain) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// keepSynced runs the interval syncs, so that the writer never waits for one.
func (s *sink) keepSynced() {
	for b := range s.syncRequests {
		s.sync(b)
	}
}

// sync waits for the disk. A failure is final for the file: writeChunk goes on in another,
// and finish returns it.
func (s *sink) sync(b *bagFile) {
	if err := b.Sync(); err != nil {
		s.log.Error("sync failed", zap.Error(err))
	}
}

// wakeSyncer starts an interval sync if one is due.
func (s *sink) wakeSyncer(b *bagFile, now time.Time) {
	if !b.SyncDue(now) {
		return
	}
	select {
	case s.syncRequests <- b:
	default: // one is about to start
	}
}

// setOut makes b the file that is written; nil for none.
func (s *sink) setOut(b *bagFile) {
	s.outMu.Lock()
	s.out = b
	s.outMu.Unlock()
}

// current returns the file that is written, nil while stopped. It is for concurrent use.
func (s *sink) current() *bagFile {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	return s.out
}

// pin protects files from the retention: at once those that there are, and what is
// queued for files to come when it is written. It is for concurrent use.
func (s *sink) pin(ctx context.Context, since time.Time) ([]string, error) {
	s.retain.Pin(since)
	c, err := s.in.RequestPin(since)
	if err == nil {
		err = c.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	return c.Pinned, nil
}

// lowDisk looks, and reports whether the recording has to end because the disk is
// nearly full. It is for concurrent use.
func (s *sink) lowDisk(now time.Time) bool {
	file := ""
	if out := s.current(); out != nil {
		file = filepath.Clean(out.Target())
	}
	snapped := s.snapped.Load()
	return s.disk.Check(now, s.stored.Load()-snapped, snapped, file)
}
