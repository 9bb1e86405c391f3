package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/own"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
	"github.com/gorosbag/gorosbag/recorder/internal/sink"
)

// wire makes what brings runs of frames from the links to the files:
//
//	links -> intake -> encoder -> sink -> bag
//	                     \-> snapshots -> bag of a snapshot
//
// The rooms have a lock each and call down only: the sink calls the intake through its doors, and
// the intake knows the queues behind it and nothing of files. What the intake wants done to a file
// is a command in the queue. out is the first file, nil for none yet.
func (r *session) wire(outputs *bagfile.Series, retain *retention.Retainer, out *files.Bag) {
	encoder := encode.New(r.o.encoder())
	r.in = intake.New(r.o.intake(encoder))
	r.own = own.New(r.in.Links(), r.o.Log)
	r.sink = sink.New(r.o.sink(r.in, encoder, outputs, retain, out))
	encoder.Start(r.sink.SkipsCompression)
	r.sink.Start()
}

// tick does what is due: it seals an old chunk, begins a new file, keeps the sync interval
// and reports what changed.
func (r *session) tick(now time.Time) {
	r.wall.Look(now, r.o.Log)
	r.in.Tick(now)
	r.sink.Tick(now)
}

// close ends the intake, writes what is queued and closes the files. Once
// Options.Hurry is closed it counts the rest of the queue as dropped instead.
func (r *session) close() error {
	r.in.Close()
	return r.sink.Close()
}

// abandon ends the intake and counts as lost what is not in a file: the disk hangs and is
// not waited for.
func (r *session) abandon() {
	r.sink.Abandoned.Store(true)
	r.in.Abandon()
}
