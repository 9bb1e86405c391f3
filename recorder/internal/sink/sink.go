// Package sink writes the chunks that the intake queues to the bags, in the order of the queue, executes the
// commands between them, and hands chunks on to snapshots. It decides which file is written, and when the
// recording goes on in another one. Only the session makes a sink.
package sink

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/snapshot"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Sink writes the chunks that the intake queues to bags. Its one goroutine, write, owns all fields that
// do not say otherwise.
type Sink struct {
	cfg    Config
	packer latch.Packer // packs the latched messages that files begin with
	writer sync.WaitGroup

	Bags         *files.Files
	Snapshotter  *snapshot.Writer
	newest       rosbag.Time // the latest stamp of a message that was written
	failoverUsed bool        // the one failover after a fault of the disk has been used
	followed     time.Time   // when the path of the directory was checked last
	err          error       // why writing ended early; nil while it goes on

	// the file that is written; nil while stopped. Other goroutines only read it
	out atomic.Pointer[files.Bag]
	// closed: no file can be written
	Failed chan struct{}
	// the disk blocks the sink, and the recording does not wait for it any more
	Abandoned atomic.Bool
}

// Intake queues what the sink writes, and is told what came of it.
type Intake interface {
	snapshot.Intake

	Next() (item queue.Item, ok bool)
	RequestPin(since time.Time) (*queue.Command, error)

	FileOpened(c *queue.Command, now time.Time) *queue.FileStart
	NotOpened(c *queue.Command)
	Failover(now time.Time) *queue.FileStart
	FileFailed()

	Written(c *memory.Chunk, part int)
	RepeatedInFile(c *chunk.Sealed, part int)
	OpenReport(topic string, typ intake.OwnType) *rosbag.Connection
	OwnWritten(conn *rosbag.Connection, c *chunk.Sealed, bytes, part int)
}

// Buffers has the memory of what is written.
type Buffers interface {
	snapshot.Buffers
	latch.Claims

	ChunkBytes() int
	ReleaseLatched(all []*latch.Message)
}

// Accounts counts what becomes of messages.
type Accounts interface {
	snapshot.Accounts
	files.Counts
}

// Config configures a Sink.
type Config struct {
	Log          *zap.Logger
	In           Intake
	Accounts     Accounts
	Buffers      Buffers
	Sim          *simtime.Sim // nil for the wall clock
	Encoder      *encode.Encoder
	Compression  rosbag.Compression
	Report       func(at time.Time) []byte // makes the account of losses; nil for none
	ReportTopic  string
	AbortDrain   <-chan struct{} // closed: give up the queue
	Bags         files.Config    // without Log and Counts, which are those of the sink
	SnapshotMode control.SnapshotMode
}

// New returns a sink that does not write yet. first is the bag that it will write; nil while stopped.
func New(o Config, first *files.Bag) *Sink {
	s := &Sink{cfg: o, Failed: make(chan struct{})}
	s.out.Store(first)
	o.Bags.Log, o.Bags.Counts, o.Bags.OnlySnapshots = o.Log, o.Accounts,
		o.SnapshotMode == control.SnapshotOnly
	s.Bags = files.New(o.Bags)
	s.packer = latch.Packer{
		Claims: o.Buffers, Compression: o.Compression, ChunkBytes: o.Buffers.ChunkBytes(),
		Uncompressed: func(err error) { encode.WarnUncompressed(o.Log, err) },
	}
	if o.SnapshotMode != control.SnapshotOff {
		s.Snapshotter = snapshot.New(snapshot.Config{
			Log: o.Log, In: o.In, Accounts: o.Accounts, Buffers: o.Buffers, Sim: o.Sim, Bags: s.Bags,
			Packer:  s.packer,
			Outputs: o.Bags.Outputs.SnapshotSeries(o.SnapshotMode == control.SnapshotBeside),
			Aborted: s.drainAborted,
		})
	}
	return s
}

// Tick starts a sync if one is due.
func (s *Sink) Tick(now time.Time) {
	if out := s.Current(); out != nil {
		s.Bags.WakeSyncer(out, now)
	}
}

// Start begins to write.
func (s *Sink) Start() {
	// owner: Close; ends when the queue of the intake is closed and empty.
	s.writer.Go(s.write)
	s.Bags.Start()
	if s.Snapshotter != nil {
		s.Snapshotter.Start()
	}
}

// Close waits until everything that is queued is written, closes the files and returns their errors. The
// intake has to be closed before.
func (s *Sink) Close() error {
	s.writer.Wait()
	s.cfg.Encoder.Wait()
	s.Snapshotter.Close()
	return errors.Join(s.err, s.Bags.Close(s.Current()))
}

// write is the one goroutine that writes to the file.
func (s *Sink) write() {
	for {
		next, ok := s.cfg.In.Next()
		if !ok {
			return
		}
		if next.Command != nil {
			s.Execute(next.Command)
			continue
		}
		c := next.Chunk
		s.cfg.Encoder.Await(c)
		if !s.Bags.OnlySnapshots {
			s.store(c)
		}
		if s.Snapshotter == nil {
			s.cfg.Buffers.Release(c)
		} else {
			s.Snapshotter.Keep(c)
		}
	}
}

// Execute executes a command.
func (s *Sink) Execute(c *queue.Command) {
	switch c.Kind {
	case queue.Rotate:
		c.Err = s.rotateFile(c)
	case queue.Repeat:
		s.repeat(c.Start)
	case queue.Open:
		c.Err = s.openFile(c)
	case queue.Close:
		s.closeFile(c)
	case queue.Report:
		c.Err = s.writeReport()
	case queue.Pin:
		c.Pinned = s.Bags.Retain.Pin(c.Since)
	case queue.Snapshot:
		s.Snapshotter.Begin(c.Snapshot)
	case queue.EndSnapshot:
		s.Snapshotter.End(c.Snapshot)
	}
	close(c.Done)
}

// store writes a chunk, or gives it up and counts its messages as lost.
func (s *Sink) store(c *memory.Chunk) {
	switch {
	case s.err != nil:
		s.cfg.Accounts.Lose(c.Sealed(), control.DropDisk)
		return
	case s.drainAborted():
		s.cfg.Accounts.Lose(c.Sealed(), control.DropAborted)
		return
	}
	if err := s.writeChunk(c.Sealed()); err != nil {
		s.err = err
		s.halt()
		s.cfg.Accounts.Lose(c.Sealed(), control.DropDisk)
		return
	}
	s.cfg.In.Written(c, s.Current().Part)
	s.noteWritten(c.Sealed())
}

// noteWritten notes that a chunk is in the file.
func (s *Sink) noteWritten(c *chunk.Sealed) {
	if s.newest.Before(c.End) {
		s.newest = c.End
	}
	s.Current().Count(c)
	s.cfg.Encoder.Written(c.Compression)
}

// halt ends the recording: no file can be written.
func (s *Sink) halt() {
	s.cfg.In.FileFailed()
	close(s.Failed)
}

// SkipsCompression reports whether the queued chunks will be given up, so that nobody needs to compress them.
func (s *Sink) SkipsCompression() bool { return s.drainAborted() || closed(s.Failed) }

func (s *Sink) drainAborted() bool { return closed(s.cfg.AbortDrain) }

// closed reports whether a channel that gets no values is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Current returns the file that is written, nil while stopped. It is for concurrent use.
func (s *Sink) Current() *files.Bag { return s.out.Load() }

// Pin protects the files that hold messages since the given time from deletion, and returns their names.
// Files that exist are protected at once, and those that queued chunks go to when they are written. It is
// for concurrent use.
func (s *Sink) Pin(ctx context.Context, since time.Time) ([]string, error) {
	s.Bags.Retain.Pin(since)
	c, err := s.cfg.In.RequestPin(since)
	if err == nil {
		err = c.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	return c.Pinned, nil
}

// Chunks returns how many chunks were written with each compression. It is for concurrent use.
func (s *Sink) Chunks() map[rosbag.Compression]uint64 { return s.cfg.Encoder.Stored() }

// LowDisk checks the free space, and reports whether the recording has to end because the disk is nearly
// full. It is for concurrent use.
func (s *Sink) LowDisk(now time.Time) bool { return s.Bags.LowDisk(now, s.Current()) }
