package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
)

// pipeline brings runs of frames from the links to the files:
//
//	links -> intake -> encoder -> sink -> bag
//	                     \-> snapshotWriter -> bag of a snapshot
//
// The parts have a lock each and call down only: the sink calls the intake, which knows
// the queues behind it and nothing of files. What the intake wants done to a file is a
// command in the queue.
type pipeline struct {
	*intake.Intake
	*sink
	marks marks
	wall  simtime.Wall // owned by tick
}

func newPipeline(o Options, outputs *bagfile.Series, retain *bagfile.Retainer, out *bagFile) *pipeline {
	encoder := encode.New(o.encoder())
	in := intake.New(o.intake(encoder))
	p := &pipeline{Intake: in, sink: newSink(&o, in, encoder, outputs, retain, out)}
	encoder.Start(p.skipsCompression)
	p.start()
	return p
}

// tick does what is due: it seals an old chunk, begins a new file, keeps the sync interval
// and reports what changed.
func (p *pipeline) tick(now time.Time) {
	p.wall.Look(now, p.sink.log)
	p.Intake.Tick(now)
	if out := p.current(); out != nil {
		p.wakeSyncer(out, now)
	}
}

// close ends the intake, writes what is queued and closes the files. Once
// Options.Hurry is closed it counts the rest of the queue as dropped instead.
func (p *pipeline) close() error {
	p.Intake.Close()
	return p.sink.close()
}

// abandon ends the intake and counts as lost what is not in a file: the disk hangs and is
// not waited for.
func (p *pipeline) abandon() {
	p.abandoned.Store(true)
	p.Intake.Abandon()
}
