package recorder

import "time"

// Handover is told of the files of a recording, those of snapshots among them, and may
// need the finished ones for a while. Its methods must not wait for anything. A file is
// named by where the user will see it.
type Handover interface {
	Begun(path string)                 // it is recorded from now on
	Finished(path string, bytes int64) // it is closed and has its name, or was recovered
	Keeps(path string) bool            // Options.Retain is not to delete it yet, but for its KeepFree
	Handed() *HandoverStats            // what has become of the files
}

// HandoverStats is the live account of a Handover.
type HandoverStats struct {
	Waiting      int       // finished files that are not handed over yet
	WaitingBytes int64     // of those
	Done         int       // files
	DoneBytes    int64     // of those
	LastDone     time.Time // when the latest of those was; zero if there is none
	Deleted      int       // of those
	Sent         int64     // bytes, repetitions included
	Failures     int       // tries that failed
	Refused      int       // files that are not accepted
	Lost         int       // files that were deleted before
	Err          string    // why the last try failed; empty since one did not

	State      HandoverState // of the place that files are handed to
	StateSince time.Time
	StateErr   string // why it is unreachable or failing, and what to do
}

// HandoverState is what the last contact with the place that files are handed to has shown.
type HandoverState int

// The zero value means that there was none yet.
const (
	HandoverUnchecked HandoverState = iota
	HandoverOK
	HandoverUnreachable // it does not answer: files wait until it does
	HandoverFailing     // it refuses files until somebody does something about it
)

// String returns a word.
func (s HandoverState) String() string {
	switch s {
	case HandoverOK:
		return "ok"
	case HandoverUnreachable:
		return "unreachable"
	case HandoverFailing:
		return "failing"
	case HandoverUnchecked:
	}
	return "unchecked"
}

// noHandover is a Handover that needs no files.
type noHandover struct{}

func (noHandover) Begun(string)           {}
func (noHandover) Finished(string, int64) {}
func (noHandover) Keeps(string) bool      { return false }
func (noHandover) Handed() *HandoverStats { return nil }

// handover returns Options.Handover, or one that needs no files.
func (o *Options) handover() Handover {
	if o.Handover == nil {
		return noHandover{}
	}
	return o.Handover
}
