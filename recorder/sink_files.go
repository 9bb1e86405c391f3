package recorder

import (
	"cmp"
	"errors"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
)

var errSyncFailed = errors.New("a sync has failed")

// openFile opens the next file after a stop. What arrives before that is not recorded: a
// file that cannot be had must not cost messages.
func (s *sink) openFile(c *intake.Command) error {
	now := time.Now()
	var out *bagFile
	err := ErrNotRecording
	if s.err == nil && !s.drainAborted() {
		err = s.disk.Short()
	}
	if err == nil {
		out, err = createBag(s.outputs, now)
	}
	if err != nil {
		s.in.NotOpened(c)
		return err
	}
	c.File = out
	s.setOut(out)
	next := s.in.FileOpened(c, now)
	out.part = next.Part
	s.opened(out)
	s.repeat(next)
	return nil
}

// closeFile leaves the file to the closer.
func (s *sink) closeFile(c *intake.Command) {
	old := s.out
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
func (s *sink) rotateFile(c *intake.Command) error {
	next := c.Start
	if s.err != nil || s.drainAborted() {
		s.in.Unpin(next.Latched)
		return ErrNotRecording
	}
	old := s.out
	if s.lowDisk(time.Now()) {
		old.part = next.Part
		s.in.Unpin(next.Latched)
		return ErrMinSpace
	}
	start := time.Now()
	defer func() { s.outputs.Watchdog.CountSplit(start) }()
	if err := s.openNext(next.At, next.Part); err != nil {
		old.part = next.Part // what belongs to that goes into the old file
		s.in.Unpin(next.Latched)
		s.log.Error("no next file: the recording goes on in the old one", zap.String("file", old.Target()), zap.Error(err))
		return err
	}
	c.File = old
	s.repeat(next)
	return nil
}

// openNext replaces the file that is written with the one of part.
func (s *sink) openNext(at time.Time, part int) error {
	out, err := createBag(s.outputs, at)
	if err != nil {
		return err
	}
	out.part = part
	old := s.out
	s.setOut(out)
	s.opened(out)
	s.closing <- old
	return nil
}

// opened tells of a file that is written from now on.
func (s *sink) opened(b *bagFile) {
	s.log.Info("Recording to", zap.String("file", b.Target()))
	b.retained = s.retain.Begin(b.Place)
	s.handover.Begun(b.Target())
	s.onChange()
	if s.onOpen != nil {
		s.onOpen(b.Target())
	}
}

// writeChunk writes a chunk. After a fault that is not a full disk, of this write or of a
// sync before it, the recording goes on in a new file, once.
func (s *sink) writeChunk(c *bagfmt.SealedChunk) error {
	if s.out.SyncFailed() {
		return s.failover(c, errSyncFailed)
	}
	now := time.Now()
	if now.Sub(s.followed) >= followInterval {
		s.followed = now
		s.followDirectory()
	}
	if gone := s.out.CheckName(now); gone != nil {
		return s.failover(c, gone)
	}
	if err := s.out.WriteChunk(c); err != nil && !diskFull(err) {
		return s.failover(c, err)
	} else if err != nil {
		return err
	}
	if s.out.Mode == SyncChunk {
		s.sync(s.out)
	}
	return nil
}

// followInterval is how often the writer looks whether the directory was renamed.
const followInterval = time.Second

// followDirectory reports that the directory of the bags was renamed, or that something else
// has its name now. The bags are written where it is; their names follow it.
func (s *sink) followDirectory() {
	defer s.outputs.Watchdog.Begin("name check", s.outputs.DirName)()
	if path, changed := s.outputs.Dir.Follow(); changed {
		s.log.Warn("the directory was renamed or replaced during the recording: bags stay in it, under its new path",
			zap.String("directory", s.outputs.DirName), zap.String("path", path))
		s.onChange()
	}
}

// failover goes on in a new file with c, after a fault of the disk only once. It returns
// fault if that is not possible.
func (s *sink) failover(c *bagfmt.SealedChunk, fault error) error {
	old, gone := s.out, errors.Is(fault, bagfile.ErrMoved) || errors.Is(fault, bagfile.ErrDeleted)
	if s.failoverUsed && !gone {
		return fault
	}
	s.failoverUsed = s.failoverUsed || !gone
	if err := s.openNext(time.Now(), old.part); err != nil {
		s.log.Error("no new file after the fault", zap.Error(err))
		return fault
	}
	say := s.log.Error
	if errors.Is(fault, bagfile.ErrMoved) {
		say = s.log.Warn // nothing is lost
	}
	say("the recording goes on in a new file", zap.String("file", old.Target()), zap.String("next", s.out.Target()), zap.NamedError("because", fault))
	if !gone && !errors.Is(fault, errSyncFailed) { // those the file itself returns when it is closed
		s.finished.fault(fault)
	}
	next := s.in.Failover(time.Now())
	s.out.part = next.Part
	s.snapshots.keepMissed(next)
	err := s.repeatLatched(next)
	s.in.Unpin(next.Latched)
	if err == nil {
		err = s.out.WriteChunk(c)
	}
	return err
}

// diskFull reports whether err says that there is no room: another file on the same
// disk would have none either.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// closeFiles closes files beside the writing of the next.
func (s *sink) closeFiles() {
	for b := range s.closing {
		err := b.Finish()
		s.followDirectory()
		if errors.Is(b.Away(), bagfile.ErrDeleted) {
			s.in.CountDeleted(b.content)
		}
		switch {
		case err != nil:
			s.log.Error("file not closed well", zap.Error(err))
		case b.Away() != nil:
			s.log.Warn("Closing", loglimit.Each(), zap.NamedError("file", b.Away()))
		default:
			s.log.Info("Closing", zap.String("file", b.Target()))
		}
		if err == nil && b.Away() == nil {
			s.handover.Finished(b.Target(), b.Bytes())
		}
		switch {
		case b.last || b.snapshot || b.retained == nil: // as in stock, the last file counts as the open one
		case err != nil || b.Away() != nil:
			s.retain.Protect(b.retained, time.Now())
		default:
			s.retain.Add(b.retained, b.Bytes(), time.Now())
		}
		if !b.snapshot {
			s.in.FileClosed(b.part)
		}
		b.fault, b.ended = cmp.Or(err, b.Away()), time.Now()
		s.finished.add(b, err, !b.snapshot || s.in.Ring.IsOnly())
		close(b.finished)
	}
}
