package sink

import (
	"errors"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
)

var errSyncFailed = errors.New("a sync has failed")

// openFile opens the next file after a stop. Messages that arrive before the file is open are not recorded,
// so that they are not lost if it cannot be opened.
func (s *Sink) openFile(c *queue.Command) error {
	now := time.Now()
	var next *queue.FileStart
	err := control.ErrNotRecording
	if s.err == nil && !s.drainAborted() {
		err = s.Bags.Disk.Short()
	}
	if err == nil {
		next, err = s.begin(now, func() *queue.FileStart { return s.cfg.In.FileOpened(c, now) })
	}
	if err != nil {
		s.cfg.In.NotOpened(c)
		return err
	}
	c.File = s.Current()
	s.repeat(next)
	return nil
}

// closeFile hands the file to the goroutine that closes files.
func (s *Sink) closeFile(c *queue.Command) {
	old := s.Current()
	if old == nil { // no file could be opened after the stop before
		return
	}
	c.File = old
	s.out.Store(nil)
	s.Bags.CloseLater(old)
}

// rotateFile opens the next file, and hands the old one to the goroutine that closes files, so that the
// queue does not wait until the old file is closed. If the next file cannot be opened, the recording goes
// on in the old one and loses nothing.
func (s *Sink) rotateFile(c *queue.Command) error {
	next := c.Start
	if s.err != nil || s.drainAborted() {
		s.cfg.Buffers.ReleaseLatched(next.Latched)
		return control.ErrNotRecording
	}
	old := s.Current()
	if s.LowDisk(time.Now()) {
		s.goOn(next)
		return disk.ErrMinSpace
	}
	if err := s.Bags.Disk.Short(); err != nil { // what a file reserves would end the recording
		s.goOn(next)
		return err
	}
	start := time.Now()
	defer func() { s.Bags.Outputs.Watchdog.CountSplit(start) }()
	if _, err := s.begin(next.At, func() *queue.FileStart { return next }); err != nil {
		s.goOn(next)
		s.cfg.Log.Error("no next file: the recording goes on in the old one",
			zap.String("file", old.Target()), zap.Error(err))
		return err
	}
	c.File = old
	s.repeat(next)
	return nil
}

// repeat writes the latched messages of next to the file, and also gives those that came in a pause to the
// snapshots. An error is only logged: if the file has failed, the next chunk gets the same error.
func (s *Sink) repeat(next *queue.FileStart) {
	defer s.cfg.Buffers.ReleaseLatched(next.Latched)
	s.Snapshotter.KeepMissed(next)
	if s.err != nil || s.Bags.OnlySnapshots {
		return
	}
	if err := s.repeatLatched(next); err != nil {
		s.cfg.Log.Warn("latched messages not repeated", zap.String("file", s.Current().Target()),
			zap.Error(err))
	}
}

// repeatLatched writes the latched messages of next to the file, on their own connections and with the time
// at which the file begins. At the start of a file, the bag header marks them as repeated.
func (s *Sink) repeatLatched(next *queue.FileStart) error {
	write := s.Current().WriteRepeated
	if next.Resumed {
		write = s.Current().WriteChunk
	}
	return s.packer.Pack(next.Latched, next.Stamp, func(c *chunk.Sealed) error {
		if err := write(c); err != nil {
			return err
		}
		s.cfg.In.RepeatedInFile(c, next.Part)
		return nil
	})
}

// begin creates a file, which is written from now on, and closes the one before, if there is one. decide
// is called when the file exists, and returns how the file begins: the intake decides that, and the
// number of the file.
func (s *Sink) begin(at time.Time, decide func() *queue.FileStart) (*queue.FileStart, error) {
	out, err := files.Create(s.Bags.Outputs, at)
	if err != nil {
		return nil, err
	}
	old := s.out.Swap(out)
	next := decide()
	out.Part = next.Part
	s.Bags.Opened(out)
	if old != nil {
		s.Bags.CloseLater(old)
	}
	return next, nil
}

// goOn makes the present file have the chunks of a file that could not begin.
func (s *Sink) goOn(next *queue.FileStart) {
	s.Current().Part = next.Part
	s.cfg.Buffers.ReleaseLatched(next.Latched)
}

// writeChunk writes a chunk. If the write fails, or a sync before it has, the recording goes on in a new
// file, once. On a full disk a new file would not help.
func (s *Sink) writeChunk(c *chunk.Sealed) error {
	if s.Current().SyncFailed() {
		return s.failover(c, errSyncFailed)
	}
	now := time.Now()
	if now.Sub(s.followed) >= followInterval {
		s.followed = now
		s.Bags.FollowDirectory()
	}
	if gone := s.Current().CheckName(now); gone != nil {
		return s.failover(c, gone)
	}
	err := s.Bags.WriteChunk(s.Current(), c)
	if err != nil && !diskFull(err) {
		return s.failover(c, err)
	}
	return err
}

// followInterval is how often the writer checks the path of the directory.
const followInterval = time.Second

// failover opens a new file and writes c to it. It returns fault if the one failover after a fault of the
// disk has been used.
func (s *Sink) failover(c *chunk.Sealed, fault error) error {
	old, gone := s.Current(), errors.Is(fault, bagfile.ErrMoved) || errors.Is(fault, bagfile.ErrDeleted)
	if s.failoverUsed && !gone {
		return fault
	}
	s.failoverUsed = s.failoverUsed || !gone
	if !gone && !errors.Is(fault, errSyncFailed) { // the file returns those errors when it is closed
		s.Bags.Finished.Fail(fault)
	}
	now := time.Now()
	next, err := s.begin(now, func() *queue.FileStart { return s.cfg.In.Failover(now) })
	if err != nil {
		s.cfg.Log.Error("no new file after the fault", zap.Error(err))
		return err
	}
	logFault := s.cfg.Log.Error
	if errors.Is(fault, bagfile.ErrMoved) {
		logFault = s.cfg.Log.Warn // nothing is lost
	}
	logFault("the recording goes on in a new file", zap.String("file", old.Target()),
		zap.String("next", s.Current().Target()), zap.NamedError("because", fault))
	s.Snapshotter.KeepMissed(next)
	err = s.repeatLatched(next)
	s.cfg.Buffers.ReleaseLatched(next.Latched)
	if err == nil {
		err = s.Bags.WriteChunk(s.Current(), c)
	}
	return err
}

// diskFull reports whether err means that there is no room: another file on the same disk would have none
// either.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
