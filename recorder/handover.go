package recorder

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
	Waiting      int    // finished files that are not handed over yet
	WaitingBytes int64  // of those
	Done         int    // files
	DoneBytes    int64  // of those
	Sent         int64  // bytes, repetitions included
	Failures     int    // tries that failed
	Refused      int    // files that nobody takes
	Lost         int    // files that were deleted before
	Err          string // why the last try failed; empty since one did not
}

// nobody takes no files.
type nobody struct{}

func (nobody) Begun(string)           {}
func (nobody) Finished(string, int64) {}
func (nobody) Keeps(string) bool      { return false }
func (nobody) Handed() *HandoverStats { return nil }

// taker returns who takes the files.
func (o *Options) taker() Handover {
	if o.Handover == nil {
		return nobody{}
	}
	return o.Handover
}
