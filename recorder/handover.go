package recorder

import (
	"cmp"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Handover is told of the files of a recording, including those of snapshots, and may
// need finished files for a while. Its methods must not wait for anything. The name of a
// file is the one that the user will see.
type Handover interface {
	Begun(path string)                 // the file is recorded from now on
	Finished(path string, bytes int64) // the file is closed and has its final name, or was recovered
	// whether Options.Retain must not delete the file yet, except for its KeepFree
	Keeps(path string) bool
	Handed() *control.HandoverStats // counts of the files
}

// noHandover is a Handover that needs no files.
type noHandover struct{}

func (noHandover) Begun(string)                   {}
func (noHandover) Finished(string, int64)         {}
func (noHandover) Keeps(string) bool              { return false }
func (noHandover) Handed() *control.HandoverStats { return nil }

// handover returns Options.Handover, or one that needs no files.
func (o *Options) handover() Handover { return cmp.Or[Handover](o.Handover, noHandover{}) }
