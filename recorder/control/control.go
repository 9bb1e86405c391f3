// Package control is the contract between a recording and its front ends: which commands they have and
// what they can read. It has only types, no lock and no I/O. Package recorder implements Recording.
// Options, in comments, are recorder.Options.
package control

import (
	"context"
	"errors"
	"os"
	"time"
)

// Recording controls and observes the recording of one Run. All methods may be called at any time
// by any goroutine; before and after the Run they return ErrNotRecording.
//
// A command for a state that is reached already is no error. A command that concerns the file waits
// until the messages that were queued before it are written, or until ctx is done; then the command is
// carried out nevertheless.
type Recording interface {
	// Pause makes the recording count messages that arrive from now on, instead of recording them. The bag
	// stays open. The error may be ErrNotRecording or ErrStopped.
	Pause() error
	// Resume ends a pause. The latest latched messages that came meanwhile are recorded first. The
	// error may be ErrNotRecording or ErrStopped.
	Resume() error
	// Start begins the next bag after a Stop and returns its name. All that arrives after Start
	// has returned is recorded. While there is a bag, paused or not, Start returns the name of
	// that bag.
	Start(ctx context.Context) (opened string, err error)
	// Stop ends the bag: all that arrived before the call is in the bag, nothing that arrives
	// afterwards is recorded before Start. Stop returns the name of the bag when it is closed,
	// indexed and durable as Options.Sync says, or no name if there was none.
	Stop(ctx context.Context) (closed string, err error)
	// Split makes all that arrives from now on go into the next file, whether Options.Split says
	// so or not, and returns the name of the file before when it is closed, indexed and durable as
	// Options.Sync says. A next file that cannot be opened is an error, and the recording goes on
	// in the old one. A pause goes on, too.
	Split(ctx context.Context) (closed string, err error)
	// Snapshot writes a bag with the messages that Options.Snapshot says, and returns its name when it is
	// closed, after the post-roll. A snapshot in its post-roll is extended instead. The end of ctx ends
	// the waiting, not the snapshot. The error may be ErrNotRecording or
	// ErrNoSnapshots.
	Snapshot(ctx context.Context) (file string, err error)
	// BeginSnapshot is Snapshot for something that happened at the given time. It returns when the
	// snapshot has begun.
	BeginSnapshot(ctx context.Context, at time.Time) error
	// Pin protects the files that may have messages of the time last before now, forever, from deletion by
	// Options.Retain, and returns their names, the oldest first. The present file is one of them. Such
	// files do not count for the limits of Options.Retain either.
	Pin(ctx context.Context, last time.Duration) (files []string, err error)
	// Mark records a mark with the present time. Without a text the mark is "mark 1", "mark 2" and
	// so on. A text that is more than a line, or too long, is an error that matches
	// note.ErrMark; other errors are ErrNotRecording, ErrStopped, ErrPaused and ErrNoRoom.
	Mark(text string) (Mark, error)
	// MarkAt is Mark for a moment up to a minute ago: when somebody began to write the text.
	MarkAt(text string, at time.Time) (Mark, error)

	// Stats returns a live account, or ErrNotRecording.
	Stats() (Stats, error)
	// Changed returns a channel that is closed at the next change of the state or of the file.
	// Ask for it before Stats, so that no change is missed.
	Changed() <-chan struct{}
	// Bags returns the latest bags that the recording has finished, the oldest first, or
	// ErrNotRecording. Bags that were moved away or met a fault are left out.
	Bags() ([]Bag, error)
	// OpenBag opens a finished bag to be read. A file that is not the one that was recorded is
	// ErrNoBag, whatever its name.
	OpenBag(id int) (*os.File, Bag, error)
}

// Bag is a bag that the recording has finished.
type Bag struct {
	ID       int    // in the order in which the bags were finished, from 0
	Name     string // where the bag is, or was
	Bytes    int64
	Messages uint64    // in the bag; only messages that count as recorded, see FileSummary.Snapshot
	Begun    time.Time // when the file was created
	Ended    time.Time // when the file was closed
	Snapshot bool
	Pinned   bool // by Recording.Pin
	Deleted  bool // as Options.Retain asks
}

// Mark is a line of text about a moment of the recording. In the bag it is a
// std_msgs/String on /gorecord/marks.
type Mark struct {
	Time time.Time // by the clock of the recording
	Text string
}

// Errors of commands.
var (
	// ErrNotRecording means that there is no recording: Run has not begun, or is ending.
	ErrNotRecording = errors.New("there is no recording")
	// ErrStopped means that there is no bag at present: Start begins the next.
	ErrStopped = errors.New("stopped: there is no bag before the next start")
	// ErrPaused means that the bag gets nothing before Resume.
	ErrPaused = errors.New("paused: nothing is recorded, no mark either")
	// ErrNoRoom means that the buffer is full.
	ErrNoRoom = errors.New("the buffer is full: the mark is not recorded")
	// ErrNoSnapshots means that the recording keeps nothing ready for a snapshot.
	ErrNoSnapshots = errors.New("no snapshots are kept ready: record with --snapshot or --snapshot-beside")
	// ErrSplitsTooOften means that a bag was split too often of late.
	ErrSplitsTooOften = errors.New("too many splits in a row: each may delete an earlier bag")
	// ErrOnlySnapshots means that there is no bag but those of snapshots.
	ErrOnlySnapshots = errors.New("only snapshots are written: there is no bag to split")
	// ErrNoBag means that the recording has finished no such bag, or that it is gone.
	ErrNoBag = errors.New("there is no such bag")
)
