package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// AtSize returns a channel that gets a token when the only file has reached its maximum size.
func (in *Intake) AtSize() <-chan struct{} { return in.filled }

// enterLocked changes the state, and makes links that wait for room check the state.
func (in *Intake) enterLocked(s control.State) {
	in.mode.State = s
	in.room.Broadcast()
	in.cfg.OnChange()
}

// BegunAt returns when the recording was started; zero while the recording is stopped.
func (in *Intake) BegunAt() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mode.Begun
}

// Pause stops recording messages; the bag stays open.
func (in *Intake) Pause() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	err := in.mode.HasBag()
	if err == nil && in.mode.State == control.StateRecording {
		in.enterLocked(control.StatePaused)
	}
	return err
}

// Resume records again. Latched messages that came meanwhile are written as at the beginning of a file.
func (in *Intake) Resume(now time.Time) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.mode.HasBag(); err != nil || in.mode.State == control.StateRecording {
		return err
	}
	in.enterLocked(control.StateRecording)
	in.repeatMissedLocked(now)
	return nil
}

// repeatMissedLocked makes the writer repeat the latched messages that came while nothing was recorded.
func (in *Intake) repeatMissedLocked(now time.Time) {
	if repeat := in.fileStartLocked(now, true); len(repeat.Latched) > 0 {
		in.sealOpenLocked() // its messages were recorded before the pause
		in.enqueueLocked(&queue.Command{Kind: queue.Repeat, Start: repeat})
	}
}

// RequestSplit begins the next file now, whether the recording is paused or not. A stopped recording has
// no file.
func (in *Intake) RequestSplit(now time.Time) (*queue.Command, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.mode.HasBag(); err != nil {
		return nil, err
	}
	if in.Buffers.ring.IsOnly() {
		return nil, control.ErrOnlySnapshots
	}
	return in.rotateLocked(now), nil
}

// RequestStop ends the file after the messages that were received until now. The command is nil if there
// is no file, and no start under way.
func (in *Intake) RequestStop() (*queue.Command, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.mode.Over():
		return nil, control.ErrNotRecording
	case in.mode.State == control.StateStopped && in.mode.Starting == nil:
		return nil, nil
	}
	in.endFileLocked(true)
	in.mode.Starting = nil
	in.mode.Begun = time.Time{}
	in.enterLocked(control.StateStopped)
	return in.enqueueLocked(&queue.Command{Kind: queue.Close}), nil
}

// RequestStart opens the next file and records from then on. The command is nil if there is a
// file already; two starts at the same time get the same command.
func (in *Intake) RequestStart() (*queue.Command, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.mode.Over():
		return nil, control.ErrNotRecording
	case in.mode.State != control.StateStopped:
		return nil, nil
	case in.Buffers.ring.IsOnly(): // there is no file to open
		now := time.Now()
		in.mode.Begun = in.cfg.Sim.Steady(now)
		in.enterLocked(control.StateRecording)
		in.repeatMissedLocked(now)
		return nil, nil
	case in.mode.Starting == nil:
		in.mode.Starting = in.enqueueLocked(&queue.Command{Kind: queue.Open})
	}
	return in.mode.Starting, nil
}

// RequestPin queues a command that protects the files that were written to at since or later.
func (in *Intake) RequestPin(since time.Time) (*queue.Command, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended {
		return nil, control.ErrNotRecording
	}
	in.sealOpenLocked()
	return in.enqueueLocked(&queue.Command{Kind: queue.Pin, Since: since}), nil
}

// Trigger extends the post-roll in progress, and returns its snapshot. If there is none, the ring keeps
// the window before the trigger for the next snapshot, until BeginSnapshot or EndRequest.
func (in *Intake) Trigger(at time.Time) (*ring.Snapshot, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended {
		return nil, control.ErrNotRecording
	}
	if in.Buffers.ring.Due(at) {
		in.endSnapshotLocked()
	}
	in.Buffers.ring.Trigger(at)
	return in.Buffers.ring.InPostRoll(), nil
}

// BeginSnapshot makes all that was received until now, and the post-roll, part of sn. It reports false if the
// recording has ended.
func (in *Intake) BeginSnapshot(sn *ring.Snapshot) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended {
		return false
	}
	in.sealOpenLocked()
	in.rotation.SnapshotBegan()
	postRoll := in.Buffers.ring.Begin(sn, latch.AtTrigger(in.Accounts.all.Sources()))
	in.enqueueLocked(&queue.Command{Kind: queue.Snapshot, Snapshot: sn})
	if !postRoll {
		in.endSnapshotLocked()
		return true
	}
	sn.NeedRecords(in.Accounts.all.Stored()) // they may be in chunks that are not in memory any more
	return true
}

// endSnapshotLocked ends the post-roll in progress, if there is one. Messages that were received until
// now belong to its snapshot.
func (in *Intake) endSnapshotLocked() {
	if sn := in.Buffers.ring.End(); sn != nil {
		in.sealOpenLocked()
		in.enqueueLocked(&queue.Command{Kind: queue.EndSnapshot, Snapshot: sn})
	}
}
