package sink

import (
	"cmp"
	"errors"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

var errSyncFailed = errors.New("a sync has failed")

// openFile opens the next file after a stop. What arrives before that is not recorded: a
// file that cannot be had must not cost messages.
func (s *Sink) openFile(c *command.Command) error {
	now := time.Now()
	var out *Bag
	err := control.ErrNotRecording
	if s.err == nil && !s.drainAborted() {
		err = s.Disk.Short()
	}
	if err == nil {
		out, err = Create(s.Outputs, now)
	}
	if err != nil {
		s.In.NotOpened(c)
		return err
	}
	c.File = out
	s.setOut(out)
	next := s.In.FileOpened(c, now)
	out.part = next.Part
	s.Opened(out)
	s.repeat(next)
	return nil
}

// closeFile leaves the file to the closer.
func (s *Sink) closeFile(c *command.Command) {
	old := s.Out
	if old == nil { // the start before failed
		return
	}
	c.File = old
	s.setOut(nil)
	s.closing <- old
}

// rotateFile opens the next file and leaves the old one to the closer, so that what
// is queued does not wait for the disk. A next file that cannot be had costs
// nothing: the old one goes on.
func (s *Sink) rotateFile(c *command.Command) error {
	next := c.Start
	if s.err != nil || s.drainAborted() {
		s.In.Unpin(next.Latched)
		return control.ErrNotRecording
	}
	old := s.Out
	if s.LowDisk(time.Now()) {
		old.part = next.Part
		s.In.Unpin(next.Latched)
		return disk.ErrMinSpace
	}
	start := time.Now()
	defer func() { s.Outputs.Watchdog.CountSplit(start) }()
	if err := s.openNext(next.At, next.Part); err != nil {
		old.part = next.Part // what belongs to that goes into the old file
		s.In.Unpin(next.Latched)
		s.Log.Error("no next file: the recording goes on in the old one", zap.String("file", old.Target()), zap.Error(err))
		return err
	}
	c.File = old
	s.repeat(next)
	return nil
}

// openNext replaces the file that is written with the one of part.
func (s *Sink) openNext(at time.Time, part int) error {
	out, err := Create(s.Outputs, at)
	if err != nil {
		return err
	}
	out.part = part
	old := s.Out
	s.setOut(out)
	s.Opened(out)
	s.closing <- old
	return nil
}

// Opened tells of a file that is written from now on.
func (s *Sink) Opened(b *Bag) {
	s.Log.Info("Recording to", zap.String("file", b.Target()))
	b.retained = s.Retain.Begin(b.Place)
	s.Handover.Begun(b.Target())
	s.onChange()
	if s.onOpen != nil {
		s.onOpen(b.Target())
	}
}

// writeChunk writes a chunk. After a fault that is not a full disk, of this write or of a
// sync before it, the recording goes on in a new file, once.
func (s *Sink) writeChunk(c *chunk.Sealed) error {
	if s.Out.SyncFailed() {
		return s.failover(c, errSyncFailed)
	}
	now := time.Now()
	if now.Sub(s.followed) >= followInterval {
		s.followed = now
		s.followDirectory()
	}
	if gone := s.Out.CheckName(now); gone != nil {
		return s.failover(c, gone)
	}
	if err := s.Out.WriteChunk(c); err != nil && !diskFull(err) {
		return s.failover(c, err)
	} else if err != nil {
		return err
	}
	if s.Out.Mode == bagfile.SyncChunk {
		s.Sync(s.Out)
	}
	return nil
}

// followInterval is how often the writer looks whether the directory was renamed.
const followInterval = time.Second

// followDirectory reports that the directory of the bags was renamed, or that something else
// has its name now. The bags are written where it is; their names follow it.
func (s *Sink) followDirectory() {
	defer s.Outputs.Watchdog.Begin("name check", s.Outputs.DirName)()
	if path, changed := s.Outputs.Dir.Follow(); changed {
		s.Log.Warn("the directory was renamed or replaced during the recording: bags stay in it, under its new path",
			zap.String("directory", s.Outputs.DirName), zap.String("path", path))
		s.onChange()
	}
}

// failover goes on in a new file with c, after a fault of the disk only once. It returns
// fault if that is not possible.
func (s *Sink) failover(c *chunk.Sealed, fault error) error {
	old, gone := s.Out, errors.Is(fault, bagfile.ErrMoved) || errors.Is(fault, bagfile.ErrDeleted)
	if s.failoverUsed && !gone {
		return fault
	}
	s.failoverUsed = s.failoverUsed || !gone
	if err := s.openNext(time.Now(), old.part); err != nil {
		s.Log.Error("no new file after the fault", zap.Error(err))
		return fault
	}
	say := s.Log.Error
	if errors.Is(fault, bagfile.ErrMoved) {
		say = s.Log.Warn // nothing is lost
	}
	say("the recording goes on in a new file", zap.String("file", old.Target()), zap.String("next", s.Out.Target()), zap.NamedError("because", fault))
	if !gone && !errors.Is(fault, errSyncFailed) { // those the file itself returns when it is closed
		s.Finished.fault(fault)
	}
	next := s.In.Failover(time.Now())
	s.Out.part = next.Part
	s.Snapshotter.KeepMissed(next)
	err := s.repeatLatched(next)
	s.In.Unpin(next.Latched)
	if err == nil {
		err = s.Out.WriteChunk(c)
	}
	return err
}

// diskFull reports whether err says that there is no room: another file on the same
// disk would have none either.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// closeFiles closes files beside the writing of the next.
func (s *Sink) closeFiles() {
	for b := range s.closing {
		err := b.Finish()
		s.followDirectory()
		if errors.Is(b.Away(), bagfile.ErrDeleted) {
			s.In.CountDeleted(b.content)
		}
		switch {
		case err != nil:
			s.Log.Error("file not closed well", zap.Error(err))
		case b.Away() != nil:
			s.Log.Warn("Closing", loglimit.Each(), zap.NamedError("file", b.Away()))
		default:
			s.Log.Info("Closing", zap.String("file", b.Target()))
		}
		if err == nil && b.Away() == nil {
			s.Handover.Finished(b.Target(), b.Bytes())
		}
		switch {
		case b.last || b.Snapshot || b.retained == nil: // as in stock, the last file counts as the open one
		case err != nil || b.Away() != nil:
			s.Retain.Protect(b.retained, time.Now())
		default:
			s.Retain.Add(b.retained, b.Bytes(), time.Now())
		}
		if !b.Snapshot {
			s.In.FileClosed(b.part)
		}
		b.Fault, b.ended = cmp.Or(err, b.Away()), time.Now()
		s.Finished.Add(b, err, !b.Snapshot || s.In.OnlySnapshots())
		close(b.Finished)
	}
}
